// The cluster itself: its version, nodes, partitions and queue.
// Slurm's nodes and partitions are shown as Determined's agents and resource pools, and jobs as
// what holds their slots. Nothing is stored for it: each answer is a walk over the state.
#include <fmt/format.h>

#include <algorithm>

#include "api/determined/experiment_json.h"
#include "api/determined/names.h"
#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/openapi.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "state/views.h"
#include "trials/service_text.h"

namespace muster::api {
namespace {

/// The version of Determined whose clients we serve: with another one they warn.
constexpr std::string_view kServedVersion = "0.38.1";

kj::Promise<HttpReply> info(ApiPort& port, HttpRequest) {
  const ApiPort::ServerSettings& details = port.settings();
  return json_reply(Json::Object{{"version", std::string(kServedVersion)},
                                 {"cluster_id", details.cluster_id},
                                 {"cluster_name", details.cluster_name},
                                 {"master_id", details.cluster_id},
                                 {"telemetry", Json::Object{{"enabled", false}}},
                                 {"sso_providers", Json::Array{}},
                                 {"muster_version", details.version}});
}

kj::Promise<HttpReply> master(ApiPort& port, HttpRequest) {
  const ApiPort::ServerSettings& details = port.settings();
  return json_reply(Json::Object{{"version", std::string(kServedVersion)},
                                 {"masterId", details.cluster_id},
                                 {"clusterId", details.cluster_id},
                                 {"clusterName", details.cluster_name},
                                 {"hasCustomLogo", false},
                                 {"strictJobQueueControl", false},
                                 // Switches by which Determined's pages hide what a server has
                                 // not.
                                 {"rbacEnabled", false},
                                 {"telemetryEnabled", false},
                                 {"ssoProviders", Json::Array{}},
                                 {"externalLoginUri", ""},
                                 {"externalLogoutUri", ""},
                                 {"branding", "determined"},
                                 {"product", "PRODUCT_UNSPECIFIED"},
                                 {"featureSwitches", Json::Array{}},
                                 {"userManagementEnabled", false}});
}

std::uint32_t gpu_count(const NodeConfig& node) {
  std::uint32_t count = 0;
  for (const GresPool& pool : node.gres)
    count += pool.name == "gpu" ? static_cast<std::uint32_t>(pool.count) : 0U;
  return count;
}

/// A slot is one GPU, or one CPU of a node without any.
std::uint32_t slot_count(const NodeConfig& node) {
  return gpu_count(node) > 0 ? gpu_count(node) : node.cpus;
}
std::string slot_type(const NodeConfig& node) {
  return gpu_count(node) > 0 ? "TYPE_CUDA" : "TYPE_CPU";
}

/// By node and slot: the job that has it; empty: nobody.
using SlotUse = std::vector<std::vector<std::string>>;

/// A slot is the device that a job has, so that what a page shows of slot 3 is true of GPU 3.
/// Devices are numbered within their type: those of a node's second type follow after its first.
SlotUse slots_in_use(const ClusterState& state) {
  SlotUse use;
  for (const Node& node : state.nodes().all()) use.emplace_back(slot_count(node.config));
  const auto give = [](std::vector<std::string>& slots, std::size_t slot, const Job& job) {
    // A node made smaller may have a job on devices that it no longer has.
    if (slot < slots.size()) slots[slot] = std::to_string(job.id.value());
  };
  state.jobs().for_each([&](const Job& job) {
    if (!job.holds_resources() || job.run == nullptr) return;
    for (const NodeGrant& grant : job.run->allocation->nodes) {
      const NodeConfig& node = state.nodes().at(grant.node).config;
      std::vector<std::string>& slots = use[grant.node.value()];
      // Without GPUs a CPU is a slot.
      if (gpu_count(node) == 0)
        grant.cpus.for_each([&](std::size_t cpu) { give(slots, cpu, job); });
      for (const GresGrant& gres : grant.gres) {
        if (gres.name != "gpu") continue;
        std::size_t first = 0;
        for (const GresPool& pool : node.gres) {
          if (pool.name == "gpu" && pool.type == gres.type) break;
          if (pool.name == "gpu") first += pool.count;
        }
        gres.devices.for_each([&](std::size_t device) { give(slots, first + device, job); });
      }
    }
  });
  return use;
}

Json agent_json(const ClusterState& state, NodeIndex index, const SlotUse& use, bool has_slots) {
  const Node& node = state.nodes().at(index);
  const std::string& name = node.config.name;
  const bool is_gpu = gpu_count(node.config) > 0;
  const bool is_drained = (node.status.conditions & node_condition::kDrain) != 0;
  const bool is_usable = (node.status.conditions & node_condition::kNoNewWork) == 0;
  const std::vector<std::string>& used = use[index.value()];
  Json::Object slots;
  // Without slots the loop has no turn: pages that list many agents leave them out.
  for (std::uint32_t i = 0; has_slots && i < slot_count(node.config); ++i) {
    Json container;
    if (!used[i].empty())
      container = Json::Object{// A job stands for Determined's container.
                               {"id", used[i]},
                               {"state", "STATE_RUNNING"},
                               {"parent", ""},
                               {"devices", Json::Array{}}};
    slots.push_back({fmt::format("/agents/{}/slots/{}", name, i),
                     Json::Object{{"id", std::to_string(i)},
                                  {"enabled", is_usable},
                                  {"draining", is_drained},
                                  {"device", Json::Object{{"id", i},
                                                          {"type", slot_type(node.config)},
                                                          {"brand", is_gpu ? "GPU" : "CPU"},
                                                          {"uuid", ""}}},
                                  {"container", std::move(container)}}});
  }
  Json::Array pools;
  for (const PartitionConfig& partition : state.partitions()) {
    // A node may be in several partitions.
    if (std::ranges::find(partition.nodes, index) != partition.nodes.end())
      pools.emplace_back(partition.name);
  }
  return Json::Object{
      {"id", name},
      {"registeredTime", time_json(node.status.agent_start_time)},
      {"slots", std::move(slots)},
      {"containers", Json::Object{}},
      {"addresses", Json::Array{node.config.address.empty() ? name : node.config.address}},
      {"enabled", is_usable},
      {"draining", is_drained},
      {"version", node.status.version},
      {"resourcePools", std::move(pools)},
      {"slotStats", Json::Object{{"typeStats", Json::Object{}}, {"brandStats", Json::Object{}}}}};
}

kj::Promise<HttpReply> agents(ApiPort& port, HttpRequest request) {
  auto shared = std::make_shared<const HttpRequest>(request);
  return look<std::vector<Json>>(
             port, request.caller,
             [shared](const ClusterState& state) -> Result<std::vector<Json>> {
               std::vector<NodeIndex> nodes;
               for (std::uint32_t i = 0; i < state.nodes().all().size(); ++i) nodes.emplace_back(i);
               const auto node = [&state](NodeIndex index) -> const Node& {
                 return state.nodes().at(index);
               };
               TRY(sort_list<NodeIndex>(
                   *shared, nodes,
                   {sort_key<NodeIndex>("SORT_BY_ID",
                                        [node](NodeIndex one) { return node(one).config.name; }),
                    sort_key<NodeIndex>("SORT_BY_TIME", [node](NodeIndex one) {
                      return node(one).status.agent_start_time;
                    })}));
               std::vector<Json> all;
               const bool has_slots = !TRY(flag_parameter(*shared, "excludeSlots")).value_or(false);
               // Once for all nodes, as each job may be on many.
               const SlotUse use = slots_in_use(state);
               for (const NodeIndex index : nodes)
                 all.push_back(agent_json(state, index, use, has_slots));
               return all;
             })
      .then([request](Result<std::vector<Json>> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        return list_reply(request, "agents", *all, [](const Json& agent) { return agent; });
      });
}

/// Errors: kNotFound.
Result<Json> agent_named(const ClusterState& state, const std::string& name) {
  for (std::uint32_t i = 0; i < state.nodes().all().size(); ++i) {
    if (state.nodes().at(NodeIndex(i)).config.name == name)
      return Json(
          Json::Object{{"agent", agent_json(state, NodeIndex(i), slots_in_use(state), true)}});
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no agent {}", name),
              "det agent list and sinfo show those that are");
}

kj::Promise<HttpReply> show_agent(ApiPort& port, const Caller& caller, const std::string& name) {
  return look<Json>(port, caller,
                    [name](const ClusterState& state) { return agent_named(state, name); })
      .then([](Result<Json> agent) {
        return agent.has_value() ? json_reply(*agent) : error_reply(agent.error());
      });
}

/// As scontrol update does it. Requires: there is a node of that name.
kj::Promise<HttpReply> update_node(ApiPort& port, const Caller& caller, const std::string& name,
                                   const char* state) {
  UpdateObject update{UpdateKind::kNode, name, {{"State", state}}};
  // Slurm wants a reason where work is taken from a node. Source: scontrol(1), update NodeName.
  if (std::string_view(state) != "RESUME")
    update.values.emplace_back("Reason", fmt::format("disabled by {}", caller.claims.user_name));
  return submit_one(port, caller, std::move(update))
      .then([&port, caller, name](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return show_agent(port, caller, name);
      });
}

kj::Promise<HttpReply> set_node_state(ApiPort& port, const Caller& caller, const std::string& name,
                                      const char* state) {
  return show_agent(port, caller, name)
      .then([&port, caller, name, state](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return update_node(port, caller, name, state);
      });
}

/// With `drain` what runs there goes on; without, it ends.
kj::Promise<HttpReply> disable_agent(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status flag = check_flags(*body, {"drain"}); !flag.has_value())
    return error_reply(flag.error());
  return set_node_state(port, request.caller, request.arguments[0],
                        // DRAIN lets jobs end, DOWN ends them.
                        bool_field(*body, "drain").value_or(false) ? "DRAIN" : "DOWN");
}

Json pool_json(const ClusterState& state, const PartitionConfig& partition, const SlotUse& use) {
  std::uint32_t slots = 0;
  std::uint32_t used = 0;
  std::string type = "TYPE_CPU";
  for (const NodeIndex index : partition.nodes) {
    const NodeConfig& node = state.nodes().at(index).config;
    slots += slot_count(node);
    // A pool with any GPU counts as one of GPUs.
    if (gpu_count(node) > 0) type = "TYPE_CUDA";
    used += static_cast<std::uint32_t>(std::ranges::count_if(
        use[index.value()], [](const std::string& job) { return !job.empty(); }));
  }
  Json::Object pool{{"name", partition.name},
                    {"description", ""},
                    {"type", "RESOURCE_POOL_TYPE_STATIC"},
                    {"numAgents", partition.nodes.size()},
                    {"slotsAvailable", slots},
                    {"slotsUsed", used},
                    {"slotType", type},
                    {"defaultComputePool", partition.is_default},
                    // Slurm has one default for both of Determined's kinds of work.
                    {"defaultAuxPool", partition.is_default},
                    {"schedulerType", "SCHEDULER_TYPE_SLURM"},
                    {"schedulerFittingPolicy", "FITTING_POLICY_SLURM"},
                    {"preemptible", false},
                    {"details", Json::Object{}},
                    {"resourceManagerMetadata", Json::Object{}}};
  // Fields of pools in a cloud: there, and empty.
  for (const char* name :
       {"agentDockerImage", "agentDockerNetwork", "agentDockerRuntime", "agentFluentImage",
        "clusterName", "containerStartupScript", "imageId", "instanceType", "location",
        "masterCertName", "masterUrl", "startupScript"}) {
    pool.push_back({name, ""});
  }
  for (const char* name :
       {"auxContainerCapacity", "auxContainerCapacityPerAgent", "auxContainersRunning",
        "maxAgentStartingPeriod", "maxAgents", "maxIdleAgentPeriod", "minAgents"}) {
    pool.push_back({name, 0});
  }
  return pool;
}

kj::Promise<HttpReply> pools(ApiPort& port, HttpRequest request) {
  return look<std::vector<Json>>(port, request.caller,
                                 [](const ClusterState& state) -> Result<std::vector<Json>> {
                                   std::vector<Json> all;
                                   const SlotUse use = slots_in_use(state);
                                   for (const PartitionConfig& partition : state.partitions())
                                     all.push_back(pool_json(state, partition, use));
                                   return all;
                                 })
      .then([request](Result<std::vector<Json>> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        return list_reply(request, "resourcePools", *all, [](const Json& pool) { return pool; });
      });
}

/// A run that holds resources now, as Determined's tasks are told.
struct TaskSummary {
  std::string task;
  std::string allocation;
  std::string name;
  const Job* job = nullptr;
  std::uint32_t slots = 0;
};

/// Trials' runs, and jobs that delete files of checkpoints.
std::vector<TaskSummary> summaries(const ClusterState& state, const std::string& cluster) {
  std::vector<TaskSummary> all;
  for (const auto& [id, trial] : state.experiments().trials()) {
    const Job* job = trial.is_over() ? nullptr : state.jobs().find(trial.job);
    // What waits has no allocation.
    if (job == nullptr || job->run == nullptr) continue;
    all.push_back({task_name(cluster, trial.experiment, id),
                   allocation_name(cluster, trial.experiment, id, run_number(*job)),
                   fmt::format("Trial {} (Experiment {})", id.value(), trial.experiment.value()),
                   job, slots_of(trial, *state.experiments().find(trial.experiment)->spec)});
  }
  for (const auto& [id, collection] : state.checkpoints().collections()) {
    const Job* job = state.jobs().find(id);
    if (job == nullptr || job->is_over()) continue;
    all.push_back(
        {service_name(cluster, id), service_allocation(cluster, id, std::max(1U, run_number(*job))),
         fmt::format("Checkpoint GC (Experiment {})", collection.experiment.value()), job, 0});
  }
  return all;
}

/// `is_old`: as the master's own page says it, in the words that its clients knew before there was
/// an API.
Json summary_json(const ClusterState& state, const TaskSummary& task, bool is_old) {
  const auto word = [is_old](const char* present, const char* old) {
    return std::string(is_old ? old : present);
  };
  const Job& job = *task.job;
  Json::Array resources;
  if (job.run != nullptr) {
    for (const NodeGrant& grant : job.run->allocation->nodes) {
      resources.emplace_back(
          Json::Object{{word("resourcesId", "resources_id"), task.allocation},
                       {word("resourcesType", "resources_type"), "slurm-job"},
                       {word("containerId", "container_id"), std::to_string(job.id.value())},
                       {word("agentDevices", "agent_devices"),
                        Json::Object{{state.nodes().at(grant.node).config.name, Json::Object{}}}}});
    }
  }
  // A job of several partitions waits in all: the first stands for them.
  const PartitionIndex partition = job.holds_resources() ? job.partition : job.partitions.front();
  return Json::Object{{word("taskId", "task_id"), task.task},
                      {word("allocationId", "allocation_id"), task.allocation},
                      {"name", task.name},
                      {word("registeredTime", "registered_time"), time_json(job.start_time)},
                      {word("resourcePool", "resource_pool"), state.partition(partition).name},
                      {word("slotsNeeded", "slots_needed"), task.slots},
                      {"resources", std::move(resources)},
                      {word("schedulerType", "scheduler_type"), "slurm"},
                      {word("proxyPorts", "proxy_ports"), Json::Array{}}};
}

kj::Promise<HttpReply> tasks(ApiPort& port, HttpRequest request, bool is_old) {
  const std::string cluster = port.settings().cluster_id;
  return look<Json>(port, request.caller,
                    [cluster, is_old](const ClusterState& state) -> Result<Json> {
                      Json::Object all;
                      for (const TaskSummary& task : summaries(state, cluster))
                        all.push_back({task.allocation, summary_json(state, task, is_old)});
                      return is_old ? Json(std::move(all))
                                    : Json(Json::Object{{"allocationIdToSummary", std::move(all)}});
                    })
      .then([](Result<Json> all) {
        return all.has_value() ? json_reply(*all) : error_reply(all.error());
      });
}

kj::Promise<HttpReply> alive(ApiPort&, HttpRequest) {
  return json_reply(Json::Object{{"status", "ok"}});
}

/// 503 with the reason where new work is refused.
kj::Promise<HttpReply> ready(ApiPort& port, HttpRequest) {
  return port.ready().then([](Status status) {
    return status.has_value() ? json_reply(Json::Object{{"status", "ok"}})
                              : error_reply({ErrorCode::kUnavailable, status.error().message,
                                             status.error().detail});
  });
}

}  // namespace

