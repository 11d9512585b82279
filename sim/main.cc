// sim: a whole cluster in virtual time. A seed and a recipe decide everything that happens.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sim/controller.h"
#include "sim/machine.h"
#include "sim/search_checker.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace muster::sim {
namespace {

constexpr const char* kHelp =
    "sim: simulates a whole cluster in virtual time\n"
    "\n"
    "  --seed N       one seed (default 1)\n"
    "  --seeds A-B    all seeds from A to B\n"
    "  --recipe R     swarm (default), calm, search, pauses, impostors, throughput\n"
    "  --requests N   of clients, instead of what the recipe says\n"
    "  -v             says what each seed did\n"
    "  --trace        every durable event, fault and task\n";

/// What a failure prints last: enough to see it again.
char g_reproduce[256];

void on_abort(int) {
  [[maybe_unused]] const auto ignored =
      ::write(STDERR_FILENO, g_reproduce, std::strlen(g_reproduce));
  remove_spool_folder();
  ::_exit(1);
}

/// Strikes at random moments with the given mean distance, as long as faults are on.
void strike(World& world, Duration mean, const char* name, std::function<void()> fault) {
  if (mean == Duration()) return;
  const auto delay = Duration::microseconds(world.rng.between(1, 2 * mean.microseconds()));
  world.timeline.after(delay, [&world, mean, name, fault] {
    if (!world.has_faults) return;
    world.checker.trace(name);
    fault();
    strike(world, mean, name, fault);
  });
}

Machine& any_node(World& world) { return *world.nodes[world.rng.below(world.nodes.size())]; }

void add_faults(World& world) {
  const Options& o = world.options;
  world.has_faults = true;
  strike(world, o.controller_crash, "controller crash", [&] { world.crash_controller(); });
  strike(world, o.agent_crash, "agent crash", [&] { any_node(world).crash_agent(); });
  strike(world, o.spool_loss, "spool loss", [&] { any_node(world).lose_spool(); });
  strike(world, o.spool_put_back, "spool put back", [&] {
    Machine& node = any_node(world);
    world.rng.chance(0.5) ? node.back_up_spool() : node.put_back_spool();
  });
  strike(world, o.supervisor_crash, "supervisor crash",
         [&] { any_node(world).crash_supervisor(); });
  strike(world, o.supervisor_stop, "supervisor stop", [&] { any_node(world).stop_supervisor(); });
  strike(world, o.controller_stop, "controller stops",
         [&] { world.stop_controller(Duration::milliseconds(world.rng.between(10, 20'000))); });
  strike(world, o.agent_stop, "agent stops", [&] {
    any_node(world).stop_agent(Duration::milliseconds(world.rng.between(10, 60'000)));
  });
  strike(world, o.clock_jump, "clock jumps", [&] { world.jump_clock(); });
  strike(world, o.node_clock_jump, "a node's clock jumps", [&] { any_node(world).jump_clock(); });
  strike(world, o.node_crash, "node crash", [&] { any_node(world).crash(); });
  strike(world, o.node_disk_full, "node's disk full",
         [&] { any_node(world).fill_disk(Duration::milliseconds(world.rng.between(10, 40'000))); });
  strike(world, o.disk_full, "disk full", [&] { world.journal.fill(); });
  strike(world, o.disk_fault, "disk fault", [&] {
    if (world.disk != nullptr) world.disk->strike_soon();
  });
  strike(world, o.back_up, "backup", [&] { world.back_up(); });
  strike(world, o.put_back, "state put back", [&] { world.put_back(world.rng.chance(0.2)); });
  strike(world, o.stranger, "stranger", [&] { world.invite_stranger(); });
  strike(world, o.link_drop, "link drop", [&] {
    if (const LinkRef& link = any_node(world).link()) world.break_link(link);
  });
  strike(world, o.partition, "partition", [&] {
    any_node(world).cut_off(Duration::milliseconds(world.rng.chance(0.5)
                                                       ? world.rng.between(100, 20'000)
                                                       : world.rng.between(20'000, 90'000)));
  });
}

void stop_faults(World& world) {
  world.has_faults = false;
  Options& o = world.options;
  o.duplicate = o.client_loss = o.slow_spawn = o.spool_refusal = o.slow_disk = o.slow_history =
      o.blob_failure = 0;
  if (world.disk != nullptr) world.disk->heal();
}

void run_for(World& world, Duration span) {
  const TimePoint end = world.timeline.now() + span;
  while (world.timeline.step(end)) {
  }
}

bool are_all_linked(const World& world) {
  constexpr Duration kSteadyAfter = Duration::seconds(5);
  return std::ranges::all_of(world.nodes, [&](const auto& node) {
    return node->link() != nullptr && node->up_since().is_set() &&
           world.timeline.now() - node->up_since() >= kSteadyAfter;
  });
}

/// Everything from the first batch on, and the followers, agree.
SearchTally check_replicas(World& world) {
  const Controller& controller = *world.controller;
  world.checker.check_ledger(controller.core().state());
  world.checker.compare(controller.core().state(), "of the core");
  world.checker.compare(controller.planner().state(), "of the planner");
  ClusterState replayed;
  SearchChecker searches;
  world.journal.replay(Seq(0), [&](const EventBatch& batch) {
    searches.follow(replayed, batch);
    replayed.apply(batch);
    if (world.options.is_checked_deeply)
      world.checker.compare(replayed, "replayed from the first batch");
  });
  world.checker.compare(replayed, "replayed from the first batch");
  return searches.finish(replayed);
}

/// What was acknowledged to a script is known: no checkpoint lost, none torn, but where a job that
/// was to delete it broke off.
void check_checkpoints(const World& world, const SearchTally& searches) {
  const CheckpointTable& known = world.controller->core().state().checkpoints();
  for (const auto& [uuid, steps] : world.workload->checkpoints()) {
    const CheckpointRef checkpoint = known.find(uuid);
    if (checkpoint == nullptr) {
      const auto trial =
          static_cast<std::uint32_t>(std::stoul(uuid));  // whose number it begins with
      CHECK(world.controller->core().state().experiments().find(TrialId(trial)) == nullptr,
            "checkpoint {} was acknowledged and is lost", uuid);
      continue;
    }
    CHECK(!known.is_going(uuid), "checkpoint {} is still being deleted", uuid);
    if (checkpoint->state == CheckpointState::kDeleted) continue;
    if (checkpoint->state == CheckpointState::kError && searches.broken_off.contains(uuid))
      continue;
    CHECK(checkpoint->state == CheckpointState::kCompleted && checkpoint->steps_completed == steps,
          "checkpoint {} is not as it was reported", uuid);
  }
}

void simulate(const Options& options, bool is_verbose) {
  const auto begin = std::chrono::steady_clock::now();
  World world(options);
  run_for(world, Duration::seconds(2));
  add_faults(world);
  world.workload->start();
  while (!world.workload->is_all_asked()) run_for(world, Duration::seconds(5));
  stop_faults(world);
  std::string left;
  for (int round = 0; round < 720; ++round) {
    run_for(world, Duration::seconds(30));
    world.workload->wind_down();
    left = world.workload->unfinished();
    if (left.empty() && world.workload->is_all_answered()) break;
  }
  CHECK(left.empty(), "faults have stopped long ago and these have not ended:{}", left);
  CHECK(world.workload->is_all_answered(), "a client waits for an answer for ever:{}",
        world.workload->unanswered());
  // A jump that is believed now makes the controller start once more.
  do {
    run_for(world, Duration::seconds(10));
  } while (world.controller == nullptr);
  // A link that was cut while faults were on may be so for a while yet: only then is an end
  // reported and acknowledged.
  for (int round = 0; round < 20 && !are_all_linked(world); ++round)
    run_for(world, Duration::seconds(10));
  const SearchTally searches = check_replicas(world);
  check_checkpoints(world, searches);
  world.checker.check_history();
  for (const auto& node : world.nodes) {
    const auto kept = node->unacknowledged();
    CHECK(!kept, "node {} keeps step {}.{}.{} in its spool: its end was never acknowledged",
          node->index().value(), kept->job.value(), kept->attempt, kept->step);
  }
  // Whoever has ended has no time left to run out, were it a year from now.
  const std::size_t timers = world.controller->core().timer_count();
  CHECK(timers == 0, "{} timers of jobs that are over are left", timers);
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::uint64_t jobs = world.checker.jobs_ended();
  if (is_verbose) {
    if (options.has_experiments) {
      fmt::print(
          "{} experiments, {} trials, {} checkpoints, {} decisions made again, {} operated, {} "
          "resized, {} continued, {} copies, {} collections, {} deleted; ",
          searches.experiments, searches.trials, world.workload->checkpoints().size(),
          searches.decisions, searches.operated, searches.resized, searches.continued,
          searches.copies, searches.collections, searches.deleted);
    }
    fmt::print(
        "seed {} {}: {} jobs ended, {} tasks, {} submissions refused, {} controllers, {} batches, "
        "{} actions, {:.0f} s of "
        "virtual and {:.2f} s of wall time: {:.0f} jobs a minute\n",
        options.seed, options.recipe, jobs, world.checker.tasks_run(), world.workload->refused(),
        world.incarnations, world.journal.last().value(), world.timeline.count(),
        static_cast<double>(world.timeline.now().seconds() - 1'800'000'000), wall,
        static_cast<double>(jobs) / wall * 60);
  }
}

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::string recipe = "swarm";
  std::uint32_t requests = 0;
  bool is_verbose = false;
  bool is_traced = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--trace") {
      arguments.is_traced = true;
      continue;
    }
    if (word == "-v") {
      arguments.is_verbose = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const std::string value = argv[++i];
    if (word == "--seed") {
      arguments.first = arguments.last = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--seeds") {
      const auto dash = value.find('-');
      if (dash == std::string::npos) return false;
      arguments.first = std::strtoull(value.c_str(), nullptr, 10);
      arguments.last = std::strtoull(value.c_str() + dash + 1, nullptr, 10);
    } else if (word == "--recipe") {
      arguments.recipe = value;
    } else if (word == "--requests") {
      arguments.requests = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else {
      return false;
    }
  }
  return true;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    fmt::print(stderr, "{}", kHelp);
    return 2;
  }
  ::signal(SIGABRT, on_abort);
  ::signal(SIGSEGV, on_abort);
  for (std::uint64_t seed = arguments.first; seed <= arguments.last; ++seed) {
    auto options = options_of(arguments.recipe, seed);
    if (!options.has_value()) {
      fmt::print(stderr, "sim: {}\n", options.error().text());
      return 2;
    }
    options->is_traced = arguments.is_traced;
    std::string more;
    if (arguments.requests != 0) {
      options->requests = arguments.requests;
      more = fmt::format(" --requests {}", arguments.requests);
    }
    const std::string line = fmt::format("seed {} fails: sim --seed {} --recipe {}{}\n", seed, seed,
                                         arguments.recipe, more);
    std::strncpy(g_reproduce, line.c_str(), sizeof g_reproduce - 1);
    simulate(*options, arguments.is_verbose);
  }
  fmt::print("{} seeds of {} hold\n", arguments.last - arguments.first + 1, arguments.recipe);
  return 0;
}

}  // namespace
}  // namespace muster::sim

int main(int argc, char** argv) { return muster::sim::main_of(argc, argv); }
