// The keys of slurm.conf that stand outside node and partition records.
#pragma once

#include <span>

#include "slurm/conf/conf_key.h"
#include "slurm/conf/slurm_conf.h"

namespace muster {

/// Returns the keys in no particular order; names are unique in any case.
std::span<const ConfKey<SlurmConf>> cluster_conf_keys();

}  // namespace muster
