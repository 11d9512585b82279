// Steps inside an allocation: which nodes, how many tasks on each, which CPUs and devices.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "access/job_access.h"
#include "admission/job_check.h"
#include "base/saturating.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/rank_layout.h"
#include "workload/requests/job_requests.h"

namespace muster::requests {
namespace {

/// What one node of the job has that no other step holds.
struct NodeRoom {
  const NodeGrant* grant = nullptr;
  Bitmap free_cpus;
  std::map<std::string, Bitmap> free_gres;
  const JobSpec* job = nullptr;
  const NodeConfig* config = nullptr;
  /// Of `cpus` CPUs of the node, those that tasks of the job may use.
  std::uint32_t usable(const Bitmap& cpus) const {
    return usable_cpus(*job, cpus.count(), *config);
  }
};

std::vector<NodeRoom> rooms_of(const ClusterState& state, const Job& job, bool is_overlap) {
  std::vector<NodeRoom> rooms;
  for (const NodeGrant& grant : job.run->allocation->nodes) {
    NodeRoom room{&grant, grant.cpus, {}, job.spec.get(), &state.nodes().at(grant.node).config};
    for (const GresGrant& gres : grant.gres) room.free_gres[gres.name] |= gres.devices;
    rooms.push_back(std::move(room));
  }
  if (is_overlap) return rooms;
  for (const StepState& step : job.run->steps) {
    // The batch script and interactive steps hold nothing: the job's other steps run beside them.
    // srun(1): --overlap shares with all steps, an interactive step (salloc's shell) holds nothing.
    const bool is_sharing =
        step.spec == nullptr || step.spec->is_overlap || step.spec->is_interactive;
    if (!step.is_running() || is_sharing) continue;
    for (const NodeGrant& used : step.layout->nodes) {
      const auto room = std::ranges::find_if(
          rooms, [&](const NodeRoom& r) { return r.grant->node == used.node; });
      if (room == rooms.end()) continue;
      room->free_cpus -= used.cpus;
      for (const GresGrant& gres : used.gres) room->free_gres[gres.name] -= gres.devices;
    }
  }
  return rooms;
}

Result<std::vector<std::string>> names_in(std::string_view text) {
  if (text.empty()) return std::vector<std::string>{};
  return expand_hostlist(text);
}

/// The nodes that the step may use: -w first and all of them, then the others in the job's order.
Result<std::vector<NodeRoom>> candidate_rooms(const ClusterState& state, const Job& job,
                                              const StepSpec& spec, bool is_sharing,
                                              std::size_t& required_count) {
  std::vector<NodeRoom> rooms = rooms_of(state, job, is_sharing);
  if (spec.relative_node != UINT32_MAX) {
    if (spec.relative_node >= rooms.size()) {
      return fail(
          ErrorCode::kInvalidArgument, "Node count specification invalid",
          fmt::format("--relative={} but the job has {} nodes", spec.relative_node, rooms.size()));
    }
    // Before -w and -x: --relative counts the nodes of the allocation.
    rooms.erase(rooms.begin(), rooms.begin() + spec.relative_node);
  }
  const auto name_of = [&](const NodeRoom& room) -> const std::string& {
    return state.nodes().at(room.grant->node).config.name;
  };
  const auto excluded_names = TRY(names_in(spec.get(StepText::kExcludeList)));
  // Sets, as the job may have thousands of nodes.
  using NameSet = std::unordered_set<std::string_view>;
  const NameSet excluded(excluded_names.begin(), excluded_names.end());
  std::erase_if(rooms, [&](const NodeRoom& room) { return excluded.contains(name_of(room)); });
  const auto required_names = TRY(names_in(spec.get(StepText::kNodeList)));
  const NameSet required(required_names.begin(), required_names.end());
  NameSet present;
  for (const NodeRoom& room : rooms) present.insert(name_of(room));
  for (const std::string& name : required_names) {
    // A node of -w outside the job is an error that waiting would not mend.
    if (!present.contains(name)) {
      return fail(ErrorCode::kInvalidArgument, "Requested node configuration is not available",
                  fmt::format("node {} is not part of job {}", name, job.id.value()));
    }
  }
  const auto is_required = [&](const NodeRoom& room) { return required.contains(name_of(room)); };
  required_count = static_cast<std::size_t>(std::ranges::count_if(rooms, is_required));
  // Stable: within each half the order of the job's nodes stays.
  std::stable_partition(rooms.begin(), rooms.end(), is_required);
  return rooms;
}

struct Sizes {
  std::uint32_t cpus_per_task;
  std::uint32_t tasks;
  std::uint32_t node_count;
};

/// `task_max`: MaxTasksPerNode.
std::uint32_t capacity(std::size_t cpus, const StepSpec& spec, std::uint32_t cpus_per_task,
                       std::uint32_t task_max) {
  // --overcommit: CPUs set no bound on tasks.
  std::uint32_t tasks = spec.is_overcommit
                            ? UINT32_MAX
                            : static_cast<std::uint32_t>(cpus) / std::max(1U, cpus_per_task);
  tasks = std::min(tasks, task_max);
  if (spec.tasks_per_node != 0) tasks = std::min(tasks, spec.tasks_per_node);
  return tasks;
}

Error busy() { return Error{ErrorCode::kUnavailable, "Requested nodes are busy", ""}; }
Error too_large(std::string detail) {
  return Error{ErrorCode::kInvalidArgument, "Requested node configuration is not available",
               std::move(detail)};
}

/// Numbers of tasks per node: one each in turn until all have a place, so that nodes share evenly.
std::vector<std::uint32_t> spread(std::uint32_t tasks,
                                  const std::vector<std::uint32_t>& capacities) {
  std::vector<std::uint32_t> counts(capacities.size(), 0);
  bool has_room = true;
  while (tasks > 0 && has_room) {
    has_room = false;
    for (std::size_t i = 0; i < counts.size() && tasks > 0; ++i) {
      if (counts[i] == capacities[i]) continue;
      ++counts[i];
      --tasks;
      has_room = true;
    }
  }
  // All or nothing: a step does not start with fewer tasks than it was to have.
  return tasks == 0 ? counts : std::vector<std::uint32_t>{};
}

/// How many of the candidate nodes the step takes. Requires: rooms not empty.
Result<std::uint32_t> node_count_for(const StepSpec& spec, std::size_t available,
                                     std::size_t required) {
  auto count = static_cast<std::uint32_t>(available);
  if (spec.max_nodes != 0) count = std::min(count, spec.max_nodes);
  if (spec.min_nodes > count) {
    return fail(too_large(
        fmt::format("the step asks for {} nodes and the job can offer {}", spec.min_nodes, count)));
  }
  // -N with one number is exact, a range takes as many as there are. Source: srun(1), --nodes.
  if (spec.min_nodes != 0 && spec.max_nodes == 0) count = spec.min_nodes;
  if (required > 0 && spec.min_nodes == 0) count = static_cast<std::uint32_t>(required);
  // One node takes at least one task.
  if (!spec.is_interactive)
    count = std::min(count, std::max(spec.task_count, std::max(1U, spec.min_nodes)));
  return count;
}

Result<std::vector<GresAmount>> amounts_in(std::string_view text) {
  if (text.empty()) return std::vector<GresAmount>{};
  return parse_gres(text);
}

bool is_of(const GresGrant& gres, const GresAmount& amount) {
  return gres.name == amount.name && (amount.type.empty() || gres.type == amount.type);
}

std::uint32_t free_devices(const NodeRoom& room, const GresAmount& amount) {
  std::size_t count = 0;
  for (const GresGrant& gres : room.grant->gres) {
    if (!is_of(gres, amount)) continue;
    // Of the devices with this name and type those that no other step holds.
    Bitmap devices = gres.devices;
    devices &= room.free_gres.at(gres.name);
    count += devices.count();
  }
  return static_cast<std::uint32_t>(count);
}

/// What each of the first `node_count` rooms gives of an amount that the step asked for as a whole.
Result<std::vector<std::vector<GresAmount>>> shares_of_step(const StepSpec& spec,
                                                            const std::vector<NodeRoom>& rooms,
                                                            std::size_t node_count) {
  std::vector<std::vector<GresAmount>> shares(node_count);
  for (const GresAmount& amount : TRY(amounts_in(spec.get(StepText::kGresPerStep)))) {
    std::vector<std::uint32_t> capacities;
    for (std::size_t i = 0; i < node_count; ++i)
      capacities.push_back(free_devices(rooms[i], amount));
    // --gpus of a step is for all its nodes: shared out in turn, as tasks are.
    const auto counts = spread(amount.count, capacities);
    if (counts.empty()) return fail(busy());
    for (std::size_t i = 0; i < node_count; ++i) {
      if (counts[i] != 0) shares[i].push_back({amount.name, amount.type, counts[i]});
    }
  }
  return shares;
}

/// Several options that name the same devices all hold: the largest amount counts.
void at_least(std::vector<GresAmount>& amounts, const GresAmount& wanted) {
  for (GresAmount& amount : amounts) {
    if (amount.name != wanted.name || amount.type != wanted.type) continue;
    amount.count = std::max(amount.count, wanted.count);
    return;
  }
  amounts.push_back(wanted);
}

/// `amounts`: this node's share of what the step asked for as a whole.
Result<std::vector<GresGrant>> step_gres(const StepSpec& spec, const NodeRoom& room,
                                         std::uint32_t task_count,
                                         std::vector<GresAmount> amounts) {
  std::vector<GresAmount> per_node = std::move(amounts);
  for (const GresAmount& amount : TRY(amounts_in(spec.get(StepText::kGresPerNode))))
    at_least(per_node, amount);
  for (GresAmount amount : TRY(amounts_in(spec.get(StepText::kGresPerTask)))) {
    amount.count *= task_count;
    at_least(per_node, amount);
  }
  // This node's share of the whole amount is none. Without any option all the job's free devices go
  // to the step, which must not happen here.
  if (per_node.empty() && !spec.get(StepText::kGresPerStep).empty())
    return std::vector<GresGrant>{};
  std::vector<GresGrant> grants;
  if (per_node.empty()) {
    for (const GresGrant& gres : room.grant->gres) {
      const auto free = room.free_gres.find(gres.name);
      GresGrant part = gres;
      part.devices &= free->second;
      if (!part.devices.empty()) grants.push_back(std::move(part));
    }
    return grants;
  }
  // Several amounts may name one kind of device: what one has chosen is taken from the next.
  auto free = room.free_gres;
  for (const GresAmount& amount : per_node) {
    std::uint32_t missing = amount.count;
    for (const GresGrant& gres : room.grant->gres) {
      if (!is_of(gres, amount) || missing == 0) continue;
      GresGrant part = gres;
      part.devices &= free.at(gres.name);
      part.devices = part.devices.lowest(missing);
      free.at(gres.name) -= part.devices;
      missing -= static_cast<std::uint32_t>(part.devices.count());
      if (!part.devices.empty()) grants.push_back(std::move(part));
    }
    if (missing > 0) return fail(busy());
  }
  return grants;
}

/// How many tasks of the step a room has CPUs and devices for. `task_max`: MaxTasksPerNode.
std::uint32_t room_for(const StepSpec& spec, const NodeRoom& room, std::uint32_t cpus_per_task,
                       std::uint32_t task_max) {
  // Devices for each task bound the tasks of a node like CPUs do.
  std::uint32_t tasks = capacity(room.usable(room.free_cpus), spec, cpus_per_task, task_max);
  for (const GresAmount& amount :
       amounts_in(spec.get(StepText::kGresPerTask)).value_or(std::vector<GresAmount>())) {
    if (amount.count != 0) tasks = std::min(tasks, free_devices(room, amount) / amount.count);
  }
  return tasks;
}

/// Tasks per node on as few of the rooms as the step may have. Empty: there is no room now.
std::vector<std::uint32_t> task_counts(const StepSpec& spec, const std::vector<NodeRoom>& rooms,
                                       std::uint32_t wanted, std::uint32_t task_max) {
  const std::uint32_t cpus_per_task = std::max(1U, spec.cpus_per_task);
  std::vector<std::uint32_t> counts;
  // One node more at a time, as long as srun's -N leaves that open.
  for (std::uint32_t nodes = wanted; nodes <= rooms.size(); ++nodes) {
    std::vector<std::uint32_t> capacities;
    for (std::uint32_t i = 0; i < nodes; ++i)
      capacities.push_back(room_for(spec, rooms[i], cpus_per_task, task_max));
    counts = spread(spec.task_count, capacities);
    if (!counts.empty() || spec.min_nodes != 0 || spec.max_nodes != 0) break;
  }
  // Each node of a step has at least one task, but for interactive steps.
  const bool has_idle_node = std::ranges::find(counts, 0U) != counts.end();
  return has_idle_node && !spec.is_interactive ? std::vector<std::uint32_t>{} : counts;
}

/// More memory than the job has on a node can never be had by a step of it. A partition's
/// MaxMemPerCPU may have given the job more CPUs with less memory each than it asked for.
Status check_memory(const StepSpec& spec, const JobSpec& job, const NodeGrant& granted,
                    const NodeGrant& part) {
  if (granted.memory_mib == 0 || spec.memory_mib == 0) return {};
  std::uint64_t wanted = 0;
  if (spec.memory_scope == MemoryScope::kPerNode) wanted = spec.memory_mib;
  if (spec.memory_scope == MemoryScope::kPerCpu) {
    // Of more CPUs than the job has there, memory counts for those that it has.
    // A step that repeats the job's own words means the CPUs that they named.
    const bool is_repeated = job.asked.memory_scope == MemoryScope::kPerCpu &&
                             spec.memory_mib == job.asked.memory_mib &&
                             spec.cpus_per_task == job.request->cpus_per_task;
    const std::uint64_t cpus =
        std::uint64_t{std::max(1U, is_repeated ? job.asked.cpus_per_task : spec.cpus_per_task)} *
        part.task_count;
    wanted =
        saturating_product(spec.memory_mib, std::min<std::uint64_t>(cpus, granted.cpus.count()));
  }
  if (wanted <= granted.memory_mib) return {};
  return fail(ErrorCode::kInvalidArgument, "Memory required by task is not available",
              fmt::format("the step asks for {} MiB on a node where the job has {}", wanted,
                          granted.memory_mib));
}

/// Lays the step out on what the rooms have free. Errors: kUnavailable when they have too little.
Result<StepLayoutRef> lay_out_in(std::vector<NodeRoom> rooms, const StepSpec& spec,
                                 const JobSpec& job, std::size_t required, std::uint32_t task_max) {
  const std::uint32_t cpus_per_task = std::max(1U, spec.cpus_per_task);
  const std::uint32_t wanted = TRY(node_count_for(spec, rooms.size(), required));
  // Nodes with room come first, in the job's order, so that a step takes what is free before it
  // waits.
  std::stable_partition(
      rooms.begin() + static_cast<std::ptrdiff_t>(required), rooms.end(),
      [&](const NodeRoom& room) { return room_for(spec, room, cpus_per_task, task_max) > 0; });
  const std::vector<std::uint32_t> counts = task_counts(spec, rooms, wanted, task_max);
  if (counts.empty()) return fail(busy());
  auto shares = TRY(shares_of_step(spec, rooms, counts.size()));
  auto layout = std::make_shared<StepLayout>();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    NodeGrant part = *rooms[i].grant;
    part.task_count = counts[i];
    // --exact: no more CPUs than its tasks need. Else the step has all that is free on its nodes.
    part.cpus = spec.is_exact && !spec.is_overcommit
                    ? rooms[i].free_cpus.lowest(std::size_t{counts[i]} * cpus_per_task)
                    : rooms[i].free_cpus;
    TRY(check_memory(spec, job, *rooms[i].grant, part));
    part.gres = TRY(step_gres(spec, rooms[i], counts[i], std::move(shares[i])));
    layout->nodes.push_back(std::move(part));
  }
  // Ranks of nodes follow the order of the job's nodes, not the order in which they were chosen.
  std::ranges::sort(layout->nodes, {}, [](const NodeGrant& grant) { return grant.node; });
  return StepLayoutRef(std::move(layout));
}

/// Why the step would not fit even if it had the whole job to itself.
Error never_fits(const ClusterState& state, const Job& job, const StepSpec& spec,
                 std::uint32_t task_max) {
  const std::uint32_t cpus_per_task = std::max(1U, spec.cpus_per_task);
  std::uint64_t places = 0;
  // With all of the job to itself: other steps do not count.
  for (const NodeRoom& room : rooms_of(state, job, true)) {
    places += capacity(room.usable(room.grant->cpus), spec, cpus_per_task, task_max);
  }
  const std::uint64_t tasks_allowed = std::uint64_t{task_max} * job.run->allocation->nodes.size();
  if (spec.task_count > tasks_allowed) {
    return Error{ErrorCode::kInvalidArgument, "Task count specification invalid",
                 fmt::format("MaxTasksPerNode={} allows {} tasks in job {}", task_max,
                             tasks_allowed, job.id.value())};
  }
  if (places < spec.task_count) {
    return Error{ErrorCode::kInvalidArgument, "More processors requested than permitted",
                 fmt::format("{} tasks of {} CPUs do not fit in job {}", spec.task_count,
                             cpus_per_task, job.id.value())};
  }
  return too_large(
      fmt::format("job {} does not have the nodes or generic resources that the step asks for",
                  job.id.value()));
}

/// -c without -n: as many tasks as the nodes have CPUs for. Source: srun(1), --cpus-per-task.
StepSpecRef filled(const ClusterState& state, const Job& job, StepSpecRef spec) {
  if (spec->is_task_count_given || !spec->is_cpus_per_task_given || spec->is_interactive ||
      spec->tasks_per_node != 0)
    return spec;
  std::size_t required = 0;
  const auto rooms = candidate_rooms(state, job, *spec, true, required);
  if (!rooms.has_value()) return spec;
  const std::uint32_t task_max = state.settings().max_tasks_per_node;
  const std::size_t nodes =
      spec->max_nodes != 0 ? std::min<std::size_t>(spec->max_nodes, rooms->size()) : rooms->size();
  auto whole = std::make_shared<StepSpec>(*spec);
  whole->task_count = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const NodeRoom& room = (*rooms)[i];
    whole->task_count +=
        capacity(room.usable(room.grant->cpus), *spec, spec->cpus_per_task, task_max);
  }
  // Overcommitted tasks have no number that CPUs would suggest.
  return whole->task_count == 0 || spec->is_overcommit ? spec : StepSpecRef(std::move(whole));
}

}  // namespace

