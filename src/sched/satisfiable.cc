// The answer comes from the same place() that plans, on an empty cluster: what is let in can be
// placed. Only where it says no are the single causes looked for, from the most specific (a name)
// to the least (the sum), since Slurm's text alone does not say what to change.

#include "sched/satisfiable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/saturating.h"
#include "sched/placement/fit.h"
#include "sched/placement/need.h"
#include "sched/placement/select.h"

namespace muster::sched {
namespace {

// Slurm's texts of slurm_strerror(): scripts look for them.
constexpr const char* kNotAvailable = "Requested node configuration is not available";
constexpr const char* kNodeCount = "Node count specification invalid";
constexpr const char* kTimeLimit =
    "Requested time limit is invalid (missing or exceeds some limit)";
constexpr const char* kBadNodeName = "Invalid node name specified";
constexpr const char* kBadGres = "Invalid generic resource (gres) specification";
constexpr const char* kBadFeature = "Invalid feature specification";

/// One request against one partition of an empty cluster.
class Question {
 public:
  Question(const ClusterInventory& inventory, const ResourceRequest& request,
           PartitionIndex partition)
      : inventory_(inventory),
        partition_(inventory.config.partitions[partition.value()]),
        members_(inventory.partition_nodes[partition.value()]),
        demand_(Demand::compile(std::make_shared<const ResourceRequest>(request), inventory)),
        rule_(node_rule(inventory, request, partition)),
        fitter_(inventory, demand_, rule_) {}

  bool fits(NodeLimits limits) const {
    if (demand_.has_unknown_name) return false;
    // By weight alone: whether there is a place does not depend on which node comes first.
    Seeking how{Effort::kVerdict};
    // A search that was broken off is no refusal: the planner will say.
    return place(fitter_, WholeCluster(inventory_), limits, inventory_.by_weight,
                 demand_.feasible_nodes & members_, &how)
               .has_value() ||
           how.is_undecided;
  }

  Satisfiability explain(NodeLimits limits) const {
    if (auto answer = explain_names()) return *answer;
    if (auto answer = explain_nodes(limits)) return *answer;
    if (auto answer = explain_one_task()) return *answer;
    return refuse(kNotAvailable, explain_total(limits));
  }

 private:
  static Satisfiability refuse(const char* message, std::string detail) {
    return {PendingReason::kBadConstraints, message, std::move(detail)};
  }
  const ResourceRequest& request() const { return *demand_.request; }

  std::optional<Satisfiability> explain_names() const {
    for (const auto* amounts :
         {&request().gres_per_node, &request().gres_per_task, &request().gres_per_job}) {
      for (const GresAmount& amount : *amounts) {
        if (amount.count == 0 || !inventory_.matching_kinds(amount.name, amount.type).empty())
          continue;
        return refuse(kBadGres, fmt::format("gres {}: no node has any", gres_text(amount)));
      }
    }
    for (const std::string& name : request().required_nodes) {
      if (std::ranges::find(inventory_.config.nodes, name, &NodeConfig::name) ==
          inventory_.config.nodes.end()) {
        return refuse(kBadNodeName, fmt::format("nodelist: there is no node {}", name));
      }
    }
    // All names are known here: there were more needs than shares have room for.
    if (demand_.per_job.size() >= kJobNeedMax && demand_.has_unknown_name) {
      return refuse(kBadGres,
                    fmt::format("gres: at most {} kinds can be asked for per job", kJobNeedMax));
    }
    return std::nullopt;
  }

  static std::string gres_text(const GresAmount& amount) {
    return amount.type.empty() ? fmt::format("{}:{}", amount.name, amount.count)
                               : fmt::format("{}:{}:{}", amount.name, amount.type, amount.count);
  }

