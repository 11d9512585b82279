// Decides which mails an event calls for, of those that users asked for with --mail-type. Pure; the
// port sends them.
#pragma once

#include <string>
#include <vector>

#include "engine/mail.h"
#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the mails that `event`, which has just been applied, calls for. Of an array one mail
/// reports its first start and one its last end, unless ARRAY_TASKS asks for one per element. Cost:
/// O(elements of the array) for an array's element. Source: sbatch(1) --mail-type.
std::vector<Mail> mails_about(const Event& event, const ClusterState& state);

/// Returns the shares of its time limit, in percent, of which the job's user wants to hear,
/// ascending: of 50, 80 and 90.
std::vector<int> mailed_time_shares(const JobSpec& spec);
/// Returns the mail that a share of the time limit has been used up.
Mail mail_about_time(const Job& job, int percent, TimePoint now);

}  // namespace muster