void add_cluster_routes(Router& router) {
  router.add_open(Method::kGet, "/livez", "The controller runs", alive);
  router.add_open(Method::kGet, "/readyz", "The controller leads and takes new work", ready);
  router.add_open(Method::kGet, "/health", "The controller runs", alive);
  router.add_open(Method::kGet, "/info", "Version and name of the cluster", info);
  router.add_open(Method::kGet, "/openapi.json", "This document",
                  // Made from the routes at each call: it cannot differ from them.
                  [](ApiPort& port, HttpRequest) -> kj::Promise<HttpReply> {
                    return json_reply(openapi_document(make_router(), port.settings().version));
                  });
  router.add_open(Method::kGet, "/api/v1/master", "Version and name of the cluster", master);
  router.add(Method::kGet, "/api/v1/agents", "Nodes with their slots", agents,
             list_parameters({"sortBy", "orderBy", "excludeSlots", "excludeContainers"}));
  router.add(Method::kGet, "/api/v1/agents/{agent}", "One node",
             [](ApiPort& port, HttpRequest request) {
               return show_agent(port, request.caller, request.arguments[0]);
             });
  router.add(Method::kPost, "/api/v1/agents/{agent}/disable", "Give a node no more work",
             disable_agent);
  router.add(Method::kPost, "/api/v1/agents/{agent}/enable", "Give a node work again",
             [](ApiPort& port, HttpRequest request) {
               return set_node_state(port, request.caller, request.arguments[0], "RESUME");
             });
  router.add(Method::kGet, "/api/v1/resource-pools", "Partitions", pools, list_parameters());
  router.add(
      Method::kGet, "/api/v1/tasks", "Runs that hold resources, by allocation",
      [](ApiPort& port, HttpRequest request) { return tasks(port, std::move(request), false); });
  router.add(
      Method::kGet, "/tasks", "The same in the words of the master's former page",
      [](ApiPort& port, HttpRequest request) { return tasks(port, std::move(request), true); });
}

}  // namespace muster::api
