#include "sim/world.h"

#include "sim/controller.h"
#include "sim/machine.h"

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
    : options(chosen),
      rng(chosen.seed),
      config(config_of(options)),
      disk(options.is_on_disk ? std::make_unique<Disk>(options.seed) : nullptr),
      journal(timeline, rng, options, disk.get()),
      history(disk.get()),
      checker(timeline, options, history) {
  start_controller();
  for (std::uint32_t i = 0; i < options.nodes; ++i)
    nodes.push_back(std::make_unique<Machine>(*this, NodeIndex(i), i));
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
  journal.detach();
  for (const auto* machines : {&nodes, &strangers}) {
    for (const auto& machine : *machines) {
      if (machine->link() != nullptr) break_link(machine->link());
    }
  }
  timeline.after(Duration(), [gone] {});
  timeline.after(Duration::milliseconds(rng.between(200, 8000)), [this] {
    if (controller == nullptr) start_controller();
  });
}

bool World::has_lost_power() {
  if (disk == nullptr || !disk->is_gone()) return false;
  crash_controller();
  return true;
}

void World::back_up() {
  if (disk != nullptr && !disk->is_gone())
    backup_ = {disk->image(), journal.storage().stored(), checker.knowledge(), workload->jobs(),
               history_branch_};
}

void World::put_back(bool is_empty) {
  if (disk == nullptr || controller == nullptr || (!is_empty && !backup_)) return;
  crash_controller();
  Backup what = is_empty ? Backup() : *backup_;
  // What was begun anew has nothing of what an older copy of the state remembers.
  const bool is_same_history = is_empty || what.history_branch == history_branch_;
  const bool keeps_history = rng.chance(0.3) && is_same_history;
  if (!keeps_history) history_branch_ = is_empty ? ++history_branches_ : what.history_branch;
  if (keeps_history) {
    const auto is_of_history = [](const auto& file) {
      return file.first.starts_with("history.db");
    };
    std::erase_if(what.image, is_of_history);
    for (const auto& file : disk->image()) {
      if (is_of_history(file)) what.image.insert(file);
    }
  }
  disk->put_back(what.image);
  journal.storage().was_put_back(std::move(what.stored));
  if (!keeps_history) history.was_put_back();
  checker.rewind(what.knowledge);
  workload->rewind(what.jobs);
}

void World::invite_stranger() {
  const auto host = static_cast<std::uint32_t>(nodes.size() + strangers.size());
  strangers.push_back(std::make_unique<Machine>(
      *this, NodeIndex(static_cast<std::uint32_t>(rng.below(nodes.size()))), host));
  Machine* machine = strangers.back().get();
  timeline.after(Duration::milliseconds(rng.between(100, 40'000)), [machine] { machine->leave(); });
}

void World::stop_controller(Duration how_long) {
  if (controller != nullptr) controller->stop(how_long);
}

void World::jump_clock() {
  const Duration by =
      Duration::seconds(rng.chance(0.5) ? rng.between(-20, 20) : rng.between(-4000, 40'000));
  wall_offset = wall_offset + by;
  // Most are taken back before they are believed.
  if (!rng.chance(0.7)) return;
  timeline.after(Duration::milliseconds(rng.between(100, 20'000)),
                 [this, by] { wall_offset = wall_offset - by; });
}

void World::restart_for_clock() {
  is_clock_believed = true;
  crash_controller();
}

void World::break_link(const LinkRef& link) {
  if (!link->is_whole) return;
  link->is_whole = false;
  const bool is_known_at_once = rng.chance(0.5);
  const auto notice = [&] {
    return Duration::milliseconds(is_known_at_once ? 1 : rng.between(1, 15'000));
  };
  timeline.after(notice(), [link] { link->machine->on_link_broken(link); });
  timeline.after(notice(), [this, link] {
    if (controller != nullptr && controller->incarnation() == link->controller)
      controller->agent_lost(link);
  });
}

}  // namespace muster::sim
