// The jobs of one priority are dealt out anew over their own positions: at each position the group
// that has least goes next, and what its job takes is counted before the next position.

#include "sched/priority/share.h"

#include <algorithm>
#include <deque>
#include <span>
#include <tuple>

namespace muster::sched {
namespace {

/// The jobs of one group and one priority that are still without a place, in their own order.
struct Queue {
  std::uint32_t group = 0;
  std::deque<const SharedJob*> waiting;
};

/// Which of the queues goes next. Requires: one has jobs.
Queue& next_of(std::vector<Queue>& queues, const std::map<std::uint32_t, double>& in_use) {
  const auto key = [&](const Queue& queue) {
    const SharedJob& first = *queue.waiting.front();
    const auto used = in_use.find(queue.group);
    // In use, by weight: an experiment of weight 2 may have twice as much. The last entry breaks
    // ties by submission.
    return std::tuple(first.priority, (used == in_use.end() ? 0 : used->second) / first.weight,
                      first.own);
  };
  Queue* best = nullptr;
  for (Queue& queue : queues) {
    if (!queue.waiting.empty() && (best == nullptr || key(queue) < key(*best))) best = &queue;
  }
  return *best;
}

/// Requires: `jobs` in their own order, all of one Rank::priority.
void share_out(std::span<const SharedJob> jobs, std::map<std::uint32_t, double>& in_use,
               std::vector<Rank>& ranks) {
  std::vector<Queue> queues;
  std::map<std::uint32_t, std::size_t> places;
  for (const SharedJob& job : jobs) {
    const auto [place, is_new] = places.try_emplace(job.group, queues.size());
    if (is_new) queues.push_back({job.group, {}});
    queues[place->second].waiting.push_back(&job);
  }
  // `jobs` serves twice: as positions in order, and through the queues as those who get them.
  for (const SharedJob& position : jobs) {
    Queue& queue = next_of(queues, in_use);
    const SharedJob& job = *queue.waiting.front();
    queue.waiting.pop_front();
    in_use[queue.group] += job.slots;
    ranks.push_back(
        // The position's submission and id count from now on, under the job's own id: see Rank.
        {position.own.priority, position.own.submit_time, position.own.place, job.own.job});
  }
}

}  // namespace

std::vector<Rank> share_positions(std::vector<SharedJob> jobs,
                                  std::map<std::uint32_t, double> in_use) {
  std::ranges::sort(jobs, {}, &SharedJob::own);
  std::vector<Rank> ranks;
  for (std::size_t begin = 0, end = 0; begin < jobs.size(); begin = end) {
    // Other priorities are other blocks: nobody crosses them.
    while (end < jobs.size() && jobs[end].own.priority == jobs[begin].own.priority) ++end;
    share_out(std::span(jobs).subspan(begin, end - begin), in_use, ranks);
  }
  return ranks;
}

}  // namespace muster::sched
