#include "sim/world.h"

#include "sim/controller.h"
#include "sim/machine.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

std::shared_ptr<const ClusterConfig> config_of(const Options& options) {
  auto config = std::make_shared<ClusterConfig>();
  ClusterSettings& settings = config->settings;
  settings.kill_wait = Duration::seconds(3);
  settings.min_job_age = options.is_only_batch ? Duration::seconds(5) : Duration::seconds(120);
  settings.slurmd_timeout = Duration::seconds(30);
  settings.return_to_service = options.return_to_service;
  settings.is_core_consumable = options.threads_per_core > 1;
  settings.max_job_count = 10'000'000;
  settings.resize_interval = Duration::seconds(20);
  settings.gres_types = {"gpu"};
  PartitionConfig partition;
  partition.name = "main";
  partition.is_default = true;
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    NodeConfig node;
    node.name = fmt::format("n{}", i);
    node.cpus = options.cpus;
    node.threads_per_core = options.threads_per_core;
    node.cores_per_socket = options.cpus / options.threads_per_core;
    node.memory_mib = 16'384;
    if (options.gpus > 0) node.gres.push_back(GresPool{"gpu", "", options.gpus, {}});
    config->nodes.push_back(std::move(node));
    partition.nodes.push_back(NodeIndex(i));
  }
  config->partitions.push_back(std::move(partition));
  return config;
}

}  // namespace

World::World(const Options& chosen)
    : options(chosen), rng(chosen.seed), config(config_of(options)), journal(timeline, rng, options), checker(timeline, options, history) {
  start_controller();
  for (std::uint32_t i = 0; i < options.nodes; ++i) nodes.push_back(std::make_unique<Machine>(*this, NodeIndex(i)));
  workload = std::make_unique<Workload>(*this);
}
World::~World() = default;

void World::start_controller() { controller = std::make_unique<Controller>(*this, ++incarnations); }

void World::crash_controller() {
  if (controller == nullptr) return;
  // The object lives until the stack has unwound, the incarnation is over at once.
  std::shared_ptr<Controller> gone(std::move(controller));
  journal.crash();
  history.crash();
  journal.attach({[](Seq) {}, [] {}});
  for (const auto& node : nodes) {
    if (node->link() != nullptr) break_link(node->link());
  }
  timeline.after(Duration(), [gone] {});
  timeline.after(Duration::milliseconds(rng.between(200, 8000)), [this] {
    if (controller == nullptr) start_controller();
  });
}

void World::stop_controller(Duration how_long) {
  if (controller != nullptr) controller->stop(how_long);
}

void World::jump_clock() {
  const Duration by = Duration::seconds(rng.chance(0.5) ? rng.between(-20, 20) : rng.between(-4000, 40'000));
  wall_offset = wall_offset + by;
  // Most are taken back before they are believed.
  if (!rng.chance(0.7)) return;
  timeline.after(Duration::milliseconds(rng.between(100, 20'000)), [this, by] { wall_offset = wall_offset - by; });
}

void World::restart_for_clock() {
  is_clock_believed = true;
  crash_controller();
}

void World::break_link(const LinkRef& link) {
  if (!link->is_whole) return;
  link->is_whole = false;
  const bool is_known_at_once = rng.chance(0.5);
  const auto notice = [&] { return Duration::milliseconds(is_known_at_once ? 1 : rng.between(1, 15'000)); };
  timeline.after(notice(), [this, link] { nodes[link->node.value()]->on_link_broken(link); });
  timeline.after(notice(), [this, link] {
    if (controller != nullptr && controller->incarnation() == link->controller) controller->agent_lost(link);
  });
}

}  // namespace muster::sim
