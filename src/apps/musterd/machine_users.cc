#include "apps/musterd/machine_users.h"

#include <pwd.h>
#include <sys/stat.h>

#include <vector>

namespace muster::daemon {
namespace {

// An entry of a name service with many texts fits; sysconf(_SC_GETPW_R_SIZE_MAX) is a guess, too.
constexpr std::size_t kEntryBytes = 1 << 16;

}  // namespace

std::optional<std::pair<UserId, GroupId>> MachineUsers::find(const std::string& name) const {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr)
    return std::nullopt;
  return std::pair(UserId(found->pw_uid), GroupId(found->pw_gid));
}

api::UserAccount MachineUsers::account(UserId user) const {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  api::UserAccount account;
  if (::getpwuid_r(user.value(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr)
    return account;
  struct stat home {};
  const bool is_there =
      found->pw_dir[0] == '/' && ::stat(found->pw_dir, &home) == 0 && S_ISDIR(home.st_mode);
  account.home = is_there ? found->pw_dir : "/tmp";
  if (found->pw_shell[0] == '/') account.shell = found->pw_shell;
  return account;
}

}  // namespace muster::daemon
