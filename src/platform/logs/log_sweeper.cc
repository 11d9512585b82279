// Deletes logs in small steps between stores: rows of an owner at once, then the space,
// kChunksPerStep at a time.
#include "platform/logs/log_sweeper.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::uint32_t kChunksPerStep = 32;
/// Owners without logs that one step passes over.
constexpr int kLookedAtMax = 256;

}  // namespace

void LogSweeper::expire(const std::vector<LogOwner>& owners) {
  waiting_.clear();
  // The list may have become shorter, where a retention was lengthened; what has gone is passed
  // over.
  std::ranges::copy_if(owners, std::back_inserter(waiting_),
                       [&](const LogOwner& owner) { return !gone_.contains(owner); });
}

Status LogSweeper::step() {
  for (int looked_at = 0; !waiting_.empty() && looked_at < kLookedAtMax; ++looked_at) {
    const LogOwner owner = waiting_.front();
    const std::vector<LogStreamState> streams = TRY(store_.streams(owner));
    // Recorded as gone only when that is done: a failure is tried again.
    if (!streams.empty()) TRY(store_.delete_owner(owner));
    waiting_.pop_front();
    gone_.insert(owner);
    // One owner a step: deleting is what costs.
    if (streams.empty()) continue;
    is_swept_ = false;
    return {};
  }
  if (waiting_.empty() && !is_swept_) is_swept_ = TRY(store_.sweep(kChunksPerStep));
  return {};
}

}  // namespace muster
