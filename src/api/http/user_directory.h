// The accounts of the controller's machine, as handlers need them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/ids.h"

namespace muster::api {

struct UserAccount {
  std::string home = "/";
  std::string shell = "/bin/sh";
};

/// Looks users up. A look-up may ask a name service and take seconds: it belongs on a worker.
/// Thread: any, several at once; an implementation has nothing that changes.
class UserDirectory {
 public:
  virtual ~UserDirectory() = default;
  /// Nullopt: no user of that name.
  virtual std::optional<std::pair<UserId, GroupId>> find(const std::string& name) const = 0;
  /// A folder and a shell that are there, whatever the user's entry says.
  virtual UserAccount account(UserId user) const = 0;
};

}  // namespace muster::api
