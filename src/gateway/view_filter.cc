// The conditions of requests::matches, on views: history has views and no jobs.
#include "gateway/view_filter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "admission/filter_lists.h"
#include "slurm/array_text.h"
#include "slurm/hostlist.h"
#include "text/words.h"

namespace muster {
namespace {

/// A job that never ran may still name several partitions.
bool in_partition(const JobView& job, const std::vector<std::string>& partitions) {
  return partitions.empty() ||
         std::ranges::any_of(split_words(job.partition, ','),
                             [&](std::string_view name) { return is_listed(partitions, name); });
}

bool ran_on(const JobView& job, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return true;
  // Of history the names are a text, not indices.
  const auto names = expand_hostlist(job.node_list);
  return names.has_value() && std::ranges::any_of(*names, [&](const std::string& name) {
           return is_listed(nodes, name);
         });
}

}  // namespace

bool matches(const JobView& job, const JobFilter& filter) {
  const JobSpec& spec = *job.spec;
  if (!is_listed(filter.uids, spec.user.value()) || !is_listed(filter.states, job.state))
    return false;
  return is_listed(filter.users, spec.get(JobText::kUserName)) &&
         is_listed(filter.names, spec.name()) &&
         is_listed(filter.accounts, spec.get(JobText::kAccount)) &&
         is_listed(filter.qos, spec.get(JobText::kQos)) &&
         is_listed(filter.wckeys, spec.get(JobText::kWckey)) &&
         is_listed(filter.reservations, spec.get(JobText::kReservation)) &&
         is_listed(filter.licenses, spec.get(JobText::kLicenses)) &&
         in_partition(job, filter.partitions) && ran_on(job, filter.nodes);
}

bool cut_to_named(JobView& job, const Bitmap& remaining, const JobFilter& filter) {
  Bitmap named;
  for (const JobSelector& selector : filter.jobs) {
    if (selector.job != job.id) continue;
    if (!selector.is_element) return true;
    named |= selector.indices;
  }
  named &= remaining;
  if (named.empty()) return false;
  // Shown as squeue shows a single element.
  if (named.count() == 1) {
    job.array_index = static_cast<std::uint32_t>(named.indices().front());
    job.array_remaining.clear();
    job.array_remaining_count = 0;
    return true;
  }
  job.array_remaining = array_indices_text(named);
  job.array_remaining_count = static_cast<std::uint32_t>(named.count());
  return true;
}

}  // namespace muster
