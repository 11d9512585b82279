#include "sched/placement/select.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/check.h"

namespace muster::sched {
namespace {

using Candidates = std::vector<Candidate>;
using Grants = std::optional<std::vector<NodeAmount>>;

/// Deals `total` out over `caps` in order, each place getting at least one while there is enough;
/// false when `caps` cannot take all of it.
bool deal(std::uint32_t total, std::vector<std::uint32_t>& caps) {
  std::uint32_t left = total;
  for (std::size_t i = 0; i < caps.size(); ++i) {
    const auto later = static_cast<std::uint32_t>(caps.size() - 1 - i);
    const std::uint32_t wanted = left > later ? left - later : std::min(left, 1U);
    caps[i] = std::min(caps[i], wanted);
    left -= caps[i];
  }
  return left == 0;
}

/// Raises `tasks`, one each in turn and the earlier ones first, until they come to `total` or reach `caps`.
/// Cost: O(n log n) by the level that all stand at.
void raise_evenly(std::uint32_t total, const std::vector<std::uint32_t>& caps, std::vector<std::uint32_t>& tasks) {
  std::uint64_t have = 0;
  for (const std::uint32_t count : tasks) have += count;
  const auto at_level = [&](std::uint32_t level) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < caps.size(); ++i) sum += std::max(tasks[i], std::min(caps[i], level));
    return sum;
  };
  std::uint32_t low = 0;  // at_level(low) <= total
  std::uint32_t high = caps.empty() ? 0 : *std::ranges::max_element(caps);
  if (have >= total) return;
  while (low < high) {
    const std::uint32_t middle = high - (high - low) / 2;  // above low, and no sum that could wrap around
    if (at_level(middle) <= total) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  std::uint64_t left = total - at_level(low);
  for (std::size_t i = 0; i < caps.size(); ++i) {
    tasks[i] = std::max(tasks[i], std::min(caps[i], low));
    if (left == 0 || tasks[i] != low || caps[i] <= low) continue;
    ++tasks[i];
    --left;
  }
}

/// One search for one job.
class Selection {
 public:
  Selection(const Fitter& fitter, const Availability& availability, NodeLimits limits)
      : fitter_(fitter), request_(fitter.request()), availability_(availability), limits_(limits) {
    tasks_wanted_ = least_task_count(request_, limits);
    is_plain_ = !request_.is_contiguous && fitter.demand().required_count == 0;
  }

  Grants run(std::span<const NodeIndex> order, const NodeSet& allowed,
             std::vector<NodeIndex>* dead) {
    std::uint32_t weight = 0;
    for (const NodeIndex node : order) {
      if (!allowed.test(node)) continue;
      const std::uint32_t node_weight = fitter_.facts().nodes[node.value()].weight;
      if (node_weight != weight) {
        if (Grants grants = choose()) return grants;
        weight = node_weight;
      }
      const auto candidate = candidate_at(fitter_, node, availability_.at(node));
      if (!candidate) {
        if (dead != nullptr) dead->push_back(node);
        continue;
      }
      add(*candidate);
      if (Grants grants = choose_early()) return grants;
    }
    return choose();
  }

 private:
  void add(const Candidate& candidate) {
    candidates_.push_back(candidate);
    tasks_ += candidate.tasks;
    for (std::size_t i = 0; i < kJobNeedMax; ++i) shares_[i] += candidate.shares[i];
  }
  bool covers(std::uint64_t tasks, std::span<const std::uint64_t> shares) const {
    if (tasks < tasks_wanted_) return false;
    const auto& needs = fitter_.demand().per_job;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (shares[i] < needs[i].count) return false;
    }
    return true;
  }
  bool covers(const Candidate& candidate) const {
    const std::array<std::uint64_t, kJobNeedMax> shares{candidate.shares[0], candidate.shares[1],
                                                        candidate.shares[2], candidate.shares[3]};
    return covers(candidate.tasks, shares);
  }

  /// The cases in which the rules are settled before all nodes of a weight are known.
  Grants choose_early() {
    if (!is_plain_) return std::nullopt;
    if (limits_.min == 1 && covers(candidates_.back())) return grant({candidates_.back()});
    if (candidates_.size() == limits_.min && covers(tasks_, shares_)) return grant(candidates_);
    return std::nullopt;
  }

