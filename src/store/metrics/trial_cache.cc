// Which reports of a group are valid follows from runs and segments alone: from the newest run
// back, each older one is cut at the steps that a newer one went on from, or first reported.
#include "store/metrics/trial_cache.h"

#include <algorithm>
#include <limits>

namespace muster::metrics {

Segment* Trial::find(std::uint32_t run, const std::string& group) const {
  for (const auto& segment : segments) {
    if (segment->run() == run && segment->group() == group) return segment.get();
  }
  return nullptr;
}

bool Trial::has_tail() const {
  return std::ranges::any_of(segments,
                             [](const auto& segment) { return segment->tail().size() > 0; });
}

std::vector<ValidSegment> segments_of(const Trial& trial, const std::string& group) {
  std::vector<ValidSegment> found;
  for (const auto& segment : trial.segments) {
    if (segment->group() == group && !segment->is_empty()) found.push_back({segment.get(), 0});
  }
  std::ranges::sort(found, std::greater(),
                    [](const ValidSegment& one) { return one.segment->run(); });
  // Newest first: the bound only falls.
  std::int64_t bound = std::numeric_limits<std::int64_t>::max();
  auto newer = trial.runs.rbegin();
  for (ValidSegment& one : found) {
    for (; newer != trial.runs.rend() && newer->run > one.segment->run(); ++newer) {
      if (newer->resumed_from) bound = std::min(bound, *newer->resumed_from);
    }
    one.last_steps = bound;
    // Where a newer run has reported, an older one counts no more.
    bound = std::min(bound, one.segment->min_steps() - 1);
  }
  std::ranges::reverse(found);
  return found;
}

Result<Trial*> TrialCache::find(TrialId id) {
  if (const auto known = trials_.find(id); known != trials_.end()) {
    // To the front, in O(1).
    uses_.splice(uses_.begin(), uses_, known->second.use);
    return &known->second.trial;
  }
  Trial trial;
  trial.id = id;
  trial.runs = TRY(tables_.runs(id));
  const std::vector<SegmentRow> rows = TRY(tables_.segments(id));
  for (const SegmentRow& row : rows) {
    auto segment = TRY(Segment::load(tables_, id, row));
    trial.segments.push_back(std::move(segment));
  }
  uses_.push_front(id);
  Entry& entry = trials_[id];
  entry.trial = std::move(trial);
  entry.weight = weight_of(entry.trial);
  entry.use = uses_.begin();
  weight_ += entry.weight;
  return &entry.trial;
}

void TrialCache::forget(TrialId id) {
  const auto known = trials_.find(id);
  if (known == trials_.end()) return;
  weight_ -= known->second.weight;
  uses_.erase(known->second.use);
  trials_.erase(known);
}

void TrialCache::trim(std::size_t trials_max) {
  for (; weight_ > weight_max_ && trials_max > 0 && !uses_.empty(); --trials_max) {
    const TrialId oldest = uses_.back();
    Entry& entry = trials_.at(oldest);
    // What waits for a block is nowhere else in memory.
    if (!entry.trial.has_tail()) {
      forget(oldest);
      continue;
    }
    uses_.splice(uses_.begin(), uses_, entry.use);
    weigh(oldest);
  }
}

void TrialCache::weigh(TrialId id) {
  const auto known = trials_.find(id);
  if (known == trials_.end()) return;
  weight_ -= known->second.weight;
  known->second.weight = weight_of(known->second.trial);
  weight_ += known->second.weight;
}

std::size_t TrialCache::weight_of(const Trial& trial) {
  // Trials without segments weigh as well, so that they leave the cache, too.
  std::size_t weight = 16;
  for (const auto& segment : trial.segments) weight += segment->weight();
  return weight;
}

}  // namespace muster::metrics