  std::optional<Satisfiability> explain_nodes(NodeLimits limits) const {
    for (const std::string& name : request().required_nodes) {
      const auto found = std::ranges::find(inventory_.config.nodes, name, &NodeConfig::name);
      const NodeIndex node(static_cast<std::uint32_t>(found - inventory_.config.nodes.begin()));
      if (!members_.test(node)) {
        return refuse(kNotAvailable, fmt::format("nodelist: node {} is not in partition {}", name,
                                                 partition_.name));
      }
      if (!demand_.feasible_nodes.test(node)) {
        return refuse(kNotAvailable, fmt::format("nodelist: features, sockets, cores, threads, tmp "
                                                 "and excluded nodes leave out node {}",
                                                 name));
      }
    }
    const std::uint32_t count = members_.count();
    if (limits.min > count) {
      return refuse(kNotAvailable, fmt::format("nodes: {} asked for, partition {} has {}",
                                               limits.min, partition_.name, count));
    }
    const std::uint32_t matching = (demand_.feasible_nodes & members_).count();
    if (matching >= limits.min) return std::nullopt;
    // Where features were asked for, Slurm's text for those.
    return refuse(request().features.alternatives.empty() ? kNotAvailable : kBadFeature,
                  fmt::format("features, sockets, cores, threads, tmp and excluded nodes leave {} "
                              "of {} nodes, {} needed",
                              matching, count, limits.min));
  }

  template <class Get>
  std::uint64_t best(Get get) const {
    std::uint64_t result = 0;
    // Over nodes that match: a large node of another kind does not help.
    (demand_.feasible_nodes & members_).for_each([&](NodeIndex node) {
      result = std::max<std::uint64_t>(result, get(node));
    });
    return result;
  }

  /// The first resource of which no node has enough for one task.
  std::optional<Satisfiability> explain_one_task() const {
    const auto say = [](const char* field, std::uint64_t wanted, std::uint64_t found) {
      return refuse(kNotAvailable,
                    fmt::format("{}: {} asked for, the best node has {}", field, wanted, found));
    };
    const std::uint64_t cpus = std::max<std::uint64_t>(
        {request().is_overcommit ? 1U : request().cpus_per_task, request().min_cpus_per_node});
    const std::uint64_t cpu_best = best([&](NodeIndex node) {
      const std::uint32_t own = inventory_.nodes[node.value()].cpus;
      // MaxCPUsPerNode counts as the size of each node there.
      return partition_.max_cpus_per_node == 0 ? own : std::min(own, partition_.max_cpus_per_node);
    });
    if (cpus > cpu_best) return say("cpus", cpus, cpu_best);
    const std::uint64_t memory_best =
        best([&](NodeIndex node) { return inventory_.nodes[node.value()].memory_mib; });
    const std::uint64_t memory =
        request().memory_scope == MemoryScope::kPerCpu
            ? saturating_product(request().memory_mib, std::max<std::uint64_t>(cpus, 1))
            : request().memory_mib;
    if (memory > memory_best) {
      auto refusal = say("memory (MiB)", memory, memory_best);
      refusal.is_memory = true;
      return refusal;
    }
    for (const auto* amounts : {&request().gres_per_node, &request().gres_per_task}) {
      for (const GresAmount& amount : *amounts) {
        const std::uint64_t found = best([&](NodeIndex node) { return gres_on(node, amount); });
        if (amount.count > found)
          return say(fmt::format("gres {}", gres_text(amount)).c_str(), amount.count, found);
      }
    }
    return std::nullopt;
  }
  std::uint64_t gres_on(NodeIndex node, const GresAmount& amount) const {
    std::uint64_t total = 0;
    for (const GresKindId kind : inventory_.matching_kinds(amount.name, amount.type)) {
      total += static_cast<std::uint64_t>(inventory_.total.at(node).gres[kind.value()]);
    }
    return total;
  }

