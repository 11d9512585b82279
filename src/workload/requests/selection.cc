// Which jobs a request means, and whether the caller may touch them.
#include <algorithm>
#include <map>

#include "admission/filter_lists.h"
#include "workload/requests/job_requests.h"
#include "workload/requests/sweep.h"

namespace muster::requests {
namespace {

/// Before a job has nodes it matches no condition on nodes, as for squeue -w.
bool runs_on(const ClusterState& state, const Job& job, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return true;
  if (job.run == nullptr) return false;
  return std::ranges::any_of(job.run->allocation->nodes, [&](const NodeGrant& grant) {
    return is_listed(nodes, state.nodes().at(grant.node).config.name);
  });
}

bool in_partition(const ClusterState& state, const Job& job,
                  const std::vector<std::string>& partitions) {
  if (partitions.empty()) return true;
  // A job that waits is in each of the partitions that it names, one that started in one alone.
  if (job.holds_resources() || !job.is_pending())
    return is_listed(partitions, state.partition(job.partition).name);
  return std::ranges::any_of(job.partitions, [&](PartitionIndex index) {
    return is_listed(partitions, state.partition(index).name);
  });
}

Error invalid_id() { return Error{ErrorCode::kNotFound, "Invalid job id specified", ""}; }

/// The array's record and all elements that have split off.
std::vector<JobId> whole_array(const ClusterState& state, const Job& job, const Draft* draft) {
  std::vector<JobId> ids = {job.id};
  // Elements that this draft splits off are not in the state yet and are part of the array all the
  // same.
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
bool names_all_remaining(const Bitmap& remaining, const Bitmap& indices) {
  return !remaining.empty() && indices.contains(remaining);
}

/// The indices up to `last`, and of those beyond it the first few words: who names millions that no
/// array has is not told of each.
Bitmap cut_to_range(const Bitmap& indices, std::uint32_t last) {
  constexpr std::size_t kWordsBeyond = 128;
  const std::vector<std::uint64_t>& words = indices.words();
  const std::size_t kept = last / 64 + std::size_t{1} + kWordsBeyond;
  if (words.size() <= kept) return indices;
  return Bitmap::from_words({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(kept)});
}

/// The split-off elements that are named, in rising order of indices.
void add_split(const std::map<std::uint32_t, JobId>& elements, const Bitmap& indices,
               std::vector<JobId>& ids) {
  const std::size_t named = indices.count();
  // By whichever are fewer, the indices named or the elements that have split off.
  if (named > elements.size()) {
    for (const auto& [index, id] : elements) {
      if (indices.test(index)) ids.push_back(id);
    }
    return;
  }
  indices.for_each([&](std::size_t index) {
    const auto found = elements.find(static_cast<std::uint32_t>(index));
    if (found != elements.end()) ids.push_back(found->second);
  });
}

}  // namespace

const Job* record_of_element(const ClusterState& state, const Job& array, std::uint32_t index) {
  if (const auto* elements = state.jobs().elements(array.id)) {
    if (const auto found = elements->find(index); found != elements->end())
      return state.jobs().find(found->second);
  }
  const bool is_in_record = array.array != nullptr && array.array->remaining.indices.test(index);
  return is_in_record ? &array : nullptr;
}

JobId split_element(const Job& array, std::uint32_t index, Draft& draft) {
  const auto& splits = draft.splits(array.id);
  if (const auto known = splits.find(index); known != splits.end()) return known->second;
  // An id of its own only where something is left to tell it from.
  // The last one keeps the array's id, and what has ended as a whole is not taken apart.
  const bool is_last = array.array->remaining.indices.count() == splits.size() + 1;
  const bool is_whole = is_last || is_finished(array.state) || draft.is_claimed(array.id);
  return is_whole ? array.id : draft.split(array.id, index);
}

Result<NamedJobs> name_jobs(const ClusterState& state, const JobSelector& selector,
                            const Draft& draft, bool may_split) {
  const Job* job = state.jobs().find(selector.job);
  if (job == nullptr) return fail(invalid_id());
  // Without indices the id means the job, or the array with all its elements.
  NamedJobs named;
  if (!selector.is_element) {
    named.records = whole_array(state, *job, may_split ? &draft : nullptr);
    return named;
  }
  const ArrayRange* range = job->array != nullptr ? &job->array->range : job->array_range.get();
  named.elements = cut_to_range(selector.indices, range == nullptr ? 0 : range->index_max);
  // Most selectors name few: that they do not name all is seen without a copy.
  const std::size_t split_now = may_split ? draft.splits(job->id).size() : 0;
  if (job->array == nullptr ||
      named.elements.count() + split_now < job->array->remaining.indices.count())
    return named;
  const Bitmap remaining = may_split ? draft.remaining(*job) : job->array->remaining.indices;
  if (!names_all_remaining(remaining, named.elements)) return named;
  named.records.push_back(job->id);
  named.in_record = remaining;
  named.elements -= remaining;
  return named;
}

Result<std::vector<JobId>> resolve(const ClusterState& state, const JobSelector& selector) {
  const Job* job = state.jobs().find(selector.job);
  if (job == nullptr) return fail(invalid_id());
  if (!selector.is_element) return whole_array(state, *job, nullptr);
  std::vector<JobId> ids;
  if (job->array != nullptr && job->array->remaining.indices.intersects(selector.indices))
    ids.push_back(job->id);
  if (const auto* elements = state.jobs().elements(job->id))
    add_split(*elements, selector.indices, ids);
  return ids;
}

bool matches(const ClusterState& state, const Job& job, const JobFilter& filter) {
  const JobSpec& spec = *job.spec;
  if (!is_listed(filter.uids, spec.user.value())) return false;
  if (filter.is_active_only && is_finished(job.state) && !job.is_completing()) return false;
  return is_listed(filter.users, spec.get(JobText::kUserName)) &&
         is_listed(filter.names, spec.name()) &&
         is_listed(filter.accounts, spec.get(JobText::kAccount)) &&
         is_listed(filter.qos, spec.get(JobText::kQos)) &&
         is_listed(filter.wckeys, spec.get(JobText::kWckey)) &&
         is_listed(filter.reservations, spec.get(JobText::kReservation)) &&
         is_listed(filter.licenses, spec.get(JobText::kLicenses)) &&
         is_listed(filter.states, job.state) && in_partition(state, job, filter.partitions) &&
         runs_on(state, job, filter.nodes);
}

}  // namespace muster::requests
