// Why jobs wait, as queries show it: the word of each, and the time and nodes of each window that a
// plan has. The full reasons are worked out for the job that is asked about (PlannerRole::explain).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/reason.h"

namespace muster::sched {
class ClusterSnapshot;
struct Plan;
}  // namespace muster::sched

namespace muster {

/// One word per job.
class JobWords {
 public:
  /// Returns the job's word; kNone: nothing is known of it.
  PendingReason of(JobId job) const;
  void set(JobId job, PendingReason word);
  /// Returns a copy of the words as they are now: later changes leave it alone. Cost: a pointer per
  /// 4,096 ids; the first change of a page after it costs a copy of the page.
  JobWords picture();
  std::size_t page_count() const { return page_count_; }

 private:
  using Page = std::array<PendingReason, 4096>;
  std::vector<std::shared_ptr<Page>> pages_;  ///< null: none of its jobs has a word
  std::vector<bool> is_shared_;               ///< by page: a picture has it, too
  std::size_t page_count_ = 0;                ///< not null
};

/// A report is derived from a plan, immutable, and shared between threads.
struct PlanReport {
  struct Window {
    TimePoint start;
    std::vector<NodeIndex> nodes;
  };
  Seq seq;
  TimePoint time;  ///< of the plan
  JobWords words;  ///< of jobs that wait for room; of those that do not any more, what it was
  std::unordered_map<JobId, Window> windows;
  std::vector<NodeIndex> planned_nodes;  ///< rising
  /// Returns the word with its window. Nullopt: it waits for the next plan.
  std::optional<Reasons> find(JobId job) const;
};

/// Makes the report of each plan from the one before: only what changed is looked at.
class PlanReporter {
 public:
  /// Makes the report of a plan. Requires: plans of one snapshot, in their order. Cost: O(lanes +
  /// windows + jobs that became ready or whose lane's word changed).
  std::shared_ptr<const PlanReport> report(const sched::ClusterSnapshot& snapshot,
                                           const sched::Plan& plan, Seq seq);

 private:
  /// What was last reported of the jobs of a lane.
  struct Reported {
    std::uint64_t serial = 0;
    JobId first;
    PendingReason first_word = PendingReason::kNone;
    PendingReason behind_word = PendingReason::kNone;
  };
  void report_lane(const sched::ClusterSnapshot& snapshot, const sched::Plan& plan,
                   std::size_t place);

  void forget_what_is_old();

  JobWords words_;
  std::size_t pages_at_first_ = 0;
  std::vector<JobId> windowed_;     ///< in the report before
  std::vector<Reported> reported_;  ///< by the lane's index
  std::uint64_t revision_ = 0;
};

}  // namespace muster