  /// What as many of the best nodes as the job may have hold together.
  std::string explain_total(NodeLimits limits) const {
    std::vector<std::uint64_t> tasks;
    std::array<std::vector<std::uint64_t>, kJobNeedMax> devices;
    (demand_.feasible_nodes & members_).for_each([&](NodeIndex node) {
      const auto candidate = candidate_at(fitter_, node, inventory_.total.at(node));
      if (!candidate) return;
      tasks.push_back(candidate->tasks);
      for (std::size_t i = 0; i < demand_.per_job.size(); ++i)
        devices[i].push_back(candidate->shares[i]);
    });
    if (tasks.empty()) return explain_none(limits);
    if (tasks.size() < limits.min)
      return fmt::format("nodes: {} asked for, {} can carry their part of the job", limits.min,
                         tasks.size());
    if (const auto node = useless_name())
      return fmt::format("nodelist: node {} cannot carry its part of the job", *node);
    const std::string on = bound_text(limits);
    for (std::size_t i = 0; i < demand_.per_job.size(); ++i) {
      const std::uint64_t most = most_on(std::move(devices[i]), limits.max);
      if (most >= demand_.per_job[i].count) continue;
      return fmt::format(
          "gres: {} asked for{}, there is room for {}{}", demand_.per_job[i].count, on, most,
          request().cpus_per_gpu != 0 || request().memory_scope == MemoryScope::kPerGpu
              ? " with the CPUs and memory asked for beside each"
              : "");
    }
    const std::uint64_t with_gpus = saturating_product(request().tasks_per_gpu, gpu_count());
    if (with_gpus != 0 && with_gpus < request().task_count)
      return fmt::format("tasks: {} asked for, {} for each of {} GPUs are {}", request().task_count,
                         request().tasks_per_gpu, gpu_count(), with_gpus);
    const std::uint64_t most = most_on(std::move(tasks), limits.max);
    if (most < request().task_count)
      return fmt::format("tasks: {} asked for{}, there is room for {}", request().task_count, on,
                         most);
    // Each is there, and no choice of nodes has all of it.
    return fmt::format(
        "there is room{} for each thing that is asked for, and not for all of them together", on);
  }
  /// GPUs over the whole job; 0: as many as it gets.
  std::uint64_t gpu_count() const {
    std::uint64_t count = 0;
    for (const GresNeed& need : demand_.per_job) count += need.is_gpu ? need.count : 0;
    return count;
  }
  /// The first node asked for by name that takes no task.
  std::optional<std::string> useless_name() const {
    std::optional<std::string> name;
    demand_.required.for_each([&](NodeIndex node) {
      if (!name && !candidate_at(fitter_, node, inventory_.total.at(node)))
        name = inventory_.config.nodes[node.value()].name;
    });
    return name;
  }
  static std::uint64_t most_on(std::vector<std::uint64_t> amounts, std::uint32_t nodes_max) {
    std::ranges::sort(amounts, std::greater());
    amounts.resize(std::min<std::size_t>(amounts.size(), nodes_max));
    return std::accumulate(amounts.begin(), amounts.end(), std::uint64_t{0});
  }

  /// No node is of any use: because it cannot carry as many tasks as each would have to, or none.
  std::string explain_none(NodeLimits limits) const {
    ResourceRequest loose = request();
    loose.min_nodes = 1;
    loose.max_nodes = 0;
    loose.is_tasks_per_node_exact = false;
    const Demand demand =
        Demand::compile(std::make_shared<const ResourceRequest>(loose), inventory_);
    const Fitter fitter(inventory_, demand, rule_);
    const std::uint64_t most = best([&](NodeIndex node) {
      const auto candidate = candidate_at(fitter, node, inventory_.total.at(node));
      return candidate ? candidate->tasks : 0U;
    });
    if (most == 0) return "no node has all at once that a task of the job needs";
    if (most == request().tasks_per_node)
      return fmt::format("tasks: {} asked for{}, at most {} may be on each", request().task_count,
                         bound_text(limits), most);
    return fmt::format("tasks: {} asked for{}, the best node holds {}", request().task_count,
                       bound_text(limits), most);
  }

  static std::string bound_text(NodeLimits limits) {
    if (limits.max == UINT32_MAX) return "";
    return fmt::format(" on at most {} node{}", limits.max, limits.max == 1 ? "" : "s");
  }

