// The keys of slurm.conf that stand outside node and partition records.
#pragma once

#include <span>

#include "codec/conf_key.h"
#include "codec/slurm_conf.h"

namespace muster {

/// Sorted by nothing in particular; names are unique in any case.
std::span<const ConfKey<SlurmConf>> cluster_conf_keys();

}  // namespace muster
