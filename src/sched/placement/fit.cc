// What of one node a number of tasks takes, and its inverse, how many fit. The first rises with
// the number of tasks, so the inverse is found by halving; a bound from divisions alone comes
// first, and mostly is the answer.

#include "sched/placement/fit.h"

#include <algorithm>

#include "base/check.h"
#include "base/saturating.h"

namespace muster::sched {
namespace {

std::int64_t free_over(const std::vector<GresKindId>& kinds, NodeFree free) {
  std::int64_t total = 0;
  for (const GresKindId kind : kinds) total += free.gres[kind.value()];
  return total;
}

std::int64_t fixed_part(const GresCheck& check, const Shares& shares) {
  std::int64_t total = check.per_node;
  for (std::size_t i = 0; i < kJobNeedMax; ++i) {
    if ((check.job_needs >> i & 1U) != 0) total += shares[i];
  }
  return total;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Takes `count` out of `left`, from one kind if one holds it all.
void allocate_from(const std::vector<GresKindId>& kinds, std::int32_t count,
                   std::vector<std::int32_t>& left, std::vector<std::int32_t>& taken) {
  for (const GresKindId kind : kinds) {
    if (left[kind.value()] < count) continue;
    left[kind.value()] -= count;
    taken[kind.value()] += count;
    return;
  }
  for (const GresKindId kind : kinds) {
    const std::int32_t part = std::clamp(left[kind.value()], 0, count);
    left[kind.value()] -= part;
    taken[kind.value()] += part;
    count -= part;
  }
  CHECK(count == 0, "a placement counted on {} more devices than are free", count);
}

std::vector<GresCount> counts_of(const std::vector<std::int32_t>& taken) {
  std::vector<GresCount> result;
  for (std::size_t kind = 0; kind < taken.size(); ++kind) {
    if (taken[kind] > 0)
      result.push_back(
          {GresKindId(static_cast<std::uint16_t>(kind)), static_cast<std::uint32_t>(taken[kind])});
  }
  return result;
}

}  // namespace

std::uint32_t Fitter::gpu_count(std::uint32_t tasks, const Shares& shares) const {
  std::uint64_t total = 0;
  for (const GresNeed& need : demand_.per_node) total += need.is_gpu ? need.count : 0;
  // Of the tasks' own as well: a GPU for each task counts towards --cpus-per-gpu.
  for (const GresNeed& need : demand_.per_task)
    total += need.is_gpu ? std::uint64_t{need.count} * tasks : 0;
  for (std::size_t i = 0; i < demand_.per_job.size(); ++i) {
    total += demand_.per_job[i].is_gpu ? shares[i] : 0;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX));
}

/// With --threads-per-core only so many threads of each core count, yet the whole core is taken.
std::int64_t Fitter::usable_of_core(const NodeInventory& node) const {
  const std::uint32_t asked = request_.threads_per_core;
  return asked == 0 ? node.core_unit : std::min(asked, node.core_unit);
}

/// Usable CPUs, whole cores.
std::int64_t Fitter::cpus_for(const NodeInventory& node, std::uint32_t tasks,
                              std::uint32_t gpus) const {
  // --overcommit: one CPU for a node, however many tasks. Source: sbatch(1), --overcommit.
  std::int64_t cpus = request_.is_overcommit ? 1 : std::int64_t{tasks} * request_.cpus_per_task;
  cpus =
      std::max({cpus, saturating_product(std::int64_t{request_.cpus_per_gpu}, std::int64_t{gpus}),
                std::int64_t{request_.min_cpus_per_node}, std::int64_t{1}});
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // more than any node has
  return round_up(std::min(cpus, kMost), usable_of_core(node));
}

std::int64_t Fitter::memory_for(const NodeInventory& node, std::int64_t cpus,
                                std::uint32_t gpus) const {
  const auto memory =
      static_cast<std::int64_t>(std::min<std::uint64_t>(request_.memory_mib, INT64_MAX));
  const auto all = static_cast<std::int64_t>(node.memory_mib);
  switch (request_.memory_scope) {
    case MemoryScope::kDefault: return memory;
    // --mem=0 means the whole node. Source: sbatch(1), --mem.
    case MemoryScope::kPerNode: return memory == 0 ? all : memory;
    case MemoryScope::kPerCpu:
      // A whole node has more CPUs than were asked for; they bring no claim to more memory than it
      // has.
      return rule_.is_exclusive
                 ? std::max(std::min(saturating_product(
                                         memory, node.cpus / node.core_unit * usable_of_core(node)),
                                     all),
                            saturating_product(memory, cpus))
                 : saturating_product(memory, cpus);
    case MemoryScope::kPerGpu: return saturating_product(memory, std::int64_t{gpus});
  }
  return memory;
}

Fitter::Need Fitter::need_on(const NodeInventory& node, std::uint32_t tasks,
                             const Shares& shares) const {
  const std::uint32_t gpus = gpu_count(tasks, shares);
  const std::int64_t cpus = cpus_for(node, tasks, gpus);
  // Usable CPUs are whole cores of as many threads as count: the node loses all threads of those.
  return {cpus / usable_of_core(node) * node.core_unit, memory_for(node, cpus, gpus)};
}

std::int64_t Fitter::usable_cpus(NodeFree free) const {
  if (!rule_.cpu_quota) return free.cpus;
  return std::min(free.cpus, std::int64_t{free.gres[rule_.cpu_quota->value()]});
}

bool Fitter::is_untouched(NodeIndex node, NodeFree free) const {
  const NodeFree total = inventory_.total.at(node);
  // Memory is not compared: whoever holds some there holds a CPU as well.
  return free.cpus == total.cpus &&
         std::equal(free.gres, free.gres + inventory_.kinds.size(), total.gres);
}

bool Fitter::gres_fits(NodeFree free, std::uint32_t tasks, const Shares& shares) const {
  for (const GresCheck& check : demand_.checks) {
    const std::int64_t need = fixed_part(check, shares) + std::int64_t{check.per_task} * tasks;
    if (need > free_over(check.kinds, free)) return false;
  }
  return true;
}

bool Fitter::fits(NodeIndex node, NodeFree free, std::uint32_t tasks, const Shares& shares) const {
  const NodeInventory& inventory = inventory_.nodes[node.value()];
  const Need need = need_on(inventory, tasks, shares);
  if (need.cpus > usable_cpus(free)) return false;
  if (need.memory_mib > free.memory_mib) return false;
  // Not only what is free: where memory is not consumable the free amount has no bound.
  if (need.memory_mib > static_cast<std::int64_t>(inventory.memory_mib)) return false;
  return gres_fits(free, tasks, shares);
}

namespace {

/// count * each > left, also where a signed product would overflow. Requires: 0 <= count < 2^32,
/// left >= 0.
bool is_more(std::int64_t count, std::uint32_t each, std::int64_t left) {
  return static_cast<std::uint64_t>(count) * each > static_cast<std::uint64_t>(left);
}

}  // namespace

std::uint32_t Fitter::task_bound(NodeFree free, const Shares& shares) const {
  // Divisions are what this costs: they are done only where they change the bound.
  // At least one task on each node: more nodes than tasks make as many tasks.
  std::int64_t bound = std::max({request_.task_count, request_.min_nodes, 1U});
  if (request_.tasks_per_node > 0) bound = std::min(bound, std::int64_t{request_.tasks_per_node});
  const std::int64_t usable = usable_cpus(free);
  // An overdrawn node has less than none, and what follows divides unsigned.
  if (usable <= 0) return 0;
  if (!request_.is_overcommit && is_more(bound, request_.cpus_per_task, usable)) {
    bound = static_cast<std::uint32_t>(usable) / request_.cpus_per_task;
    if (bound == 0) return 0;
  }
  for (const GresCheck& check : demand_.checks) {
    if (check.per_task == 0) continue;
    const std::int64_t left = free_over(check.kinds, free) - fixed_part(check, shares);
    if (left < 0) return 0;
    if (is_more(bound, check.per_task, left)) bound = left / check.per_task;
  }
  if (request_.tasks_per_gpu > 0) {
    // GPUs of per-task needs grow with the tasks: the checks above bound those.
    const std::uint32_t gpus = gpu_count(0, shares);
    if (gpus > 0 || demand_.per_task.empty()) {
      bound = std::min(
          bound, saturating_product(std::int64_t{request_.tasks_per_gpu}, std::int64_t{gpus}));
    }
  }
  return static_cast<std::uint32_t>(std::max(bound, std::int64_t{0}));
}

std::uint32_t Fitter::least_tasks(const ResourceRequest& request) {
  // --ntasks-per-node=N alone: a node takes N or none.
  if (request.is_tasks_per_node_exact) return std::max(1U, request.tasks_per_node);
  const std::uint64_t wanted = std::max({request.task_count, request.min_nodes, 1U});
  // On a single node all of them must fit.
  if (request.max_nodes == 1) return static_cast<std::uint32_t>(wanted);
  if (request.max_nodes == 0 || request.tasks_per_node == 0) return 1;
  // The others take --ntasks-per-node each at most: what is left must fit here.
  const std::uint64_t others = (std::uint64_t{request.max_nodes} - 1) * request.tasks_per_node;
  return wanted > others ? static_cast<std::uint32_t>(wanted - others) : 1;
}

std::uint32_t Fitter::task_capacity(NodeIndex node, NodeFree free, const Shares& shares) const {
  // A whole node is one that nobody else has a part of.
  if (rule_.is_exclusive && !is_untouched(node, free)) return 0;
  std::uint32_t high = task_bound(free, shares);
  if (high < least_tasks_) return 0;
  if (fits(node, free, high, shares)) return high;
  std::uint32_t low =
      0;  // fits(low) or low is 0; fits(high) is false; fits falls with the number of tasks
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (fits(node, free, middle, shares) ? low : high) = middle;
  }
  return low < least_tasks_ ? 0 : low;
}

