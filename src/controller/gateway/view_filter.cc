#include "controller/gateway/view_filter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "codec/hostlist.h"
#include "codec/words.h"

namespace muster {
namespace {

bool is_in(const std::vector<std::string>& list, std::string_view word) {
  return list.empty() || std::ranges::find(list, word) != list.end();
}

/// A job that never ran may still name several partitions.
bool in_partition(const JobView& job, const std::vector<std::string>& partitions) {
  return partitions.empty() || std::ranges::any_of(split_words(job.partition, ','), [&](std::string_view name) {
    return is_in(partitions, name);
  });
}

bool ran_on(const JobView& job, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return true;
  const auto names = expand_hostlist(job.node_list);
  return names.has_value() && std::ranges::any_of(*names, [&](const std::string& name) { return is_in(nodes, name); });
}

}  // namespace

bool matches(const JobView& job, const JobFilter& filter) {
  const JobSpec& spec = *job.spec;
  if (!filter.uids.empty() && std::ranges::find(filter.uids, spec.user.value()) == filter.uids.end()) return false;
  if (!filter.states.empty() && std::ranges::find(filter.states, job.state) == filter.states.end()) return false;
  return is_in(filter.users, spec.get(JobText::kUserName)) && is_in(filter.names, spec.name()) &&
         is_in(filter.accounts, spec.get(JobText::kAccount)) && is_in(filter.qos, spec.get(JobText::kQos)) &&
         is_in(filter.wckeys, spec.get(JobText::kWckey)) && is_in(filter.reservations, spec.get(JobText::kReservation)) &&
         is_in(filter.licenses, spec.get(JobText::kLicenses)) && in_partition(job, filter.partitions) && ran_on(job, filter.nodes);
}

}  // namespace muster
