// How a set of nodes is found. Without devices per job the fewest nodes follow from the sizes
// alone, exactly and in one pass. With them two measures must be reached at once, which is a
// knapsack: a bounded search for the exact answer, then a relaxation that also proves that there
// is none. Both end in grant(), which lays the job out and may still say no.

#include "sched/placement/select.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "base/check.h"

namespace muster::sched {
namespace {

using Candidates = std::vector<Candidate>;
using Grants = std::optional<std::vector<NodeAmount>>;

/// Deals `total` out in order: one each while there is enough, then as much as the first of `caps`
/// allows, then as the next does. Shape: each of `caps` has an entry per place, and the last is the
/// most that the place takes. Nullopt: they cannot take all of it.
std::optional<std::vector<std::uint32_t>> deal(std::uint32_t total,
                                               std::span<const std::vector<std::uint32_t>> caps) {
  std::vector<std::uint32_t> dealt;
  for (const std::uint32_t most : caps.back()) {
    // One each, so that no chosen node is left without.
    dealt.push_back(std::min({total, most, 1U}));
    total -= dealt.back();
  }
  for (const auto& cap : caps) {
    for (std::size_t i = 0; i < dealt.size(); ++i) {
      const std::uint32_t more = std::min(total, std::max(cap[i], dealt[i]) - dealt[i]);
      dealt[i] += more;
      total -= more;
    }
  }
  return total == 0 ? std::optional(std::move(dealt)) : std::nullopt;
}

/// Raises `tasks`, one each in turn and the earlier ones first, until they come to `total` or reach
/// `caps`. Cost: O(n log n) by the level that all stand at.
void raise_evenly(std::uint32_t total, const std::vector<std::uint32_t>& caps,
                  std::vector<std::uint32_t>& tasks) {
  std::uint64_t have = 0;
  for (const std::uint32_t count : tasks) have += count;
  const auto at_level = [&](std::uint32_t level) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < caps.size(); ++i)
      sum += std::max(tasks[i], std::min(caps[i], level));
    return sum;
  };
  std::uint32_t low = 0;  // at_level(low) <= total
  std::uint32_t high = caps.empty() ? 0 : *std::ranges::max_element(caps);
  if (have >= total) return;
  while (low < high) {
    const std::uint32_t middle =
        high - (high - low) / 2;  // above low, and no sum that could wrap around
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
  Selection(const Fitter& fitter, const Availability& availability, NodeLimits limits, Seeking& how)
      : fitter_(fitter),
        request_(fitter.request()),
        availability_(availability),
        limits_(limits),
        how_(how),
        steps_left_(how.effort == Effort::kQuick ? kQuickSteps : kSteps) {
    tasks_wanted_ = least_task_count(request_, limits);
    // Without required nodes or a run of neighbours any set of enough candidates will do.
    is_plain_ = !request_.is_contiguous && fitter.demand().required_count == 0;
    if (const ClusterInventory* whole = availability.whole())
      of_class_.resize(whole->classes.size());
  }

  Grants run(std::span<const NodeIndex> order, const NodeSet& allowed) {
    std::uint32_t weight = 0;
    for (const NodeIndex node : order) {
      if (!allowed.test(node)) continue;
      const std::uint32_t node_weight = fitter_.inventory().nodes[node.value()].weight;
      // Nodes of a lower weight are used first, and those of a higher only where these do not
      // suffice. Source: slurm.conf(5), Weight.
      if (node_weight != weight) {
        if (Grants grants = choose()) return grants;
        weight = node_weight;
      }
      const auto candidate = look_at(node);
      if (!candidate) {
        if (how_.dead != nullptr) how_.dead->push_back(node);
        continue;
      }
      add(*candidate);
      if (Grants grants = choose_early()) return grants;
    }
    return choose();
  }

 private:
  /// Of an empty cluster one node of each class is looked at.
  std::optional<Candidate> look_at(NodeIndex node) {
    const ClusterInventory* whole = availability_.whole();
    if (whole == nullptr) return candidate_at(fitter_, node, availability_.at(node));
    ClassLook& known = of_class_[whole->class_of[node.value()]];
    if (!known.is_done) known = {true, candidate_at(fitter_, node, availability_.at(node))};
    std::optional<Candidate> candidate = known.candidate;
    if (candidate) candidate->node = node;
    return candidate;
  }
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
  /// A single node that carries all is never beaten by a later one of the same weight: the order
  /// decides.
  Grants choose_early() {
    if (!is_plain_) return std::nullopt;
    if (limits_.min == 1 && covers(candidates_.back())) return grant({candidates_.back()});
    // Exactly the least number: no smaller set is allowed and no later candidate is better.
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
    // One of them has no room: the job waits for it.
    if (required.size() != fitter_.demand().required_count) return std::nullopt;
    return choose_fewest(required, others);
  }

  Grants choose_fewest(const Candidates& required, const Candidates& others) {
    if (required.size() > limits_.max) return std::nullopt;
    return fitter_.demand().per_job.empty() ? choose_for_tasks(required, others)
                                            : choose_for_devices(required, others);
  }

  Grants choose_for_tasks(const Candidates& required, const Candidates& others) {
    std::uint64_t wanted = tasks_wanted_;
    // Unsigned: the required nodes may carry more than all of it.
    for (const Candidate& candidate : required)
      wanted -= std::min<std::uint64_t>(wanted, candidate.tasks);
    std::vector<std::uint32_t> sizes;
    for (const Candidate& candidate : others) sizes.push_back(candidate.tasks);
    const std::size_t base = required.size();
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
      append_first(others, count - base, wanted, chosen);
      if (Grants grants = grant(std::move(chosen))) return grants;
    }
    return std::nullopt;
  }