Shares Fitter::share_capacity(NodeIndex node, NodeFree free) const {
  const std::vector<GresNeed>& needs = demand_.per_job;
  Shares room{};
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const std::int64_t left =
        std::clamp(free_over(needs[i].kinds, free), std::int64_t{0}, std::int64_t{needs[i].count});
    room[i] = static_cast<std::uint32_t>(left);
  }
  if (fits(node, free, 1, room)) return room;
  // Devices bring CPUs and memory with them (--cpus-per-gpu, --mem-per-gpu): fewer may fit where
  // all do not. Needs grow in step, as the job's numbers of them are to each other: the first would
  // leave no CPU for the devices of the second.
  Shares shares{};
  for (;;) {
    std::size_t next = needs.size();
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const auto is_behind = [&](std::size_t other) {
        return std::uint64_t{shares[i]} * needs[other].count <
               std::uint64_t{shares[other]} * needs[i].count;
      };
      if (shares[i] < room[i] && (next == needs.size() || is_behind(next))) next = i;
    }
    if (next == needs.size()) return shares;
    ++shares[next];
    if (!fits(node, free, 1, shares)) room[next] = --shares[next];
  }
}

std::vector<GresCount> Fitter::divide_gres(NodeIndex node, NodeFree free, std::uint32_t tasks,
                                           const Shares& shares) const {
  if (demand_.checks.empty() && !rule_.is_exclusive) return {};
  std::vector<std::int32_t> taken(inventory_.kinds.size(), 0);
  // Also devices that the job did not ask for: nobody else may use them meanwhile.
  if (rule_.is_exclusive) {
    const NodeFree total = inventory_.total.at(node);
    taken.assign(total.gres, total.gres + inventory_.kinds.size());
    return counts_of(taken);
  }
  std::vector<std::int32_t> left(free.gres, free.gres + inventory_.kinds.size());
  const auto allocate_all = [&](bool is_typed) {
    const auto allocate_need = [&](const GresNeed& need, std::uint32_t count) {
      if ((need.kinds.size() == 1) != is_typed) return;
      allocate_from(need.kinds, static_cast<std::int32_t>(count), left, taken);
    };
    for (const GresNeed& need : demand_.per_node) allocate_need(need, need.count);
    for (const GresNeed& need : demand_.per_task) allocate_need(need, need.count * tasks);
    for (std::size_t i = 0; i < demand_.per_job.size(); ++i)
      allocate_need(demand_.per_job[i], shares[i]);
  };
  // Typed needs first: an untyped one can do with what they leave, not the other way round.
  allocate_all(true);
  allocate_all(false);
  return counts_of(taken);
}

NodeAmount Fitter::amount(NodeIndex node, NodeFree free, std::uint32_t tasks,
                          const Shares& shares) const {
  const NodeInventory& inventory = inventory_.nodes[node.value()];
  const Need need = need_on(inventory, tasks, shares);
  NodeAmount result;
  result.node = node;
  result.task_count = tasks;
  result.cpus = rule_.is_exclusive ? inventory.cpus : static_cast<std::uint32_t>(need.cpus);
  result.memory_mib = static_cast<std::uint64_t>(need.memory_mib);
  result.gres = divide_gres(node, free, tasks, shares);
  CHECK(result.cpus <= free.cpus, "node {}: {} CPUs granted, {} free", node.value(), result.cpus,
        free.cpus);
  return result;
}

}  // namespace muster::sched