  const ClusterInventory& inventory_;
  const PartitionConfig& partition_;
  const NodeSet& members_;
  Demand demand_;
  NodeRule rule_;
  Fitter fitter_;
};

/// Of a job without a time limit.
Satisfiability check_nodes(const ClusterInventory& inventory, const ResourceRequest& request,
                           PartitionIndex partition) {
  const PartitionConfig& config = inventory.config.partitions[partition.value()];
  const Question question(inventory, request, partition);
  const LimitsAnswer answer = node_limits(request, config);
  // What no node will ever do is said first: a limit can be raised, a node that is missing not.
  const NodeLimits own{
      std::max(request.min_nodes, 1U),
      std::max({request.max_nodes == 0 ? UINT32_MAX : request.max_nodes, request.min_nodes, 1U})};
  const NodeLimits limits = answer.refusal == PendingReason::kNone ? answer.limits : own;
  if (!question.fits(limits)) return question.explain(limits);
  if (answer.refusal != PendingReason::kNone) {
    return {answer.refusal, kNodeCount,
            fmt::format("nodes: {}..{} asked for, partition {} allows {}..{}", request.min_nodes,
                        request.max_nodes, config.name, config.min_nodes, config.max_nodes)};
  }
  return {};
}

Satisfiability check_time(const PartitionConfig& config, Duration time_limit) {
  if (time_limit <= config.max_time) return {};
  return {PendingReason::kPartitionTimeLimit, kTimeLimit,
          fmt::format("time limit: {} s asked for, partition {} allows {} s", time_limit.seconds(),
                      config.name, config.max_time.seconds())};
}

/// One, and one for each name in its lists, or more where the name is long.
std::size_t held_by(const ResourceRequest& request) {
  constexpr std::size_t kBytesOfOne = 64;
  const auto held_by_name = [](const std::string& name) { return 1 + name.size() / kBytesOfOne; };
  std::size_t count = 1;
  for (const auto* names : {&request.required_nodes, &request.excluded_nodes}) {
    for (const std::string& name : *names) count += held_by_name(name);
  }
  for (const auto* amounts :
       {&request.gres_per_node, &request.gres_per_job, &request.gres_per_task}) {
    for (const GresAmount& amount : *amounts)
      count += held_by_name(amount.name) + held_by_name(amount.type);
  }
  for (const auto* constraint : {&request.features, &request.preferred}) {
    for (const auto& alternative : constraint->alternatives) {
      ++count;
      for (const auto& feature : alternative) count += held_by_name(feature);
    }
  }
  return count;
}

}  // namespace

Satisfiability check_satisfiable(const ClusterInventory& inventory, const ResourceRequest& request,
                                 PartitionIndex partition, Duration time_limit) {
  CHECK(partition.value() < inventory.config.partitions.size(), "partition {}", partition.value());
  Satisfiability answer = check_nodes(inventory, request, partition);
  if (!answer.is_satisfiable()) return answer;
  return check_time(inventory.config.partitions[partition.value()], time_limit);
}

void SatisfiabilityMemo::forget() {
  known_.clear();
  held_ = 0;
}

const Satisfiability& SatisfiabilityMemo::find_or_ask(const ClusterInventory& inventory,
                                                      const ResourceRequest& request,
                                                      PartitionIndex partition) {
  const std::uint64_t hash = table_hash(request);
  for (auto [entry, end] = known_.equal_range(hash); entry != end; ++entry) {
    if (entry->second.partition == partition && entry->second.request == request)
      return entry->second.answer;
  }
  // Few sites ask so many different things; those ask anew now and then.
  const std::size_t more = held_by(request);
  if (held_ + more > kHeldMax) forget();
  held_ += more;
  return known_
      .emplace(hash, Entry{request, partition, check_nodes(inventory, request, partition)})
      ->second.answer;
}

Satisfiability SatisfiabilityMemo::check(const ClusterInventory& inventory,
                                         std::uint64_t config_revision,
                                         const ResourceRequest& request, PartitionIndex partition,
                                         Duration time_limit) {
  CHECK(partition.value() < inventory.config.partitions.size(), "partition {}", partition.value());
  if (config_revision != config_revision_) forget();
  config_revision_ = config_revision;
  const Satisfiability& answer = find_or_ask(inventory, request, partition);
  if (!answer.is_satisfiable()) return answer;
  return check_time(inventory.config.partitions[partition.value()], time_limit);
}

}  // namespace muster::sched