  // ---- tasks and devices at once: the two may pull towards different nodes ----

  /// What is carried, or is still to be carried.
  struct Sums {
    std::uint64_t tasks = 0;
    std::array<std::uint64_t, kJobNeedMax> shares{};
    void add(const Candidate& candidate, std::uint64_t times = 1) {
      tasks += candidate.tasks * times;
      for (std::size_t i = 0; i < kJobNeedMax; ++i) shares[i] += candidate.shares[i] * times;
    }
    void remove(const Candidate& candidate) {
      tasks -= candidate.tasks;
      for (std::size_t i = 0; i < kJobNeedMax; ++i) shares[i] -= candidate.shares[i];
    }
  };
  bool covers(const Sums& sums) const { return covers(sums.tasks, sums.shares); }
  /// Nodes that carry the same, in their order.
  struct Group {
    Candidate like;
    std::vector<const Candidate*> members;
  };

  /// Few steps settle most: the fewest nodes, and of those the first set. Where they do not, sets
  /// are tried in which tasks and devices count in fixed proportions: nearly the fewest nodes, in a
  /// time that does not grow with the number of sets.
  Grants choose_for_devices(const Candidates& required, const Candidates& others) {
    // Of nodes of a lower weight alone another word may have been said: these are more.
    how_.is_undecided = false;
    Sums held;
    for (const Candidate& candidate : required) held.add(candidate);
    const std::size_t base = required.size();
    std::size_t most = std::min<std::size_t>(limits_.max, base + others.size());
    for (std::size_t i = 0; i < fitter_.demand().per_job.size(); ++i) {
      // Each node takes one of that need at least: more nodes than devices are no use.
      if (!fitter_.may_lack(i))
        most = std::min<std::size_t>(most, fitter_.demand().per_job[i].count);
    }
    // Steps are counted over all numbers of nodes: the bound is on the whole search.
    const int steps_before = steps_left_;
    how_.cost += 8 * candidates_.size();
    std::vector<Group> groups = grouped(others);
    const std::optional<std::size_t> each = fewest_by_each_measure(groups, held, base);
    // Not even one by one: no set can do.
    if (!each) return std::nullopt;
    const std::size_t least = std::max<std::size_t>({limits_.min, *each, 1U});
    Candidates chosen = required;
    kinds_ = kinds_of(others);
    Grants first;
    for (std::size_t count = least; count <= most && steps_left_ > 0 && !first; ++count)
      first = search(others, 0, count - base, held, chosen);
    how_.cost += static_cast<std::uint64_t>(steps_before - steps_left_);
    if (first || steps_left_ > 0 || least > most) return first;  // every set has been looked at
    how_.is_undecided = true;
    if (how_.effort == Effort::kQuick) return std::nullopt;
    how_.cost += 400 * groups.size() + 8 * others.size();
    if (Grants grants = choose_by_proportion(groups, required, held, least, most)) return grants;
    return how_.is_undecided ? choose_by_worth(groups, required, held, least, most) : std::nullopt;
  }