  Grants choose() {
    if (candidates_.size() < limits_.min || !covers(tasks_, shares_)) return std::nullopt;
    if (request_.is_contiguous) return choose_run();
    largest_after_.clear();
    Candidates required;
    Candidates others;
    for (const Candidate& candidate : candidates_) {
      (fitter_.demand().required.test(candidate.node) ? required : others).push_back(candidate);
    }
    if (required.size() != fitter_.demand().required_count) return std::nullopt;
    return choose_fewest(required, others);
  }

  /// The measure in which "fewest nodes" is counted: per-job devices where there are any, else
  /// tasks.
  std::uint32_t weight_of(const Candidate& candidate) const {
    return fitter_.demand().per_job.empty() ? candidate.tasks : candidate.shares[0];
  }
  std::uint64_t weight_wanted() const {
    return fitter_.demand().per_job.empty() ? tasks_wanted_ : fitter_.demand().per_job[0].count;
  }

  Grants choose_fewest(const Candidates& required, const Candidates& others) {
    std::uint64_t wanted = weight_wanted();
    for (const Candidate& candidate : required)
      wanted -= std::min<std::uint64_t>(wanted, weight_of(candidate));
    std::vector<std::uint32_t> sizes;
    for (const Candidate& candidate : others) sizes.push_back(weight_of(candidate));
    const auto base = static_cast<std::uint32_t>(required.size());
    if (base > limits_.max) return std::nullopt;
    std::uint64_t best_sum = 0;
    const std::size_t last = std::min<std::size_t>(limits_.max, base + sizes.size());
    std::ranges::make_heap(sizes);
    for (std::size_t count = base; count <= last; ++count) {
      if (count > base) {
        best_sum += sizes.front();
        std::ranges::pop_heap(sizes);
        sizes.pop_back();
      }
      if (count < limits_.min || count == 0 || best_sum < wanted) continue;
      Candidates chosen = required;
      if (fitter_.demand().per_job.empty()) {
        append_first(others, count - base, wanted, chosen);
        if (Grants grants = grant(std::move(chosen))) return grants;
      } else {
        steps_ = 0;
        if (Grants grants = search(others, 0, count - base, chosen)) return grants;
        if (steps_ > kStepMax) {
          if (Grants grants = choose_richest(required, others, count - base)) return grants;
        }
      }
    }
    return std::nullopt;
  }

