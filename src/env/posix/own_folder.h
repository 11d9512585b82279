// Folders in which a daemon stores its own files. In one that another user may write to, whatever
// is opened by name may be a link of his.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Makes the folder, or accepts the one that is there if it is a folder of this process's user that
/// nobody else may write to. `name`: what the error calls it. Errors: kUnavailable: it cannot be
/// made; kFailedPrecondition: it is somebody else's, or open to others, with what to do.
Status make_own_folder(const std::string& path, unsigned mode, const std::string& name);

}  // namespace muster