  std::vector<Group> grouped(const Candidates& others) const {
    std::map<std::pair<std::uint32_t, Shares>, std::size_t> places;
    std::vector<Group> groups;
    for (const Candidate& candidate : others) {
      const auto [place, is_new] =
          places.try_emplace({candidate.tasks, candidate.shares}, groups.size());
      if (is_new) groups.push_back({candidate, {}});
      groups[place->second].members.push_back(&candidate);
    }
    return groups;
  }

  /// The least number of nodes by which each measure alone is reached. Nullopt: all nodes together
  /// do not reach one.
  std::optional<std::size_t> fewest_by_each_measure(std::vector<Group>& groups, const Sums& held,
                                                    std::size_t base) const {
    const auto fewest = [&](std::uint64_t have, std::uint64_t wanted,
                            auto size_of) -> std::optional<std::size_t> {
      std::ranges::stable_sort(groups, std::greater<>(),
                               [&](const Group& group) { return size_of(group.like); });
      std::size_t count = base;
      for (const Group& group : groups) {
        if (have >= wanted) return count;
        const std::uint64_t size = size_of(group.like);
        if (size == 0) return std::nullopt;
        const std::uint64_t used =
            std::min<std::uint64_t>(group.members.size(), (wanted - have + size - 1) / size);
        have += used * size;
        count += used;
      }
      return have >= wanted ? std::optional(count) : std::nullopt;
    };
    auto most = fewest(held.tasks, tasks_wanted_, [](const Candidate& one) { return one.tasks; });
    const auto& needs = fitter_.demand().per_job;
    for (std::size_t i = 0; i < needs.size() && most; ++i) {
      const auto own = fewest(held.shares[i], needs[i].count,
                              [i](const Candidate& one) { return one.shares[i]; });
      most = own ? std::optional(std::max(*most, *own)) : std::nullopt;
    }
    return most;
  }

  /// A node's worth where tasks count `share` and the first kind of devices the rest; what is
  /// wanted has the worth 1.
  double worth_of(const Candidate& candidate, double share) const {
    return share * candidate.tasks / tasks_wanted_ +
           (1 - share) * candidate.shares[0] / std::max(1U, fitter_.demand().per_job[0].count);
  }
  void sort_by_worth(std::vector<Group>& groups, double share) const {
    std::ranges::sort(groups, [&](const Group& one, const Group& other) {
      const double a = worth_of(one.like, share);
      const double b = worth_of(other.like, share);
      // Members point into one vector: their addresses stand in the order of the nodes.
      return a != b ? a > b : one.members.front() < other.members.front();
    });
  }
  /// How many of the groups' nodes, in their order, are needed beside what is held. Nullopt: more
  /// than `most`.
  std::optional<std::size_t> shortest_prefix(const std::vector<Group>& groups, Sums sums,
                                             std::size_t most) const {
    std::size_t count = 0;
    for (const Group& group : groups) {
      for (std::size_t i = 0; i < group.members.size(); ++i, ++count) {
        if (covers(sums)) return count;
        if (count == most) return std::nullopt;
        sums.add(group.like);
      }
    }
    return covers(sums) ? std::optional(count) : std::nullopt;
  }
  static void append(const std::vector<Group>& groups, std::size_t count, Candidates& chosen) {
    for (const Group& group : groups) {
      for (const Candidate* member : group.members) {
        if (count-- == 0) return;
        chosen.push_back(*member);
      }
    }
  }
  /// The first `count` of the groups' nodes, or some more where those cannot be laid out after all.
  Grants grant_prefix(const std::vector<Group>& groups, const Candidates& required,
                      std::size_t count, std::size_t most) const {
    // 1, 3, 7 ... more: where the layout refuses one set, a somewhat larger one mostly fits.
    for (std::size_t more = 0; count + more <= most; more = more * 2 + 1) {
      Candidates chosen = required;
      append(groups, count + more, chosen);
      if (Grants grants = grant(std::move(chosen))) return grants;
    }
    return std::nullopt;
  }

