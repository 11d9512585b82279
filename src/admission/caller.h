// What the gateway knows of a caller, and of what he has just sent.
#pragma once

#include <string>
#include <vector>

#include "engine/command.h"

namespace muster {

/// Names of the caller, looked up by uid.
struct CallerNames {
  std::string user;
  std::string group;
  std::vector<std::string> groups = {};  ///< all that the user is a member of
};

/// Remembers one blob: whoever submits many jobs does so from one environment, and comparing is
/// cheaper than a digest.
class LastBlob {
 public:
  /// Equal bytes in a row get one digest and one copy.
  PreparedBlob prepared(Bytes bytes);

 private:
  PreparedBlob last_;
};

/// The bytes with their digest; nothing for no bytes.
PreparedBlob prepared_blob(Bytes bytes);

}  // namespace muster
