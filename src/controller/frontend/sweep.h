// A request about many jobs, drafted for a bounded number of them at a time, so that nobody waits for the end of all.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "controller/frontend/frontend.h"

namespace muster::frontend {

/// What is done to one of the jobs that a request names.
struct Verdict {
  bool is_meant = true;          ///< false: the job is none of those that the request means
  std::optional<Error> refusal;  ///< why it was not done
};

/// What a selector names: records of the state, and elements of its array that have yet to be looked up or to split off.
struct NamedJobs {
  std::vector<JobId> records;
  std::vector<std::uint32_t> elements;
};

/// Changes nothing. `draft`: what it has split off counts as well; may be null. Errors: kNotFound "Invalid job id specified".
Result<NamedJobs> name_jobs(const ClusterState& state, const JobSelector& selector, const Draft* draft);
/// The record of one element, split off by `draft` where it has not been yet; the array's own record without a draft and for the
/// last that remains. Nullopt: the array has no such element.
std::optional<JobId> element_of(const ClusterState& state, const Job& array, std::uint32_t index, Draft* draft);

/// The record of an array of which every element has split off: nothing of it is left to act upon.
inline bool is_spent_array(const Job& job) { return job.array != nullptr && !job.array_index && job.array->remaining.indices.empty(); }

/// Each step drafts against the state as it is then: jobs that end or start between two steps are met as they are. A job that the
/// request names twice is done once.
class Sweep {
 public:
  using Request = std::variant<CancelJobs, ControlJobs, PreparedUpdate>;
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  /// Requires: an update is one of jobs. Jobs submitted after this are not met by a filter.
  Sweep(Request request, const Identity& identity, const ClusterState& state);

  /// Drafts for at most `jobs` jobs more; signals go to `orders`. Returns the cost in jobs, those that were looked at alone at a
  /// part of one.
  std::size_t step(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders);
  /// Nothing is left to be done, or the request was refused.
  bool is_done() const { return is_done_; }
  /// The answer so far: one outcome per selector, or per job that a filter met.
  Reply& reply() { return reply_; }
  const Reply& reply() const { return reply_; }

 private:
  std::size_t step_filter(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders);
  void open(const Draft& draft);
  void close();
  void refuse(Error error);
  void do_one(Draft& draft, JobId id, std::vector<SignalOrder>& orders);
  Verdict act(Draft& draft, JobId id, std::vector<SignalOrder>& orders);
  bool may_split() const;

  Request request_;
  Identity identity_;
  Reply reply_;
  bool is_done_ = false;
  std::set<JobId> seen_;

  // A filter without ids.
  bool is_filter_ = false;
  JobId next_;
  JobId end_;

  // Selectors, one after the other.
  std::vector<JobSelector> selectors_;
  std::size_t at_ = 0;
  bool is_open_ = false;
  NamedJobs named_;                 ///< by the selector that is open
  std::size_t done_of_named_ = 0;   ///< records first, then elements
  bool is_any_done_ = false;
  std::optional<Error> first_refusal_;
};

// What the requests do to one job. `id`: a record of the state, or an element that the draft has just split off; `job` is its
// record, or then its array's.

Verdict cancel_one(Draft& draft, JobId id, const CancelJobs& cancel, const Identity& identity, std::vector<SignalOrder>& orders);
Verdict control_one(Draft& draft, JobId id, const Job& job, JobVerb verb, const Identity& identity);
/// `is_alone`: the request names no other job; ended ones are passed over otherwise.
Verdict update_one(Draft& draft, JobId id, const Job& job, const PreparedUpdate& update,
                   const Identity& identity, bool is_alone);
/// Of "12", "12_3", "12_[1-4]".
std::optional<JobSelector> parse_update_selector(std::string_view text);

}  // namespace muster::frontend
