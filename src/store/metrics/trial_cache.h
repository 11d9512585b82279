// Trials in memory: their runs and segments, which are loaded when first asked for, and forgotten
// when others are wanted more.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/metrics/metric_tables.h"
#include "store/metrics/segment.h"

namespace muster::metrics {

struct Trial {
  TrialId id;
  std::vector<RunStart> runs;  ///< by run
  std::vector<std::unique_ptr<Segment>> segments;

  std::uint32_t newest_run() const { return runs.empty() ? 0 : runs.back().run; }
  /// Returns the segment; nullptr: nothing was reported.
  Segment* find(std::uint32_t run, const std::string& group) const;
  bool has_tail() const;
};

/// A segment and how far its reports are valid: steps up to `last_steps` (may be below its first).
struct ValidSegment {
  const Segment* segment = nullptr;
  std::int64_t last_steps = 0;
};

/// Returns the segments of a group by run. A report is valid while no newer run resumed from fewer
/// steps, and none has reported as many steps or fewer in the group: so the valid series has one
/// run at each step, and its steps rise from run to run.
std::vector<ValidSegment> segments_of(const Trial& trial, const std::string& group);

class TrialCache {
 public:
  /// Begins empty. `weight_max` bounds what is in memory of trials without a tail, in metrics (some
  /// 400 bytes each).
  TrialCache(MetricTables& tables, std::size_t weight_max)
      : tables_(tables), weight_max_(weight_max) {}

  /// Returns a trial. The pointer is valid until forget() or trim(). Cost: a read where the trial
  /// is not in memory.
  Result<Trial*> find(TrialId id);
  void forget(TrialId id);
  /// Weighs a trial again that has grown since it was last looked at.
  void weigh(TrialId id);
  /// Forgets what was asked for longest ago, until what stays is within the bound. Trials with a
  /// tail stay. Cost: O(trials forgotten and passed over), at most `trials_max` of them.
  void trim(std::size_t trials_max = 64);

 private:
  struct Entry {
    Trial trial;
    std::size_t weight = 0;
    std::list<TrialId>::iterator use;
  };
  static std::size_t weight_of(const Trial& trial);

  MetricTables& tables_;
  std::size_t weight_max_;
  std::size_t weight_ = 0;
  std::unordered_map<TrialId, Entry> trials_;
  std::list<TrialId> uses_;  ///< newest first
};

}  // namespace muster::metrics