  Grants choose_by_worth(std::vector<Group>& groups, const Candidates& required, const Sums& held,
                         std::size_t least, std::size_t most) const {
    // Equal first, then one measure above the other, then each alone.
    constexpr double kShares[] = {0.5, 0.8, 0.2, 1, 0};  // of tasks
    std::vector<std::pair<std::size_t, double>> tries;
    for (const double share : kShares) {
      sort_by_worth(groups, share);
      if (const auto count = shortest_prefix(groups, held, most - required.size())) {
        tries.emplace_back(std::max(*count, least - required.size()), share);
      }
    }
    std::ranges::stable_sort(tries, {}, &std::pair<std::size_t, double>::first);
    for (const auto& [count, share] : tries) {
      sort_by_worth(groups, share);
      if (Grants grants = grant_prefix(groups, required, count, most - required.size()))
        return grants;
    }
    return std::nullopt;
  }

  /// The proportion of tasks and devices in whose order the worthiest nodes reach both at once.
  /// Source: the linear relaxation of "fewest nodes", by its dual: with any share, as many nodes
  /// are needed as come to a worth of 1. That is also the proof that there is nothing.
  Grants choose_by_proportion(std::vector<Group>& groups, const Candidates& required,
                              const Sums& held, std::size_t least, std::size_t most) {
    // Forty halvings leave a share exact to 1e-12, far below one node's worth.
    constexpr int kHalvings = 40;
    // Sums of fractions miss 1 by some units of rounding.
    constexpr double kRounding = 1e-9;
    double low = 0;
    double high = 1;
    for (int i = 0; i < kHalvings; ++i) {
      const double share = (low + high) / 2;
      sort_by_worth(groups, share);
      Sums sums = held;
      std::size_t count = required.size();
      for (const Group& group : groups) {
        const double missing = 1 - kRounding - worth_of_sums(sums, share);
        const double each = worth_of(group.like, share);
        // Groups come in falling worth: behind one without worth there are only others.
        if (missing <= 0 || each <= 0) break;
        const auto used =
            std::min(static_cast<double>(group.members.size()), std::ceil(missing / each));
        sums.add(group.like, static_cast<std::uint64_t>(used));
        count += static_cast<std::size_t>(used);
      }
      if (worth_of_sums(sums, share) < 1 - kRounding || count > most) {
        how_.is_undecided = false;
        return std::nullopt;
      }
      least = std::max(least, count);
      // Both measures at once: no exchange is needed.
      if (covers(sums)) {
        low = high = share;
        break;
      }
      // Too few tasks: they must count for more.
      (sums.tasks < tasks_wanted_ ? low : high) = share;
    }
    for (std::size_t more = 0; least + more <= most; more = more * 2 + 1) {
      if (Grants grants =
              grant_mixture(groups, required, held, least + more - required.size(), low, high))
        return grants;
    }
    return std::nullopt;
  }
  double worth_of_sums(const Sums& sums, double share) const {
    return share * static_cast<double>(sums.tasks) / tasks_wanted_ +
           (1 - share) * static_cast<double>(sums.shares[0]) /
               std::max(1U, fitter_.demand().per_job[0].count);
  }

