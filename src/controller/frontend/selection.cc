// Which jobs a request means, and whether the caller may touch them.
#include <algorithm>

#include "controller/filter_lists.h"
#include "controller/frontend/frontend.h"
#include "controller/frontend/sweep.h"

namespace muster::frontend {
namespace {

bool runs_on(const ClusterState& state, const Job& job, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return true;
  if (job.run == nullptr) return false;
  return std::ranges::any_of(job.run->allocation->nodes, [&](const NodeGrant& grant) {
    return is_listed(nodes, state.nodes().at(grant.node).config.name);
  });
}

bool in_partition(const ClusterState& state, const Job& job, const std::vector<std::string>& partitions) {
  if (partitions.empty()) return true;
  if (job.holds_resources() || !job.is_pending()) return is_listed(partitions, state.partition(job.partition).name);
  return std::ranges::any_of(job.partitions, [&](PartitionIndex index) {
    return is_listed(partitions, state.partition(index).name);
  });
}

Error invalid_id() { return Error{ErrorCode::kNotFound, "Invalid job id specified", ""}; }

/// The array's record and all elements that have split off.
std::vector<JobId> whole_array(const ClusterState& state, const Job& job, const Draft* draft) {
  std::vector<JobId> ids = {job.id};
  if (draft != nullptr) {
    for (const auto& [index, id] : draft->splits(job.id)) ids.push_back(id);
  }
  if (const auto* elements = state.jobs().elements(job.id)) {
    for (const auto& [index, id] : *elements) {
      if (id != job.id) ids.push_back(id);
    }
  }
  return ids;
}

/// Named elements when they are all that remain: the record itself, so that nothing need split.
bool names_all_remaining(const Job& array, const Bitmap& indices, const Draft* draft) {
  if (array.array == nullptr || array.array->remaining.indices.empty()) return false;
  return indices.contains(draft == nullptr ? array.array->remaining.indices : draft->remaining(array));
}

}  // namespace

bool may_control(const Job& job, const Identity& identity) {
  return identity.is_operator || job.spec->user == identity.user;
}

std::optional<JobId> element_of(const ClusterState& state, const Job& array, std::uint32_t index, Draft* draft) {
  if (const auto* elements = state.jobs().elements(array.id)) {
    if (const auto found = elements->find(index); found != elements->end()) return found->second;
  }
  if (array.array == nullptr) return std::nullopt;
  if (draft == nullptr) return array.array->remaining.indices.test(index) ? std::optional(array.id) : std::nullopt;
  if (const auto known = draft->splits(array.id).find(index); known != draft->splits(array.id).end()) return known->second;
  const Bitmap remaining = draft->remaining(array);
  if (!remaining.test(index)) return std::nullopt;
  // The last one keeps the array's id, and what has ended as a whole is not taken apart.
  const bool is_whole = remaining.count() == 1 || is_finished(array.state) || draft->is_claimed(array.id);
  return is_whole ? array.id : draft->split(array.id, index);
}

Result<NamedJobs> name_jobs(const ClusterState& state, const JobSelector& selector, const Draft* draft) {
  const Job* job = state.jobs().find(selector.job);
  if (job == nullptr) return fail(invalid_id());
  NamedJobs named;
  if (!selector.is_element) {
    named.records = whole_array(state, *job, draft);
    return named;
  }
  if (names_all_remaining(*job, selector.indices, draft)) {
    named.records.push_back(job->id);
    const auto add_named = [&](const std::map<std::uint32_t, JobId>& elements) {
      for (const auto& [index, id] : elements) {
        if (selector.indices.test(index)) named.records.push_back(id);
      }
    };
    if (draft != nullptr) add_named(draft->splits(job->id));
    if (const auto* elements = state.jobs().elements(job->id)) add_named(*elements);
    return named;
  }
  bool is_known = true;
  selector.indices.for_each([&](std::size_t index) {
    const auto element = static_cast<std::uint32_t>(index);
    const bool is_split_by_draft = draft != nullptr && draft->splits(job->id).contains(element);
    is_known = is_known && (is_split_by_draft || element_of(state, *job, element, nullptr).has_value());
    named.elements.push_back(element);
  });
  if (!is_known) return fail(invalid_id());
  return named;
}

Result<std::vector<JobId>> resolve(const ClusterState& state, const JobSelector& selector) {
  NamedJobs named = TRY(name_jobs(state, selector, nullptr));
  for (const std::uint32_t element : named.elements) {
    named.records.push_back(*element_of(state, *state.jobs().find(selector.job), element, nullptr));
  }
  return std::move(named.records);
}

bool matches(const ClusterState& state, const Job& job, const JobFilter& filter) {
  const JobSpec& spec = *job.spec;
  if (!is_listed(filter.uids, spec.user.value())) return false;
  if (filter.is_active_only && is_finished(job.state) && !job.is_completing()) return false;
  return is_listed(filter.users, spec.get(JobText::kUserName)) && is_listed(filter.names, spec.name()) &&
         is_listed(filter.accounts, spec.get(JobText::kAccount)) && is_listed(filter.qos, spec.get(JobText::kQos)) &&
         is_listed(filter.wckeys, spec.get(JobText::kWckey)) &&
         is_listed(filter.reservations, spec.get(JobText::kReservation)) &&
         is_listed(filter.licenses, spec.get(JobText::kLicenses)) && is_listed(filter.states, job.state) &&
         in_partition(state, job, filter.partitions) && runs_on(state, job, filter.nodes);
}

}  // namespace muster::frontend
