// An experiment's code as an archive: what is in its folder when the experiment is created is what
// its trials run.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::cli {

/// Returns a folder's files as a compressed tar archive; the same files give the same bytes.
/// Version control's folders, __pycache__, earlier runs (muster-runs) and what .detignore names
/// stay out. Errors: kNotFound; kInvalidArgument when it is too large, with the way out.
Result<std::string> archive_code(const std::string& folder);

}  // namespace muster::cli
