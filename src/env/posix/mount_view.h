// What a process sees of the host's files, where that is not all as it is: folders shown under
// other paths, in a mount namespace of its own. process_runner uses it between fork and exec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

/// A folder or file of the host that is shown under another path too.
struct ShownPath {
  std::string source;
  std::string target;  ///< absolute, without "." and ".."
  bool is_read_only = false;
  bool is_nodes = false;  ///< the node's own: where it cannot be shown, no user is to blame
};

struct MountView {
  /// The paths sorted by target: what is shown inside another comes after it, and its mount point
  /// exists in the other's source.
  std::vector<ShownPath> paths;
  std::string host_name;  ///< the host's name in there; empty: as it is
  /// An empty folder of ours. Where a target is not there, the root is assembled anew in it: it has
  /// all that the host's has, and the missing mount points.
  std::string root_folder;
  /// True when the view holds what a user chose: then it must come about, and programs that are
  /// started in it get no rights of others (no_new_privs). Else, where the host allows no
  /// namespace, everything stays as it is.
  bool is_private = false;

  bool empty() const { return paths.empty() && host_name.empty(); }
};

/// Puts this process into the view. Requires: a process of one thread that is about to execute; as
/// root, its groups are the user's already: nothing that a user may have replaced is loaded with
/// root's rights. Sources are looked up with the rights of `uid`. Errors: kFailedPrecondition where
/// the host allows no namespace; kUnavailable when it refuses something else, or the node's own
/// path cannot be shown; kInvalidArgument, kPermissionDenied or kNotFound when a user's path cannot
/// be, whatever his file system says of it. All name the path or what was refused, and why.
Status enter_mount_view(const MountView& view, std::uint32_t uid);

}  // namespace muster