Result<StepLayoutRef> lay_out_step(const ClusterState& state, const Job& job,
                                   const StepSpec& spec) {
  std::size_t required = 0;
  const bool is_sharing = spec.is_overlap || spec.is_interactive;
  const std::uint32_t task_max = state.settings().max_tasks_per_node;
  std::vector<NodeRoom> rooms = TRY(candidate_rooms(state, job, spec, is_sharing, required));
  if (rooms.empty()) return fail(too_large("no node is left for the step"));
  auto layout = lay_out_in(std::move(rooms), spec, *job.spec, required, task_max);
  if (layout.has_value() || layout.error().code != ErrorCode::kUnavailable) return layout;
  // A step that would not even fit into the empty job is refused: it would wait for ever.
  std::vector<NodeRoom> whole = TRY(candidate_rooms(state, job, spec, true, required));
  if (!lay_out_in(std::move(whole), spec, *job.spec, required, task_max).has_value())
    return fail(never_fits(state, job, spec, task_max));
  return layout;
}

/// The step that comes with the job (srun outside an allocation): the planner has counted its tasks
/// on each node, and only what the spec says otherwise is laid out again.
StepLayoutRef lay_out_first_step(const ClusterState& state, const Job& job) {
  const StepSpec& spec = *job.first_step;
  auto layout = std::make_shared<StepLayout>();
  layout->nodes = job.run->allocation->nodes;
  std::uint32_t planned = 0;
  std::vector<std::uint32_t> capacities;
  for (const NodeRoom& room : rooms_of(state, job, true)) {
    planned += room.grant->task_count;
    capacities.push_back(room_for(spec, room, job.spec->request->cpus_per_task,
                                  state.settings().max_tasks_per_node));
  }
  const std::uint32_t tasks = spec.is_task_count_given ? std::max(spec.task_count, 1U) : planned;
  const std::vector<std::uint32_t> counts = spread(tasks, capacities);
  const bool is_exact = spec.is_exact && spec.is_task_count_given && !spec.is_overcommit;
  // Empty where the nodes cannot take so many tasks: what the planner counted stands.
  for (std::size_t i = 0; i < counts.size(); ++i) {
    NodeGrant& part = layout->nodes[i];
    part.task_count = counts[i];
    if (is_exact)
      part.cpus =
          part.cpus.lowest(std::size_t{counts[i]} * std::max(1U, job.spec->request->cpus_per_task));
  }
  // A node that got no task, where -n is smaller than what the nodes could take.
  std::erase_if(layout->nodes, [](const NodeGrant& grant) { return grant.task_count == 0; });
  return layout;
}