  /// Where a search had to be broken off: the nodes with the most tasks and devices, in the proportions of what is asked for.
  Grants choose_richest(const Candidates& required, const Candidates& others, std::size_t count) const {
    const auto worth = [&](const Candidate& candidate) {
      return std::uint64_t{candidate.tasks} * weight_wanted() + std::uint64_t{weight_of(candidate)} * tasks_wanted_;
    };
    for (const int order : {0, 1, 2}) {
      Candidates sorted = others;
      std::ranges::stable_sort(sorted, std::greater<>(), [&](const Candidate& candidate) {
        return order == 0 ? worth(candidate) : order == 1 ? weight_of(candidate) : candidate.tasks;
      });
      Candidates chosen = required;
      chosen.insert(chosen.end(), sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
      if (Grants grants = grant(std::move(chosen))) return grants;
    }
    return std::nullopt;
  }

  /// Nodes that are alike in all that a search asks of them: where one led nowhere so does the other.
  bool is_like(const Candidate& one, const Candidate& other) const {
    if (one.tasks != other.tasks || one.shares != other.shares) return false;
    const NodeFacts& a = fitter_.facts().nodes[one.node.value()];
    const NodeFacts& b = fitter_.facts().nodes[other.node.value()];
    if (a.cpus != b.cpus || a.core_unit != b.core_unit || a.memory_mib != b.memory_mib) return false;
    const std::size_t kinds = fitter_.facts().kinds.size();
    const NodeFree first = availability_.at(one.node);
    const std::int64_t cpus = first.cpus;
    const std::int64_t memory = first.memory_mib;
    const std::vector<std::int32_t> gres(first.gres, first.gres + kinds);
    const NodeFree second = availability_.at(other.node);
    return cpus == second.cpus && memory == second.memory_mib && std::equal(gres.begin(), gres.end(), second.gres);
  }

  /// Appends the first set (in order) of `count` others whose sizes reach `wanted`.
  /// Requires: the `count` largest reach it. A node is taken when the largest of the later ones can
  /// complete it.
  void append_first(const Candidates& others, std::size_t count, std::uint64_t wanted,
                    Candidates& chosen) const {
    std::map<std::uint32_t, std::size_t, std::greater<>> later;
    for (const Candidate& candidate : others) ++later[weight_of(candidate)];
    for (const Candidate& candidate : others) {
      if (count == 0) return;
      const std::uint32_t size = weight_of(candidate);
      if (--later[size] == 0) later.erase(size);
      std::uint64_t reach = size;
      std::size_t slots = count - 1;
      for (const auto& [value, number] : later) {
        if (slots == 0 || reach >= wanted) break;
        const std::size_t used = std::min(slots, number);
        reach += std::uint64_t{value} * used;
        slots -= used;
      }
      if (reach < wanted) continue;
      chosen.push_back(candidate);
      wanted -= std::min<std::uint64_t>(wanted, size);
      --count;
    }
  }

  /// The first set of `count` more nodes from `first` on that carries both tasks and devices: the
  /// two may pull towards different nodes, so that this goes back where a start led nowhere.
  /// Bounded by kStepMax for each number of nodes: what one number has used up is not missing at the next.
  Grants search(const Candidates& others, std::size_t first, std::size_t count,
                Candidates& chosen) {
    if (count == 0) return grant(chosen);
    const Candidate* failed = nullptr;
    for (std::size_t i = first; i + count <= others.size(); ++i) {
      if (failed != nullptr && is_like(*failed, others[i])) continue;
      if (++steps_ > kStepMax) return std::nullopt;
      chosen.push_back(others[i]);
      if (can_reach(others, i + 1, count - 1, chosen)) {
        if (Grants grants = search(others, i + 1, count - 1, chosen)) return grants;
      }
      chosen.pop_back();
      failed = &others[i];
    }
    return std::nullopt;
  }
  /// A bound: as if each of the `count` nodes to come were as large as the largest of them.
  bool can_reach(const Candidates& others, std::size_t first, std::size_t count,
                 const Candidates& chosen) {
    if (largest_after_.size() != others.size() + 1) fill_largest(others);
    const Candidate& largest = largest_after_[first];
    std::uint64_t tasks = std::uint64_t{largest.tasks} * count;
    std::array<std::uint64_t, kJobNeedMax> shares{};
    for (std::size_t s = 0; s < kJobNeedMax; ++s)
      shares[s] = std::uint64_t{largest.shares[s]} * count;
    for (const Candidate& candidate : chosen) {
      tasks += candidate.tasks;
      for (std::size_t s = 0; s < kJobNeedMax; ++s) shares[s] += candidate.shares[s];
    }
    return covers(tasks, shares);
  }
  void fill_largest(const Candidates& others) {
    largest_after_.assign(others.size() + 1, Candidate{});
    for (std::size_t i = others.size(); i-- > 0;) {
      Candidate& largest = largest_after_[i];
      largest = largest_after_[i + 1];
      largest.tasks = std::max(largest.tasks, others[i].tasks);
      for (std::size_t s = 0; s < kJobNeedMax; ++s)
        largest.shares[s] = std::max(largest.shares[s], others[i].shares[s]);
    }
  }

  /// The shortest run of neighbouring indices that suffices; of those the lowest.
  Grants choose_run() {
    Candidates sorted = candidates_;
    std::ranges::sort(sorted, {}, &Candidate::node);
    Candidates best;
    for (std::size_t first = 0; first < sorted.size(); ++first) {
      const std::size_t size =
          run_length(sorted, first, best.empty() ? limits_.max : best.size() - 1);
      if (size == 0) continue;
      best.assign(sorted.begin() + static_cast<std::ptrdiff_t>(first),
                  sorted.begin() + static_cast<std::ptrdiff_t>(first + size));
    }
    return best.empty() ? std::nullopt : grant(std::move(best));
  }
  /// How many neighbours from `first` on suffice, at most `limit`; 0: none do.
  std::size_t run_length(const Candidates& sorted, std::size_t first, std::size_t limit) const {
    std::uint64_t tasks = 0;
    std::array<std::uint64_t, kJobNeedMax> shares{};
    std::uint32_t required = 0;
    for (std::size_t i = first; i < sorted.size() && i - first < limit; ++i) {
      if (sorted[i].node.value() - sorted[first].node.value() != i - first) return 0;
      tasks += sorted[i].tasks;
      for (std::size_t s = 0; s < kJobNeedMax; ++s) shares[s] += sorted[i].shares[s];
      required += fitter_.demand().required.test(sorted[i].node) ? 1 : 0;
      const std::size_t size = i - first + 1;
      if (size >= limits_.min && required == fitter_.demand().required_count &&
          covers(tasks, shares))
        return size;
    }
    return 0;
  }

  /// Lays tasks and shares over exactly these nodes; nothing when their combination does not fit
  /// after all.
  Grants grant(Candidates chosen) const {
    if (chosen.size() > limits_.max) return std::nullopt;
    std::ranges::sort(chosen, {}, &Candidate::node);
    if (!deal_shares(chosen)) return std::nullopt;
    std::vector<std::uint32_t> tasks;
    for (const Candidate& candidate : chosen) {
      tasks.push_back(fitter_.demand().per_job.empty()
                          ? candidate.tasks
                          : fitter_.task_capacity(candidate.node, availability_.at(candidate.node),
                                                  candidate.shares));
      if (tasks.back() == 0) return std::nullopt;
    }
    if (!deal_tasks(chosen, tasks)) return std::nullopt;
    std::vector<NodeAmount> result;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const NodeIndex node = chosen[i].node;
      result.push_back(fitter_.amount(node, availability_.at(node), tasks[i], chosen[i].shares));
    }
    return result;
  }
  /// How many tasks each of the chosen nodes gets; false when `tasks`, the most that each can take, do not suffice.
  /// CPUs are set aside node by node, and each leaves one core for every later one; tasks then go round the nodes, as far as
  /// those CPUs reach, and from there on wherever there is room. Of whole nodes all CPUs are there at once. Source: Slurm's select/cons_tres (_cpus_to_use, then
  /// dist_tasks), compared with 22.05.8 on nodes of two threads per core.
  bool deal_tasks(const Candidates& chosen, std::vector<std::uint32_t>& tasks) const {
    const auto count = static_cast<std::uint32_t>(chosen.size());
    if (request_.is_tasks_per_node_exact) {
      for (std::uint32_t& one : tasks) {
        if (one < request_.tasks_per_node) return false;
        one = request_.tasks_per_node;
      }
      return true;
    }
    const std::uint32_t total = std::max(tasks_wanted_, count);
    std::uint64_t room = 0;
    for (const std::uint32_t cap : tasks) room += cap;
    if (room < total) return false;
    std::vector<std::uint32_t> slots = tasks;
    if (!request_.is_overcommit && !fitter_.is_exclusive()) leave_cores(chosen, total, slots);
    std::vector<std::uint32_t> dealt(count, 1);
    raise_evenly(total, slots, dealt);
    raise_evenly(total, tasks, dealt);
    tasks = std::move(dealt);
    return true;
  }
  /// Lowers `slots` to what the CPUs carry that a node may take before the later ones have had theirs.
  void leave_cores(const Candidates& chosen, std::uint32_t total, std::vector<std::uint32_t>& slots) const {
    const std::int64_t each = std::max(1U, request_.cpus_per_task);
    std::int64_t left = std::int64_t{total} * each;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto later = static_cast<std::int64_t>(slots.size() - 1 - i);
      const std::int64_t core = fitter_.core_cpus(chosen[i].node);
      const std::int64_t wanted = std::max({left - later * core, std::int64_t{request_.min_cpus_per_node}, std::int64_t{1}});
      const auto whole = [core](std::int64_t cpus) { return (cpus + core - 1) / core * core; };
      const std::int64_t given = std::min(whole(wanted), whole(slots[i] * each));
      slots[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(given / each, 1, slots[i]));
      left = std::max<std::int64_t>(left - given, 0);
    }
  }
  bool deal_shares(Candidates& chosen) const {
    for (std::size_t i = 0; i < fitter_.demand().per_job.size(); ++i) {
      if (chosen.size() > fitter_.demand().per_job[i].count && !fitter_.may_lack(i)) return false;
      std::vector<std::uint32_t> caps;
      for (const Candidate& candidate : chosen) caps.push_back(candidate.shares[i]);
      if (!deal(fitter_.demand().per_job[i].count, caps)) return false;
      for (std::size_t n = 0; n < chosen.size(); ++n) chosen[n].shares[i] = caps[n];
    }
    return true;
  }

  static constexpr int kStepMax = 20'000;

  const Fitter& fitter_;
  const ResourceRequest& request_;
  const Availability& availability_;
  NodeLimits limits_;
  bool is_plain_ = true;
  std::uint32_t tasks_wanted_ = 1;
  int steps_ = 0;             ///< of search()
  Candidates largest_after_;  ///< for search(): at i, the largest values from i on
  Candidates candidates_;
  std::uint64_t tasks_ = 0;
  std::array<std::uint64_t, kJobNeedMax> shares_{};
};

}  // namespace