  /// Between the first `count` nodes by one share and those by another: nodes are exchanged one by
  /// one until both measures are reached.
  Grants grant_mixture(std::vector<Group>& groups, const Candidates& required, Sums sums,
                       std::size_t count, double from, double to) {
    // By the group's first member, which names it also after the groups were sorted anew.
    std::map<const Candidate*, std::int64_t>
        changes;  // by group: how many of its nodes come in, or below 0 go
    const auto count_first = [&](double share, std::int64_t sign) {
      sort_by_worth(groups, share);
      std::size_t left = count;
      for (const Group& group : groups) {
        const std::size_t used = std::min(left, group.members.size());
        changes[group.members.front()] += sign * static_cast<std::int64_t>(used);
        left -= used;
        if (sign < 0) sums.add(group.like, used);
      }
      return left == 0;
    };
    std::map<const Candidate*, std::int64_t> taken;
    // By one share taken, by the other given back: the difference is what is exchanged.
    if (!count_first(from, -1)) return std::nullopt;
    for (const auto& [group, change] : changes) taken[group] = -change;
    if (!count_first(to, 1)) return std::nullopt;
    auto out = changes.begin();
    auto in = changes.begin();
    while (!covers(sums)) {
      while (out != changes.end() && out->second >= 0) ++out;
      while (in != changes.end() && in->second <= 0) ++in;
      if (out == changes.end() || in == changes.end()) return std::nullopt;
      ++out->second, --taken[out->first];
      --in->second, ++taken[in->first];
      sums.remove(*out->first);
      sums.add(*in->first);
    }
    Candidates chosen = required;
    for (const Group& group : groups) {
      const auto size = static_cast<std::size_t>(taken[group.members.front()]);
      for (std::size_t i = 0; i < size; ++i) chosen.push_back(*group.members[i]);
    }
    return grant(std::move(chosen));
  }

  /// Of each of `others` a number that those share which are alike in all that a search asks of
  /// them: where one led nowhere so does the other.
  std::vector<std::uint32_t> kinds_of(const Candidates& others) const {
    using Key = std::tuple<std::uint32_t, Shares, std::uint32_t, std::int64_t, std::int64_t,
                           std::vector<std::int32_t>>;
    std::map<Key, std::uint32_t> known;
    std::vector<std::uint32_t> kinds;
    for (const Candidate& candidate : others) {
      // Free amounts too: equal counts of tasks may be laid out in different ways.
      const NodeFree free = availability_.at(candidate.node);
      Key key{candidate.tasks,
              candidate.shares,
              fitter_.inventory().class_of[candidate.node.value()],
              free.cpus,
              free.memory_mib,
              std::vector<std::int32_t>(free.gres, free.gres + fitter_.inventory().kinds.size())};
      kinds.push_back(known.try_emplace(std::move(key), static_cast<std::uint32_t>(known.size()))
                          .first->second);
    }
    return kinds;
  }