Result<StepCreated> create_step(const ClusterState& state, JobId id, StepSpecRef spec,
                                const Identity& identity) {
  const Job* job = state.jobs().find(id);
  if (job == nullptr) return fail(ErrorCode::kNotFound, "Invalid job id specified");
  if (!access::may_control(*job, identity))
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied");
  if (job->is_pending())
    return fail(ErrorCode::kFailedPrecondition, ErrorCause::kJobPending,
                "Job is pending execution");
  if (is_finished(job->state))
    return fail(ErrorCode::kFailedPrecondition, "Job/step already completing or completed");
  // Suspended tasks hold their CPUs: the step waits until the job is resumed.
  if (job->state == JobState::kSuspended) return fail(ErrorCode::kUnavailable, "Job is suspended");
  spec = filled(state, *job, std::move(spec));
  if (job->run->next_step >= state.settings().max_step_count) {
    return fail(ErrorCode::kFailedPrecondition, "Step limit reached for this job",
                fmt::format("MaxStepCount={}", state.settings().max_step_count));
  }
  StepCreated created;
  created.layout = TRY(lay_out_step(state, *job, *spec));
  created.step = StepId{id, job->attempt, job->run->next_step};
  created.spec = std::move(spec);
  return created;
}

}  // namespace muster::requests
