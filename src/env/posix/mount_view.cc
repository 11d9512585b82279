// In the child, between fork and exec. Order: namespaces; all sources opened, before a mount covers
// any; where each place is without links; a new root where something is missing to mount on; the
// binds, outer before inner; and the new root entered last.
#include "env/posix/mount_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "env/posix/write_whole.h"

namespace muster {
namespace {

constexpr unsigned long kOurRoot = MS_NOSUID | MS_NODEV;

/// What the system has just refused, with its reason.
tl::unexpected<Error> refused(const std::string& what) {
  const int error = errno;
  Error refusal = disk_error(what, error);
  if (error == EACCES) refusal.code = ErrorCode::kPermissionDenied;
  if (error == ENOENT || error == ENOTDIR) refusal.code = ErrorCode::kNotFound;
  return fail(refusal);
}

/// A user's path that cannot be shown is his own matter (a link to itself, a file system of his
/// that answers with anything), unless it is the host that has too little of something.
tl::unexpected<Error> refused_path(const ShownPath& path) {
  const int error = errno;
  const std::string what = "cannot show " + path.source + " as " + path.target;
  const bool is_hosts =
      path.is_nodes || error == ENOMEM || error == EMFILE || error == ENFILE || error == ENOSYS;
  if (is_hosts) return fail(disk_error(what, error));
  const ErrorCode code = error == EACCES                       ? ErrorCode::kPermissionDenied
                         : error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound
                                                               : ErrorCode::kInvalidArgument;
  return fail(code, what, std::strerror(error));
}

bool is_below(const std::string& path, const std::string& folder) {
  return folder == "/" ||
         (path.size() > folder.size() && path[folder.size()] == '/' && path.starts_with(folder));
}

bool write_file(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written = write_whole(fd, text) == 0;
  ::close(fd);
  return is_written;
}

/// Containers and some hosts are like this for good: no fault that passes, and none of the node's
/// that a drain would help.
tl::unexpected<Error> no_namespaces(const char* what) {
  const std::string why = std::strerror(errno);
  return fail(ErrorCode::kFailedPrecondition, what,
              why + "; folders of its own, which experiments have, need one: see operating.md");
}

/// Namespaces of our own; an ordinary user gets them inside a user namespace in which he is
/// himself. What is mounted on the host later still appears, nothing of ours appears there.
Status make_namespaces(const std::string& host_name) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  const int kinds =
      // The host's name is the node's, for programs that ask for it; that needs a namespace, too.
      CLONE_NEWNS | (host_name.empty() ? 0 : CLONE_NEWUTS) | (uid == 0 ? 0 : CLONE_NEWUSER);
  if (::unshare(kinds) != 0) {
    return no_namespaces(uid == 0 ? "this host allows no mount namespace"
                                  : "this host allows an ordinary user no mount namespace");
  }
  // Without setgroups the kernel allows an ordinary user to map his group. Source:
  // user_namespaces(7).
  if (uid != 0 && (!write_file("/proc/self/setgroups", "deny") ||
                   !write_file("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)) ||
                   !write_file("/proc/self/gid_map", fmt::format("{0} {0} 1", gid)))) {
    return no_namespaces("this host allows an ordinary user no user namespace of his own");
  }
  // Slave, not private: what the host mounts later still appears.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    const bool is_no_mount = errno == EINVAL;  // the root of a plain chroot
    if (is_no_mount)
      return no_namespaces(
          "the root folder is no mount point, so that nothing can part from the host's mounts");
    return refused("cannot part from the host's mounts");
  }
  if (!host_name.empty() && ::sethostname(host_name.data(), host_name.size()) != 0) {
    return refused("cannot take the name " + host_name);
  }
  return {};
}

/// A path to be shown, while it is on its way.
struct Shown {
  const ShownPath* path = nullptr;
  int source = -1;  ///< opened before anything is covered
  bool is_folder = true;
  std::string place;        ///< the target without links
  bool is_missing = false;  ///< nothing is there that it could be put on
};

/// With the user's rights, so that nobody sees through us what he may not reach.
Status open_sources(std::vector<Shown>& all, std::uint32_t uid) {
  // Only root needs to become somebody: an ordinary user's agent is him.
  const bool is_switch = ::geteuid() == 0 && uid != 0;
  if (is_switch && ::seteuid(uid) != 0) return refused("cannot take the user's rights");
  Status opened;
  for (Shown& one : all) {
    one.source = ::open(one.path->source.c_str(), O_PATH | O_CLOEXEC);
    struct stat known {};
    if (one.source < 0 || ::fstat(one.source, &known) != 0) {
      opened = refused_path(*one.path);
      break;
    }
    one.is_folder = S_ISDIR(known.st_mode);
  }
  // With the user's rights for good this process could not go on, and must not.
  if (is_switch && ::seteuid(0) != 0) std::abort();
  return opened;
}

std::optional<std::string> without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real == nullptr ? std::nullopt : std::optional<std::string>(real.get());
}

