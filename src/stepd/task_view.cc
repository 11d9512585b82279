// What a view needs on the disk is made here, before the task is forked; the mounts themselves are
// made in the child (mount_view.cc). Order: gather all places, sorted by target, so that outer ones
// come before inner; their sources; something to mount them on; and the files within.
#include "stepd/task_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "env/posix/write_whole.h"
#include "slurm/spool_path.h"
#include "text/words.h"

namespace muster {
namespace {

/// All private folders of a step on one node together.
constexpr const char* kPrivateFolders = "mode=0755,size=1g,nr_inodes=65536";

struct Place {
  ShownPath path;
  bool is_private = false;
};

Status check_path(const std::string& path) {
  // Checked word by word: the path is joined to others below.
  bool is_good = path.size() > 1 && path.front() == '/' && path.find('\0') == std::string::npos;
  for (const std::string_view word : split(std::string_view(path).substr(is_good ? 1 : 0), '/')) {
    is_good = is_good && !word.empty() && word != "." && word != "..";
  }
  if (is_good) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a task cannot be shown the path '{}'", path),
              "it must be absolute, without '.', '..' and a slash at its end");
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Status make_our_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return fail(disk_error("could not make " + path, errno));
}

/// The innermost place that holds `path`, or null. `places`: sorted by target.
const Place* around(const std::vector<Place>& places, const std::string& path) {
  const Place* found = nullptr;
  for (const Place& place : places) {
    // Sorted, so that the last that fits is the innermost.
    if (path.starts_with(place.path.target + "/")) found = &place;
  }
  return found;
}

std::string inside(const Place& place, const std::string& path) {
  return place.path.source + path.substr(place.path.target.size());
}

class ViewMaker {
 public:
  ViewMaker(const LaunchStep& launch, const StepdOptions& options, const ProcessUser& user)
      : launch_(launch),
        user_(user),
        folder_(view_folder(options.spool, launch.id)),
        hosts_file_(options.hosts_file) {}

  Result<MountView> make() {
    TRY(gather());
    MountView view;
    view.is_private = !launch_.private_folders.empty() || !launch_.binds.empty();
    if (view.is_private) TRY(make_root_folder(view));
    for (const Place& place : places_) TRY(make_source(place));
    for (const Place& place : places_) TRY(make_target(place));
    for (const TaskFile& file : launch_.files) TRY(write(file));
    if (!hosts_file_.empty()) view.host_name = launch_.node_name;
    for (Place& place : places_) view.paths.push_back(std::move(place.path));
    return view;
  }

 private:
  Status gather() {
    for (const std::string& target : launch_.private_folders) {
      TRY(check_path(target));
      places_.push_back({{fmt::format("{}/{}", folder_, places_.size()), target, false}, true});
    }
    for (const TaskBind& bind : launch_.binds) {
      TRY(check_path(bind.source));
      TRY(check_path(bind.target));
      places_.push_back({{bind.source, bind.target, bind.is_read_only}, false});
    }
    if (!hosts_file_.empty()) places_.push_back({{hosts_file_, "/etc/hosts", false, true}, false});
    const auto target = [](const Place& place) -> const std::string& { return place.path.target; };
    std::ranges::sort(places_, {}, target);
    // Neighbours, since they are sorted.
    const auto twice = std::ranges::adjacent_find(places_, {}, target);
    if (twice == places_.end()) return {};
    return fail(ErrorCode::kInvalidArgument,
                "two things are to be shown to a task as " + twice->path.target, "");
  }

  /// Memory of a bounded size, in a mount namespace of this supervisor's: what a user writes there
  /// fills no disk of the node's, and goes with the step. An ordinary user's own agent has no such
  /// means, and only its own disk.
  Status bound_private_folders() {
    if (::geteuid() != 0 || launch_.private_folders.empty()) return {};
    if (::unshare(CLONE_NEWNS) != 0)
      return fail(ErrorCode::kFailedPrecondition, "this host allows no mount namespace",
                  std::strerror(errno));
    // As a slave this namespace still sees what the host mounts, and the host nothing of what is
    // mounted here. Source: mount_namespaces(7).
    const bool is_done =
        ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
        ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, kPrivateFolders) == 0;
    if (is_done) return {};
    const int error = errno;
    Error refusal = disk_error("could not bound the private folders in " + folder_, error);
    // The root folder is no mount point, as in a plain chroot.
    if (error == EINVAL) refusal.code = ErrorCode::kFailedPrecondition;
    return fail(refusal);
  }

  Status make_root_folder(MountView& view) {
    TRY(make_our_folder(folder_));
    TRY(bound_private_folders());
    view.root_folder = folder_ + "/root";
    return make_our_folder(view.root_folder);
  }

  Status make_source(const Place& place) {
    const std::string& source = place.path.source;
    if (!place.is_private)
      return source == hosts_file_ || is_there(source) ? Status() : make_folders_as(user_, source);
    if (::mkdir(source.c_str(), 0700) != 0 ||
        (::geteuid() == 0 && ::chown(source.c_str(), user_.uid, user_.gid) != 0)) {
      return fail(disk_error("could not make " + source, errno));
    }
    return {};
  }

  /// Where a place is shown there must be something to put it on. What the user may not make is no
  /// fault: the view gets a root of its own then. Inside another place there is no such way out.
  Status make_target(const Place& place) {
    const Place* outer = around(places_, place.path.target);
    const std::string target =
        outer == nullptr ? place.path.target : inside(*outer, place.path.target);
    if (is_there(target)) return {};
    // For a folder a folder, for a file a file.
    const Status made =
        is_folder(place.path.source) ? make_folders_as(user_, target) : make_file(target, "", 0644);
    return outer == nullptr ? Status() : made;
  }

  Status write(const TaskFile& file) {
    TRY(check_path(file.path));
    const Place* outer = around(places_, file.path);
    if (outer == nullptr || !outer->is_private) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the file {} is not below a private folder", file.path), "");
    }
    return make_file(inside(*outer, file.path), file.text, 0600);
  }

  Status make_file(const std::string& path, const std::string& text, unsigned mode) {
    // With the user's rights, and nothing that a link could lead elsewhere.
    TRY(make_folders_as(user_, parent_of(path)));
    const int fd = TRY(open_as(user_, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    const int error = write_whole(fd, text);
    ::close(fd);
    if (error == 0) return {};
    return fail(disk_error("could not write " + path, error));
  }

  /// As the user sees it.
  bool is_there(const std::string& path) {
    const auto fd = open_as(user_, path, O_PATH, 0);
    if (fd.has_value()) ::close(*fd);
    return fd.has_value();
  }
  bool is_folder(const std::string& path) {
    const auto fd = open_as(user_, path, O_PATH | O_DIRECTORY, 0);
    if (fd.has_value()) ::close(*fd);
    return fd.has_value();
  }

  const LaunchStep& launch_;
  const ProcessUser& user_;
  std::string folder_;
  std::string hosts_file_;
  std::vector<Place> places_;
};

}  // namespace

Result<MountView> make_task_view(const LaunchStep& launch, const StepdOptions& options,
                                 const ProcessUser& user) {
  return ViewMaker(launch, options, user).make();
}

void remove_task_view(const LaunchStep& launch, const StepdOptions& options) {
  const std::string folder = view_folder(options.spool, launch.id);
  ::umount2(folder.c_str(), MNT_DETACH);  // what bounds it, where that is mounted
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace muster