  /// Appends the first set (in order) of `count` others whose sizes reach `wanted`.
  /// Requires: the `count` largest reach it. A node is taken when the largest of the later ones can
  /// complete it.
  void append_first(const Candidates& others, std::size_t count, std::uint64_t wanted,
                    Candidates& chosen) const {
    // Largest first: how far the later nodes could reach is read off its beginning.
    std::map<std::uint32_t, std::size_t, std::greater<>> later;
    for (const Candidate& candidate : others) ++later[candidate.tasks];
    for (const Candidate& candidate : others) {
      if (count == 0) return;
      const std::uint32_t size = candidate.tasks;
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

  /// The first set of `count` more nodes from `first` on that carries both tasks and devices beside
  /// what is `held`: goes back where a start led nowhere, until no steps are left.
  Grants search(const Candidates& others, std::size_t first, std::size_t count, const Sums& held,
                Candidates& chosen) {
    if (count == 0) {
      steps_left_ -= static_cast<int>(chosen.size() / 8);  // laying out costs more than a step
      return covers(held) ? grant(chosen) : std::nullopt;
    }
    constexpr std::uint32_t kSkipsPerStep = 64;
    std::optional<std::uint32_t> failed;
    for (std::size_t i = first; i + count <= others.size(); ++i) {
      // The last one of this kind led nowhere from here, and this one is like it.
      const bool is_skipped = failed == kinds_[i];
      if (!is_skipped || ++skips_ % kSkipsPerStep == 0) --steps_left_;
      if (steps_left_ <= 0) return std::nullopt;
      if (is_skipped) continue;
      Sums sums = held;
      sums.add(others[i]);
      if (can_reach(others, i + 1, count - 1, sums)) {
        chosen.push_back(others[i]);
        if (Grants grants = search(others, i + 1, count - 1, sums, chosen)) return grants;
        chosen.pop_back();
      }
      failed = kinds_[i];
    }
    return std::nullopt;
  }
  /// A bound: as if each of the `count` nodes to come were as large as the largest of them.
  bool can_reach(const Candidates& others, std::size_t first, std::size_t count, Sums sums) {
    if (largest_after_.size() != others.size() + 1) fill_largest(others);
    sums.add(largest_after_[first], count);
    return covers(sums);
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
    // A run is of neighbours by index, whatever the order of preference. Source: sbatch(1),
    // --contiguous.
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
      // With devices the tasks depend on how these were dealt.
      tasks.push_back(fitter_.demand().per_job.empty()
                          ? candidate.tasks
                          : fitter_.task_capacity(candidate.node, availability_.at(candidate.node),
                                                  candidate.shares));
      // A node without a task is no part of the job.
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
  /// How many tasks each of the chosen nodes gets; false when `tasks`, the most that each can take,
  /// do not suffice. CPUs are set aside node by node, and each leaves one core for every later one;
  /// tasks then go round the nodes, as far as those CPUs reach, and from there on wherever there is
  /// room. Of whole nodes all CPUs are there at once. Source: Slurm's select/cons_tres
  /// (_cpus_to_use, then dist_tasks), compared with 22.05.8 on nodes of two threads per core.
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
    // One each before anything else: every node of a job runs a task.
    std::vector<std::uint32_t> dealt(count, 1);
    raise_evenly(total, slots, dealt);
    raise_evenly(total, tasks, dealt);
    tasks = std::move(dealt);
    return true;
  }
  /// Lowers `slots` to what the CPUs carry that a node may take before the later ones have had
  /// theirs.
  void leave_cores(const Candidates& chosen, std::uint32_t total,
                   std::vector<std::uint32_t>& slots) const {
    if (request_.cpus_per_gpu > 0) return;  // GPUs bring CPUs of their own to each node
    const std::int64_t each = std::max(1U, request_.cpus_per_task);
    std::int64_t left = std::int64_t{total} * each;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto later = static_cast<std::int64_t>(slots.size() - 1 - i);
      const std::int64_t core = fitter_.core_cpus(chosen[i].node);
      const std::int64_t wanted = std::max(
          {left - later * core, std::int64_t{request_.min_cpus_per_node}, std::int64_t{1}});
      const auto whole = [core](std::int64_t cpus) { return (cpus + core - 1) / core * core; };
      const std::int64_t given = std::min(whole(wanted), whole(slots[i] * each));
      slots[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(given / each, 1, slots[i]));
      left = std::max<std::int64_t>(left - given, 0);
    }
  }
  bool deal_shares(Candidates& chosen) const {
    const auto& needs = fitter_.demand().per_job;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      // Fewer devices than nodes, where each needs one.
      if (chosen.size() > needs[i].count && !fitter_.may_lack(i)) return false;
      std::vector<std::vector<std::uint32_t>> caps;
      // Tasks that are bound to GPUs want those first that each bring a full number of tasks, then
      // those that bring fewer.
      const std::uint32_t each = needs[i].is_gpu ? request_.tasks_per_gpu : 0;
      // Zero spare: GPUs with a full number of tasks; each - 1: the one that a rest of tasks
      // takes.
      for (const std::uint32_t spare :
           each == 0 ? std::vector<std::uint32_t>() : std::vector{0U, each - 1}) {
        caps.emplace_back();
        for (const Candidate& candidate : chosen)
          caps.back().push_back(std::min(candidate.shares[i], (candidate.tasks + spare) / each));
      }
      caps.emplace_back();
      for (const Candidate& candidate : chosen) caps.back().push_back(candidate.shares[i]);
      const auto dealt = deal(needs[i].count, caps);
      if (!dealt) return false;
      for (std::size_t n = 0; n < chosen.size(); ++n) chosen[n].shares[i] = (*dealt)[n];
    }
    return true;
  }

