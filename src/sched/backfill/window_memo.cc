// When an answer may be used again. An answer follows from what is allowed, from what windows keep
// there, from what ends when, and from now only where a window or an overdue job is counted from
// it. Each of these is compared; whatever cannot be compared makes a new search.

#include "sched/backfill/window_memo.h"

#include <algorithm>
#include <utility>

namespace muster::sched {
namespace {

/// An overdue job is expected to end a grace after now: answers that count on it move with the
/// clock.
bool is_anything_overdue(const ClusterSnapshot& snapshot, TimePoint now) {
  // The ends are sorted: the first is the earliest.
  return !snapshot.ends().empty() && snapshot.ends().front().end <= now;
}

/// The nodes of `among` that have changed. Nullopt: too long ago to tell.
std::optional<std::vector<NodeIndex>> changed_nodes(const ClusterSnapshot& snapshot,
                                                    std::uint64_t revision, const NodeSet& among) {
  const auto changes = snapshot.changed_since(revision);
  if (!changes) return std::nullopt;
  std::vector<NodeIndex> nodes;
  for (const auto& [when, node] : *changes) {
    if (among.test(node)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

void WindowMemo::store(Question question, const std::optional<FuturePlacement>& answer,
                       SearchMemory memory) {
  const TimePoint now = question.timeline.now();
  *this = {};
  if (is_anything_overdue(question.snapshot, now)) return;
  revision_ = question.snapshot.revision();
  now_ = now;
  allowed_ = question.allowed;
  // Such a start may be dropped before it is applied: then no change of the node says that the
  // answer had counted on it.
  (question.started_on & question.allowed).for_each([this](NodeIndex node) {
    uncertain_.push_back(node);
  });
  reserved_ = std::move(question.reserved);
  answer_ = answer;
  early_ = std::move(memory.early);
  late_ = std::move(memory.late);
}

/// True when only nodes that changed can make the answers differ.
bool WindowMemo::is_comparable(const Question& question) const {
  if (revision_ == 0 || allowed_ != question.allowed || reserved_ != question.reserved)
    return false;
  const TimePoint now = question.timeline.now();
  if (is_anything_overdue(question.snapshot, now)) return false;
  // The search weighs a node first with the windows that begin within the job's time, counted from
  // now.
  return now == now_ || std::ranges::all_of(reserved_, [&](const ReservedRoom& room) {
           return (room.start < now_ + question.duration) == (room.start < now + question.duration);
         });
}

bool WindowMemo::holds_for(const Question& question) const {
  if (!is_comparable(question) || !uncertain_.empty() || question.started_on.intersects(allowed_))
    return false;
  // A time that has come is no answer to when the job could start later.
  if (answer_ && answer_->start <= question.timeline.now()) return false;
  const auto changed = changed_nodes(question.snapshot, revision_, allowed_);
  return changed && changed->empty();
}

std::optional<SearchMemory> WindowMemo::extract_memory(const Question& question) {
  if (is_anything_overdue(question.snapshot, question.timeline.now())) return std::nullopt;
  SearchMemory memory;
  // An empty memory, not none: the search begins at the beginning and may leave checkpoints.
  if (!is_comparable(question)) return memory;
  auto changed = changed_nodes(question.snapshot, revision_, allowed_);
  if (!changed) return memory;
  memory.changed = std::move(*changed);
  memory.changed.insert(memory.changed.end(), uncertain_.begin(), uncertain_.end());
  (question.started_on & allowed_).for_each([&](NodeIndex node) {
    memory.changed.push_back(node);
  });
  // The search applies each change to its sums: a node twice would count twice.
  std::ranges::sort(memory.changed);
  memory.changed.erase(std::unique(memory.changed.begin(), memory.changed.end()),
                       memory.changed.end());
  // Nothing stays behind: a pass that breaks its search off gives nothing back.
  memory.early = std::exchange(early_, std::nullopt);
  memory.late = std::exchange(late_, std::nullopt);
  if (answer_) memory.expected_start = answer_->start;
  return memory;
}

}  // namespace muster::sched
