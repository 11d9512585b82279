// The keys of slurm.conf that stand outside node and partition records.
#pragma once

#include <span>

#include "codec/conf_key.h"
#include "codec/slurm_conf.h"

namespace muster {

/// Sorted by nothing in particular; names are unique in any case.
std::span<const ConfKey<SlurmConf>> cluster_conf_keys();

/// SlurmctldHost[0], [1], ... as `scontrol show config` names them.
std::vector<std::pair<std::string, std::string>> shown_controllers(const DaemonSettings& daemons);

}  // namespace muster
