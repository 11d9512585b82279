// --gpus, --gpus-per-node and --gpus-per-task may all be given: what they say together is worked
// out here, once and for all, so that the planner sees one of each. Contradictions are refused
// with Slurm's text.

#include "slurm/gres_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/saturating.h"
#include "slurm/gres_text.h"

namespace muster {
namespace {

using Amounts = std::vector<GresAmount>;

Error contradiction(std::string detail) {
  return Error{ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
               std::move(detail)};
}

/// They name devices that may be the same.
bool is_same_kind(const GresAmount& one, const GresAmount& other) {
  return one.name == other.name &&
         (one.type == other.type || one.type.empty() || other.type.empty());
}

std::uint64_t count_like(const Amounts& amounts, const GresAmount& like) {
  std::uint64_t count = 0;
  for (const GresAmount& amount : amounts) count += is_same_kind(amount, like) ? amount.count : 0;
  return count;
}

/// An amount without a type takes the type that the others of its name agree on.
void agree_on_types(ResourceRequest& need) {
  const std::initializer_list<Amounts*> all = {&need.gres_per_node, &need.gres_per_job,
                                               &need.gres_per_task};
  const auto only_type = [&](const std::string& name) -> std::string {
    std::string type;
    for (const Amounts* amounts : all) {
      for (const GresAmount& amount : *amounts) {
        if (amount.name != name || amount.type.empty()) continue;
        if (!type.empty() && type != amount.type) return "";
        type = amount.type;
      }
    }
    return type;
  };
  for (Amounts* amounts : all) {
    for (GresAmount& amount : *amounts) {
      // Only where nothing of another type of that name is asked for.
      if (amount.type.empty() && count_like(*amounts, amount) == amount.count)
        amount.type = only_type(amount.name);
    }
  }
}

/// --gpus with --gpus-per-node: so many nodes.
Status derive_job_by_nodes(ResourceRequest& need) {
  for (const GresAmount& amount : std::vector(need.gres_per_job)) {
    const std::uint64_t per_node = count_like(need.gres_per_node, amount);
    if (per_node == 0) continue;
    const auto nodes = static_cast<std::uint32_t>(amount.count / per_node);
    const bool is_too_many = need.max_nodes != 0 && nodes > need.max_nodes;
    if (amount.count % per_node != 0 || nodes < need.min_nodes || is_too_many) {
      return fail(contradiction(
          fmt::format("{} in all and {} per node do not go with {} nodes", gres_text({amount}),
                      per_node, std::max(need.min_nodes, is_too_many ? need.max_nodes : 0))));
    }
    need.min_nodes = need.max_nodes = nodes;
    // A task on each node: more nodes than tasks make as many tasks.
    need.task_count = std::max(need.task_count, nodes);
    std::erase(need.gres_per_job, amount);
  }
  return {};
}

/// --gpus with --gpus-per-task: the tasks have them all.
Status derive_job_by_tasks(ResourceRequest& need) {
  for (const GresAmount& amount : std::vector(need.gres_per_job)) {
    const std::uint64_t per_task = count_like(need.gres_per_task, amount);
    if (per_task == 0) continue;
    if (saturating_product(per_task, std::uint64_t{need.task_count}) != amount.count) {
      return fail(contradiction(fmt::format("{} in all and {} per task do not go with {} tasks",
                                            gres_text({amount}), per_task, need.task_count)));
    }
    std::erase(need.gres_per_job, amount);
  }
  return {};
}

/// --gres with --gpus-per-task: a node has devices for so many tasks.
Status derive_tasks_by_nodes(ResourceRequest& need) {
  for (const GresAmount& amount : std::vector(need.gres_per_task)) {
    const std::uint64_t per_node = count_like(need.gres_per_node, amount);
    if (per_node == 0 || amount.count == 0) continue;
    // Cut off, as no node has so many.
    const auto tasks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(per_node / amount.count, UINT32_MAX));
    if (tasks == 0 || (need.tasks_per_node > tasks && need.task_count > tasks)) {
      return fail(contradiction(fmt::format("{} per node are enough for {} tasks of {}, not for {}",
                                            per_node, tasks, gres_text({amount}),
                                            std::max(need.tasks_per_node, 1U))));
    }
    need.tasks_per_node = need.tasks_per_node == 0 ? tasks : std::min(need.tasks_per_node, tasks);
    std::erase(need.gres_per_task, amount);
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> implied_node_count(const Amounts& per_job, const Amounts& per_node) {
  for (const GresAmount& amount : per_job) {
    // The first amount that both name decides: it is the number that a node must have.
    const std::uint64_t count = count_like(per_node, amount);
    if (count != 0 && amount.count != 0 && amount.count % count == 0)
      return static_cast<std::uint32_t>(amount.count / count);
  }
  return std::nullopt;
}

Status combine_gres(ResourceRequest& need) {
  // One of the three alone needs no arithmetic.
  const int given =
      !need.gres_per_node.empty() + !need.gres_per_job.empty() + !need.gres_per_task.empty();
  if (given < 2) return {};
  agree_on_types(need);
  TRY(derive_job_by_nodes(need));
  // In this order: nodes first, since tasks may follow from them.
  TRY(derive_job_by_tasks(need));
  return derive_tasks_by_nodes(need);
}

}  // namespace muster