void find_place(Shown& one, const std::vector<Shown>& outer) {
  std::string& place = one.place;
  for (const Shown& other : outer) {
    // Within another place: its path is known from that, whatever is there on the host.
    if (!is_below(one.path->target, other.path->target)) continue;
    place = other.place + one.path->target.substr(other.path->target.size());
    return;
  }
  std::string there = one.path->target;
  // The longest part that is there decides where the rest would be.
  while (!there.empty()) {
    if (const auto real = without_links(there)) {
      place = (*real == "/" ? "" : *real) + one.path->target.substr(there.size());
      one.is_missing = there.size() < one.path->target.size();
      return;
    }
    there.resize(there.rfind('/'));
  }
  place = one.path->target;
  one.is_missing = true;
}

// ---- a root with the missing places ----

Status make_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return refused("cannot make " + path);
  ::close(fd);
  return {};
}

/// An entry of the host as it is: a link again, or the thing itself, bound. What may not be looked
/// at is left out.
Status copy_entry(const std::string& from, const std::string& to) {
  struct stat known {};
  // Gone since it was listed.
  if (::lstat(from.c_str(), &known) != 0) return {};
  if (S_ISLNK(known.st_mode)) {
    char target[PATH_MAX + 1] = {};
    if (::readlink(from.c_str(), target, PATH_MAX) < 0 || ::symlink(target, to.c_str()) != 0)
      return refused("cannot link " + to);
    return {};
  }
  if (!S_ISDIR(known.st_mode)) {
    TRY(make_file(to));
  } else if (::mkdir(to.c_str(), 0755) != 0) {
    return refused("cannot make " + to);
  }
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return refused("cannot show " + from + " in a new root");
  return {};
}

/// The folder `from` again as `to`, entry by entry; those on the way to a missing place are put
/// together in turn.
Status copy_folder(const std::string& from, const std::string& to, const std::vector<Shown>& all) {
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> entries(::opendir(from.empty() ? "/" : from.c_str()),
                                                      close);
  if (entries == nullptr) return refused("cannot read the folder " + from);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = from + "/" + name;
    bool is_on_the_way = false;
    bool is_place = false;
    for (const Shown& one : all) {
      is_on_the_way = is_on_the_way || (one.is_missing && is_below(one.place, path));
      is_place = is_place || (one.is_missing && one.place == path);
    }
    // Made by make_place, empty.
    if (is_place) continue;
    if (!is_on_the_way) {
      TRY(copy_entry(path, to + "/" + name));
    } else if (::mkdir((to + "/" + name).c_str(), 0755) != 0) {
      return refused("cannot make " + to + "/" + name);
    } else {
      TRY(copy_folder(path, to + "/" + name, all));
    }
  }
  return {};
}

