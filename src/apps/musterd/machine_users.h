// The accounts that this machine's name services know.
#pragma once

#include "api/http/user_directory.h"

namespace muster::daemon {

/// By getpwnam_r(3) and getpwuid_r(3), which any thread may call.
class MachineUsers final : public api::UserDirectory {
 public:
  std::optional<std::pair<UserId, GroupId>> find(const std::string& name) const override;
  /// The home is /tmp where the entry's folder is not there, as that of nobody.
  api::UserAccount account(UserId user) const override;
};

}  // namespace muster::daemon
