// The files that lie beside slurm.conf. None of them changes what Muster does yet; these tables say
// so key by key, so that nobody believes that a line of theirs is in force.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf/conf_finding.h"
#include "slurm/conf/conf_lines.h"
#include "slurm/conf/slurm_conf.h"

namespace muster {

/// Returns "gres.conf", "cgroup.conf", ...
std::vector<std::string_view> companion_files();
/// Returns why nothing follows from a file of that name; empty: it is none of them.
std::string_view why_companion_has_no_effect(std::string_view name);

/// Returns one finding for each key of the file, where it stands first, and one for each mistake.
/// `name` is one of companion_files(); `path` stands in the findings.
std::vector<ConfFinding> check_companion(std::string_view name, std::string_view path,
                                         std::string_view text, const IncludeReader& read_include);

/// Returns every key that is known; the record is the file's name.
std::vector<SlurmConfKey> companion_keys();

}  // namespace muster
