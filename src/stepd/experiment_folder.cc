// Trials of an experiment run code that lies in its folder: a folder that somebody else made first
// is refused, whoever may write to it now.
#include "stepd/experiment_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "slurm/environment_text.h"

namespace muster {
namespace {

/// Storage that maps owners (NFS that squashes root, say) gives what the user makes another number:
/// the one that a file has which is made in `folder` now. It is asked by the file that is open: by
/// its name, the folder's owner could put one of his own before us.
std::uint32_t own_number(const std::string& folder, const ProcessUser& user) {
  std::string path = folder + "/.owner-XXXXXX";
  struct stat made {};
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return user.uid;
  const bool is_known = ::fstat(fd, &made) == 0;
  ::close(fd);
  ::unlink(path.c_str());
  return is_known ? made.st_uid : user.uid;
}

/// A link may lead to a folder, but must be the user's own as well.
Status check_owner(const std::string& path, const ProcessUser& user) {
  struct stat link {};
  struct stat folder {};
  bool is_own = false;
  const int error = TRY(act_as(user, [&] {
    if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &folder) != 0) return false;
    // By the user's number, or by the one that the storage gives to his files.
    const auto owns = [&](std::uint32_t number) {
      return (link.st_uid == user.uid || link.st_uid == number) && folder.st_uid == number;
    };
    is_own = owns(user.uid) || owns(own_number(path, user));
    return true;
  }));
  if (error == 0 && is_own) return {};
  return fail(
      ErrorCode::kPermissionDenied,
      fmt::format("the experiment's folder {} is not of its owner, who is uid {}", path, user.uid),
      "somebody else made it, and could change what runs there: take it away, or keep "
      "checkpoints where others cannot make folders");
}

}  // namespace

Status make_experiment_folder(const LaunchStep& launch, const ProcessUser& user) {
  const std::string run(get_variable(launch.variables, "MUSTER_RUN_DIR").value_or(""));
  // The folder of the run lies in the experiment's; what lies above may be shared.
  const std::string experiment = run.substr(0, run.rfind('/'));
  const std::string above = experiment.substr(0, experiment.rfind('/'));
  if (above.empty()) return {};
  // As the job's umask would have it.
  const unsigned open = 0777 & ~launch.job->umask;
  TRY(make_folders_as(user, above, open));
  const bool is_private = get_variable(launch.variables, "MUSTER_VISIBILITY") == "private";
  // Private experiments keep others out from the start, whatever the umask.
  TRY(make_folders_as(user, experiment, is_private ? 0700 : open));
  return check_owner(experiment, user);
}

}  // namespace muster