Status make_place(const std::string& root, const Shown& one) {
  for (std::size_t end = 0; (end = one.place.find('/', end + 1)) != std::string::npos;) {
    if (::mkdir((root + one.place.substr(0, end)).c_str(), 0755) != 0 && errno != EEXIST)
      return refused("cannot make the place " + one.place);
  }
  if (!one.is_folder) return make_file(root + one.place);
  if (::mkdir((root + one.place).c_str(), 0755) != 0 && errno != EEXIST)
    return refused("cannot make the place " + one.place);
  return {};
}

/// A tmpfs that shows the host's entries by binds, read-only once it is filled.
Status build_root(const std::string& root, const std::vector<Shown>& all) {
  // Unbindable while it is filled: the folder that it lies in is bound into it too.
  if (::mount("tmpfs", root.c_str(), "tmpfs", kOurRoot, "mode=0755,size=1m") != 0 ||
      ::mount(nullptr, root.c_str(), nullptr, MS_UNBINDABLE, nullptr) != 0) {
    return refused("cannot make a new root in " + root);
  }
  TRY(copy_folder("", root, all));
  for (const Shown& one : all) {
    if (one.is_missing) TRY(make_place(root, one));
  }
  return {};
}

/// pivot_root(".", ".") mounts the old root over the new one, from where it is detached at once.
/// Source: pivot_root(2), NOTES.
Status enter_root(const std::string& root) {
  const bool is_in = ::mount(nullptr, root.c_str(), nullptr,
                             MS_REMOUNT | MS_BIND | MS_RDONLY | kOurRoot, nullptr) == 0 &&
                     ::mount(nullptr, root.c_str(), nullptr, MS_PRIVATE, nullptr) == 0 &&
                     ::chdir(root.c_str()) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
                     ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0;
  if (!is_in) return refused("cannot enter a new root in " + root);
  return {};
}

// ---- showing ----

/// With everything mounted in it; before Linux 5.12 the folder itself alone.
bool make_read_only(const std::string& place) {
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_RDONLY;
  // Linux 5.12 and later.
  if (::mount_setattr(AT_FDCWD, place.c_str(), AT_RECURSIVE, &wanted, sizeof wanted) == 0)
    return true;
  struct statvfs known {};
  if (errno != ENOSYS || ::statvfs(place.c_str(), &known) != 0) return false;
  // A remount must repeat what is locked in a user namespace.
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  if ((known.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((known.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((known.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  return ::mount(nullptr, place.c_str(), nullptr, flags, nullptr) == 0;
}

Status show(const std::string& root, const Shown& one) {
  // By its descriptor: the path may be covered by now.
  const std::string source = fmt::format("/proc/self/fd/{}", one.source);
  const std::string place = root + one.place;
  if (::mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
      (one.path->is_read_only && !make_read_only(place))) {
    return refused_path(*one.path);
  }
  return {};
}

Status enter(const MountView& view, std::uint32_t uid) {
  TRY(make_namespaces(view.host_name));
  std::vector<Shown> all;
  for (const ShownPath& path : view.paths) all.emplace_back().path = &path;
  TRY(open_sources(all, uid));
  bool is_root_needed = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    find_place(all[i], {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i)});
    is_root_needed = is_root_needed || all[i].is_missing;
  }
  if (is_root_needed) TRY(build_root(view.root_folder, all));
  for (const Shown& one : all) TRY(show(is_root_needed ? view.root_folder : "", one));
  if (is_root_needed) TRY(enter_root(view.root_folder));
  return {};
}

}  // namespace

Status enter_mount_view(const MountView& view, std::uint32_t uid) {
  if (view.empty()) return {};
  // Places are for all to enter.
  ::umask(022);
  const Status entered = enter(view, uid);
  // What nobody chose may be missing where the host can show nothing at all.
  const bool is_host_unfit =
      !entered.has_value() &&
      (::geteuid() != 0 || entered.error().code == ErrorCode::kFailedPrecondition);
  return is_host_unfit && !view.is_private ? Status() : entered;
}

}  // namespace muster
