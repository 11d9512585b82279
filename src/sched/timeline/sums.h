// How much of a job a set of nodes could carry, and what one node adds to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sched/placement/fit.h"
#include "sched/placement/node_set.h"
#include "sched/placement/select.h"
#include "sched/timeline/free_rows.h"

namespace muster::sched {

/// What one node can carry of a need. No tasks: nothing. Only the first `share_count` shares count,
/// as many as the need has amounts for the whole job: most have none.
struct Capacity {
  std::uint32_t tasks = 0;
  std::uint32_t share_count = 0;
  Shares shares;

  friend bool operator==(const Capacity& a, const Capacity& b) {
    return a.tasks == b.tasks && a.share_count == b.share_count &&
           std::equal(a.shares.begin(), a.shares.begin() + a.share_count, b.shares.begin());
  }
};
/// Makes `a` the less of both in everything: no less than a node can carry that has each at some
/// time. Requires: of one need.
inline void limit(Capacity& a, const Capacity& b) {
  a.tasks = std::min(a.tasks, b.tasks);
  for (std::size_t i = 0; i < a.share_count; ++i) a.shares[i] = std::min(a.shares[i], b.shares[i]);
}

/// Nodes, tasks, required nodes, and the amount for each per-job need.
struct CarrySums {
  std::int64_t nodes = 0;
  std::int64_t tasks = 0;
  std::int64_t required = 0;
  std::array<std::int64_t, kJobNeedMax> shares{};

  /// Counts a node in (`sign` 1) or out (-1).
  void count(const Capacity& capacity, bool is_required, int sign) {
    if (capacity.tasks == 0) return;
    nodes += sign;
    tasks += sign * std::int64_t{capacity.tasks};
    required += is_required ? sign : 0;
    for (std::size_t i = 0; i < capacity.share_count; ++i)
      shares[i] += sign * std::int64_t{capacity.shares[i]};
  }
};

/// What nodes carry at an instant: the sums, and which of them carry anything.
struct Carried {
  CarrySums sums;
  NodeSet nodes;

  /// Counts a node that carried `before` and now carries `after`.
  void replace(NodeIndex node, const Capacity& before, const Capacity& after, bool is_required) {
    sums.count(before, is_required, -1);
    sums.count(after, is_required, 1);
    nodes.put(node, after.tasks > 0);
  }
};

/// What nodes can carry of one need, by the numbers of their rows: worked out once for each row.
class CapacityTable {
 public:
  /// Returns what `node`, which has `row`, can carry. Requires: the same need and the same table of
  /// rows each time.
  Capacity of(RowId row, NodeIndex node, const RowTable& rows, const Fitter& fitter) {
    const std::size_t page = row.value() / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    const std::size_t width = 1 + fitter.demand().per_job.size();
    if (pages_[page].empty()) pages_[page].assign(kPage * width, kUnknown);
    std::uint32_t* entry = &pages_[page][row.value() % kPage * width];
    if (*entry == kUnknown) work_out(entry, rows.at(row), node, fitter);
    Capacity capacity;
    capacity.tasks = *entry;
    capacity.share_count = static_cast<std::uint32_t>(width - 1);
    for (std::size_t i = 1; i < width; ++i) capacity.shares[i - 1] = entry[i];
    return capacity;
  }

 private:
  static constexpr std::size_t kPage = 64;
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  static void work_out(std::uint32_t* entry, NodeFree row, NodeIndex node, const Fitter& fitter);

  // By pages, as a need meets the rows of its own nodes alone. An entry is the tasks and then the
  // shares.
  std::vector<std::vector<std::uint32_t>> pages_;
};

}  // namespace muster::sched
