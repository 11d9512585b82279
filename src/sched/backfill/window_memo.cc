#include "sched/backfill/window_memo.h"

#include <algorithm>
#include <utility>

namespace muster::sched {
namespace {

/// An overdue job is expected to end a grace after now: answers that count on it move with the clock.
bool is_anything_overdue(const ClusterSnapshot& snapshot, TimePoint now) {
  return !snapshot.ends().empty() && snapshot.ends().front().end <= now;
}

bool has_changed(const ClusterSnapshot& snapshot, std::uint64_t revision, const NodeSet& nodes) {
  const auto changes = snapshot.changed_since(revision);
  return !changes || std::ranges::any_of(*changes, [&](const auto& change) { return nodes.test(change.second); });
}

}  // namespace

WindowMemo::WindowMemo(Question question, const std::optional<FuturePlacement>& answer) {
  const TimePoint now = question.timeline.now();
  if (is_anything_overdue(question.snapshot, now)) return;
  revision_ = question.snapshot.revision();
  now_ = now;
  allowed_ = question.allowed;
  kept_ = std::move(question.kept);
  answer_ = answer;
}

bool WindowMemo::holds_for(const Question& question) const {
  if (revision_ == 0) return false;
  const TimePoint now = question.timeline.now();
  if (answer_ && answer_->start <= now) return false;
  if (is_anything_overdue(question.snapshot, now)) return false;
  if (allowed_ != question.allowed || has_changed(question.snapshot, revision_, allowed_)) return false;
  // The search weighs a node first with the windows that begin within the job's time, counted from now.
  const bool reaches_as_far = now == now_ || std::ranges::all_of(kept_, [&](const KeptRoom& room) {
    return (room.start < now_ + question.duration) == (room.start < now + question.duration);
  });
  return reaches_as_far && kept_ == question.kept;
}

}  // namespace muster::sched
