// Drafts a request about many jobs for a bounded number of them at a time, so that nobody waits for
// the end of all.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "slurm/request_text.h"
#include "workload/requests/job_requests.h"

namespace muster::requests {

/// What is done to one of the jobs that a request names.
struct Verdict {
  bool is_meant = true;          ///< false: the job is none of those that the request means
  std::optional<Error> refusal;  ///< why it was not done
};

/// The jobs that a selector names: records of the state, and elements of its array that are looked
/// up one by one, because they may be very many and some may not be there.
struct NamedJobs {
  std::vector<JobId> records;
  Bitmap elements;   ///< not far beyond the array's last index
  Bitmap in_record;  ///< those that `records` stands for: all that remain of the array
};

/// Finds the jobs and changes nothing. What `draft` has split off counts as well, where
/// `may_split`. Errors: kNotFound "Invalid job id specified": there is no such job or array. Cost:
/// O(words of the selector's indices), or O(elements split off) for a whole array.
Result<NamedJobs> name_jobs(const ClusterState& state, const JobSelector& selector,
                            const Draft& draft, bool may_split);
/// Returns the element's own record, or its array's as long as it has not split off. Null: the
/// array has no such element, or has it no more.
const Job* record_of_element(const ClusterState& state, const Job& array, std::uint32_t index);
/// Returns the id of an element that stands in its array's record: one of its own once `draft` has
/// split it off, as this function does; the array's for the last that remains. Requires: `index`
/// remains in `array`, as the state knows it.
JobId split_element(const Job& array, std::uint32_t index, Draft& draft);

/// True for the record of an array of which every element has split off: nothing of it is left to
/// act upon.
inline bool is_spent_array(const Job& job) {
  return job.array != nullptr && !job.array_index && job.array->remaining.indices.empty();
}

/// Each step drafts against the state as it is then: jobs that end or start between two steps are
/// handled as they are, those that leave memory are passed over. A job that the request names twice
/// is done once.
class Sweep {
 public:
  using Request = std::variant<CancelJobs, ControlJobs, PreparedUpdate>;
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  /// Begins a request. Requires: an update is one of jobs. A filter does not reach jobs submitted
  /// after this.
  Sweep(Request request, const Identity& identity, const ClusterState& state);

  /// Drafts for at most `jobs` jobs more; signals go to `orders`. Returns the cost in jobs; those
  /// that were only looked at count as a part of one.
  std::size_t step(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders);
  /// True when nothing is left to be done, or the request was refused.
  bool is_done() const { return is_done_; }
  /// Returns the answer so far: an outcome per job that a filter met, or per selector. Of elements
  /// those that were refused alike have an outcome of their own, and the others one without an
  /// error, if any.
  Reply& reply() { return reply_; }
  const Reply& reply() const { return reply_; }

 private:
  /// Elements that were refused alike.
  struct Refusal {
    Error error;
    Bitmap elements;
  };
  std::size_t step_filter(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders);
  std::size_t step_named(Draft& draft, std::vector<SignalOrder>& orders);
  std::size_t open(const Draft& draft);
  void close();
  void close_elements();
  void refuse(Error error);
  Bitmap& refused_for(const Error& error);
  std::size_t sift_elements(const ClusterState& state);
  std::size_t do_element(Draft& draft, std::uint32_t index, std::vector<SignalOrder>& orders);
  std::optional<Error> do_one(Draft& draft, JobId id, std::vector<SignalOrder>& orders);
  const Job* record_of(const Draft& draft, JobId id) const;
  bool is_meant(const ClusterState& state, const Job& record) const;
  Verdict act(Draft& draft, JobId id, std::vector<SignalOrder>& orders);
  bool may_split() const;
  bool is_lenient_to(const Error& error) const;

  Request request_;
  Identity identity_;
  Reply reply_;
  bool is_done_ = false;
  std::set<JobId> seen_;

  // True for a filter without ids.
  bool is_filter_ = false;
  JobId next_;
  JobId end_;

  // The selectors, one after the other.
  std::vector<JobSelector> selectors_;
  std::size_t at_ = 0;
  bool is_open_ = false;
  NamedJobs named_;  ///< by the selector that is open
  std::size_t done_records_ = 0;
  std::uint32_t next_element_ = 0;  ///< elements below it are done; after the records
  bool is_any_done_ = false;
  std::optional<Error> first_refusal_;
  std::vector<Refusal> refusals_;  ///< of elements
  bool is_alone_ = false;          ///< the selector that is open names one job
  NodeListMemo node_lists_;
};

// Each function returns what the requests do to one job. `id`: a record of the state, or an element
// that the draft has just split off; `job` is its record, or then its array's.

Verdict cancel_one(Draft& draft, JobId id, const Job& job, const CancelJobs& cancel,
                   const Identity& identity, std::vector<SignalOrder>& orders);
Verdict control_one(Draft& draft, JobId id, const Job& job, JobVerb verb, const Identity& identity);
/// What the updates of one request have in common.
struct UpdateSweep {
  bool is_alone = false;  ///< the request names no other job; ended ones are passed over otherwise
  NodeListMemo& node_lists;
};
Verdict update_one(Draft& draft, JobId id, const Job& job, const PreparedUpdate& update,
                   const Identity& identity, const UpdateSweep& sweep);
/// Reads "12", "12_3", "12_[1-4]".
std::optional<JobSelector> parse_update_selector(std::string_view text);

}  // namespace muster::requests
