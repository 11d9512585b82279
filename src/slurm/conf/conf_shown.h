// What `scontrol show config` prints: every key that Slurm prints, in its order, spelling and form
// of value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/conf/slurm_conf.h"

namespace muster {

using ShownConfig = std::vector<std::pair<std::string, std::string>>;

/// Returns keys and values. Of a key that is not honoured the value says what Muster does, whatever
/// the file says. After Slurm's keys come Muster's own, then a heading (its key is empty) with the
/// keys of cgroup.conf. What only a running controller or its client knows is filled in by them:
/// BOOT_TIME, NEXT_JOB_ID and SLURM_VERSION are empty here, SLURM_CONF and HASH_VAL as well, and
/// users stand without their numbers. Source: scontrol(1), `show config`; compared with the output
/// of 22.05.8 key by key.
ShownConfig shown_config(const SlurmConf& conf);

/// Writes users as Slurm does, "root(0)". `uid_of` answers nothing for an unknown name;
/// `daemon_user` is whom the daemons run as.
void show_users(ShownConfig& shown, std::string_view daemon_user,
                const std::function<std::optional<std::uint32_t>(std::string_view)>& uid_of);

/// Returns the value of `key`; null where it is not shown.
std::string* find_shown(ShownConfig& shown, std::string_view key);

}  // namespace muster