std::uint32_t least_task_count(const ResourceRequest& request, NodeLimits limits) {
  if (request.is_tasks_per_node_exact) return std::max(1U, limits.min * request.tasks_per_node);
  return std::max({request.task_count, limits.min, 1U});
}

std::optional<Candidate> candidate_at(const Fitter& fitter, NodeIndex node, NodeFree free) {
  Candidate candidate{node, 0, {}};
  const auto& needs = fitter.demand().per_job;
  if (!needs.empty()) {
    candidate.shares = fitter.share_capacity(node, free);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (candidate.shares[i] == 0 && !fitter.may_lack(i)) return std::nullopt;
    }
  }
  // Tasks bound to GPUs need the GPUs beside them; others are counted as if the node lent none.
  const bool is_bound = fitter.request().tasks_per_gpu > 0;
  candidate.tasks = fitter.task_capacity(node, free, is_bound ? candidate.shares : Shares{});
  if (candidate.tasks == 0) return std::nullopt;
  return candidate;
}

std::optional<std::vector<NodeAmount>> place(const Fitter& fitter, const Availability& availability,
                                             NodeLimits limits, std::span<const NodeIndex> order,
                                             const NodeSet& allowed, std::vector<NodeIndex>* dead) {
  CHECK(limits.min >= 1 && limits.min <= limits.max, "node limits {}..{}", limits.min, limits.max);
  return Selection(fitter, availability, limits).run(order, allowed, dead);
}

