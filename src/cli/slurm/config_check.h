// Checks a slurm.conf and the files beside it, without a daemon.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/conf/conf_finding.h"

namespace muster::cli {

/// Returns all findings of the file at `path`: of a slurm.conf under whatever name, with the known
/// files beside it, or of one of those alone. They are in the order of the files and of their
/// lines. Errors: kNotFound for `path` itself.
Result<std::vector<ConfFinding>> check_conf_file(const std::string& path);

/// Returns "3 refused, 1 without effect"; "nothing to say".
std::string conf_summary(const std::vector<ConfFinding>& findings);

}  // namespace muster::cli
