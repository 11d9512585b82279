// What the gateway knows of a caller, and of the blob that the caller sent last.
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

/// Remembers the last blob, because clients submit many jobs from one environment, and comparing
/// bytes is cheaper than a digest. Thread: one.
class LastBlob {
 public:
  /// Does as prepared_blob(); bytes that equal the last ones get the last digest and share its
  /// copy.
  PreparedBlob prepared(Bytes bytes);

 private:
  PreparedBlob last_;
};

/// Returns the bytes with their SHA-256. Null or empty bytes give an empty blob, whose bytes are
/// null. Cost: O(bytes).
PreparedBlob prepared_blob(Bytes bytes);

}  // namespace muster