namespace {

std::optional<std::vector<NodeAmount>> place_widest_on(const Fitter& fitter, const Availability& availability,
                                                       NodeLimits limits, std::span<const NodeIndex> order,
                                                       const NodeSet& allowed, std::vector<NodeIndex>* dead) {
  auto fewest = place(fitter, availability, limits, order, allowed, dead);
  const ResourceRequest& request = fitter.request();
  if (!fewest || request.is_fewest_nodes || request.max_nodes <= request.min_nodes) return fewest;
  std::uint32_t room = 0;
  for (const NodeIndex node : order) {
    if (room == limits.max) break;
    if (allowed.test(node) && candidate_at(fitter, node, availability.at(node))) ++room;
  }
  const auto& needs = fitter.demand().per_job;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (!fitter.may_lack(i)) room = std::min(room, needs[i].count);  // each node has one of them at least
  }
  // The widest nearly always fits; where it does not, a few steps less will.
  constexpr std::uint32_t kTryMax = 8;
  for (std::uint32_t tries = 0; tries < kTryMax && room > fewest->size(); ++tries, --room) {
    if (auto wide = place(fitter, availability, {room, room}, order, allowed)) return wide;
  }
  return fewest;
}

}  // namespace

std::optional<std::vector<NodeAmount>> place_widest(const Fitter& fitter,
                                                    const Availability& availability,
                                                    NodeLimits limits,
                                                    std::span<const NodeIndex> order,
                                                    const NodeSet& allowed,
                                                    std::vector<NodeIndex>* dead) {
  if (const auto& preferred = fitter.demand().preferred) {
    if (auto best = place_widest_on(fitter, availability, limits, order, allowed & *preferred, dead)) return best;
  }
  return place_widest_on(fitter, availability, limits, order, allowed, dead);
}

}  // namespace muster::sched
