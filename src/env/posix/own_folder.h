// Folders that a daemon keeps its own things in. In one that another user may write to, whatever is
// opened by name may be a link of his.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Makes the folder, or takes the one that is there if it is a folder of this process's user that
/// nobody else may write to. `name`: what it is called to whoever reads the error. Errors:
/// kUnavailable: it cannot be made; kFailedPrecondition: it is somebody else's, or open to others,
/// with what to do.
Status make_own_folder(const std::string& path, unsigned mode, const std::string& name);

}  // namespace muster