  static constexpr int kSteps = 4'000;
  static constexpr int kQuickSteps = 500;
  struct ClassLook {
    bool is_done = false;
    std::optional<Candidate> candidate;
  };

  const Fitter& fitter_;
  const ResourceRequest& request_;
  const Availability& availability_;
  NodeLimits limits_;
  bool is_plain_ = true;
  std::uint32_t tasks_wanted_ = 1;
  Seeking& how_;
  int steps_left_;                    ///< of search(), over all numbers of nodes
  std::vector<ClassLook> of_class_;   ///< of an empty cluster
  std::vector<std::uint32_t> kinds_;  ///< for search(): of the nodes that it chooses from
  std::uint32_t skips_ = 0;           ///< of search()
  Candidates largest_after_;          ///< for search(): at i, the largest values from i on
  Candidates candidates_;
  std::uint64_t tasks_ = 0;
  std::array<std::uint64_t, kJobNeedMax> shares_{};
};

}  // namespace

std::uint32_t least_task_count(const ResourceRequest& request, NodeLimits limits) {
  if (request.is_tasks_per_node_exact) {
    const std::uint64_t all = std::uint64_t{limits.min} * request.tasks_per_node;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(all, 1, UINT32_MAX));
  }
  return std::max({request.task_count, limits.min, 1U});
}

std::optional<Candidate> candidate_at(const Fitter& fitter, NodeIndex node, NodeFree free) {
  Candidate candidate{node, 0, {}};
  const auto& needs = fitter.demand().per_job;
  if (!needs.empty()) {
    candidate.shares = fitter.share_capacity(node, free);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      // The job would have no device here, and it may not.
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
                                             const NodeSet& allowed, Seeking* how) {
  CHECK(limits.min >= 1 && limits.min <= limits.max, "node limits {}..{}", limits.min, limits.max);
  Seeking own;
  return Selection(fitter, availability, limits, how != nullptr ? *how : own).run(order, allowed);
}

namespace {

std::optional<std::vector<NodeAmount>> place_widest_on(const Fitter& fitter,
                                                       const Availability& availability,
                                                       NodeLimits limits,
                                                       std::span<const NodeIndex> order,
                                                       const NodeSet& allowed, Seeking& how) {
  auto fewest = place(fitter, availability, limits, order, allowed, &how);
  const ResourceRequest& request = fitter.request();
  // One number of nodes, or a wish for the fewest: nothing to widen.
  if (!fewest || request.is_fewest_nodes || request.max_nodes <= request.min_nodes) return fewest;
  std::uint32_t room = 0;
  for (const NodeIndex node : order) {
    if (room == limits.max) break;
    if (allowed.test(node) && candidate_at(fitter, node, availability.at(node))) ++room;
  }
  const auto& needs = fitter.demand().per_job;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (!fitter.may_lack(i))
      room = std::min(room, needs[i].count);  // each node has one of them at least
  }
  // The widest nearly always fits; where it does not, a few steps less will.
  constexpr std::uint32_t kTryMax = 8;
  for (std::uint32_t tries = 0; tries < kTryMax && room > fewest->size(); ++tries, --room) {
    // Quick: the fewest are there already, so that a hard case is not worth a long search.
    Seeking quick{Effort::kQuick};
    auto wide = place(fitter, availability, {room, room}, order, allowed, &quick);
    how.cost += quick.cost;
    if (wide) return wide;
  }
  return fewest;
}

}  // namespace

std::optional<std::vector<NodeAmount>> place_widest(const Fitter& fitter,
                                                    const Availability& availability,
                                                    NodeLimits limits,
                                                    std::span<const NodeIndex> order,
                                                    const NodeSet& allowed, Seeking* how) {
  Seeking own;
  Seeking& seeking = how != nullptr ? *how : own;
  // A wish, not a condition: where the preferred nodes do not suffice, all are looked at.
  if (const auto& preferred = fitter.demand().preferred) {
    if (auto best =
            place_widest_on(fitter, availability, limits, order, allowed & *preferred, seeking))
      return best;
  }
  return place_widest_on(fitter, availability, limits, order, allowed, seeking);
}

}  // namespace muster::sched
