#include "sim/options.h"

namespace muster::sim {
namespace {

/// Swarm testing (Groce et al., ISSTA 2012): a run with half of the faults at high rates finds more
/// than one with all.
Duration maybe(Rng& rng, std::int64_t low_seconds, std::int64_t high_seconds) {
  if (rng.chance(0.5)) return Duration();
  return Duration::seconds(rng.between(low_seconds, high_seconds));
}
double maybe(Rng& rng, double high) { return rng.chance(0.5) ? 0 : high * rng.unit(); }

void draw_cluster(Options& options, Rng& rng) {
  options.nodes = static_cast<std::uint32_t>(rng.between(1, 8));
  options.cpus = static_cast<std::uint32_t>(2 * rng.between(1, 8));
  options.threads_per_core = rng.chance(0.3) ? 2 : 1;
  options.gpus = static_cast<std::uint32_t>(rng.below(5));
  options.return_to_service = static_cast<std::uint8_t>(rng.below(3));
  options.requests = static_cast<std::uint32_t>(rng.between(50, 600));
  options.request_gap = Duration::milliseconds(rng.between(5, 500));
  options.run_time = Duration::milliseconds(rng.between(100, 20'000));
  options.task_ignores_term = rng.unit() * 0.3;
  options.task_fails = rng.unit() * 0.3;
}

void draw_faults(Options& options, Rng& rng) {
  options.controller_crash = maybe(rng, 2, 60);
  options.agent_crash = maybe(rng, 2, 60);
  options.supervisor_crash = maybe(rng, 2, 60);
  options.supervisor_stop = maybe(rng, 2, 60);
  options.node_crash = maybe(rng, 5, 120);
  options.disk_full = maybe(rng, 5, 120);
  options.disk_fault = maybe(rng, 2, 60);
  options.link_drop = maybe(rng, 1, 30);
  options.partition = maybe(rng, 5, 120);
  options.duplicate = maybe(rng, 0.2);
  options.client_loss = maybe(rng, 0.3);
  options.slow_spawn = maybe(rng, 0.05);
  options.spool_refusal = maybe(rng, 0.02);
  options.slow_disk = maybe(rng, 0.02);
  options.blob_failure = maybe(rng, 0.1);
  options.slow_history = maybe(rng, 0.8);
  options.controller_stop = maybe(rng, 5, 120);
  options.clock_jump = maybe(rng, 5, 120);
  options.is_on_disk = rng.chance(0.7);
  options.stranger = maybe(rng, 2, 60);
  options.is_checkpointed = rng.chance(0.7);
  options.spool_loss = maybe(rng, 5, 120);
  options.spool_put_back = maybe(rng, 2, 60);
  options.agent_stop = maybe(rng, 2, 60);
  options.node_clock_jump = maybe(rng, 5, 120);
  options.node_disk_full = maybe(rng, 5, 120);
}

/// Nothing fails but time: whoever then loses a job or a node has judged by a clock that was wrong.
void make_pauses(Options& options, Rng& rng) {
  options.controller_stop = Duration::seconds(rng.between(3, 30));
  options.clock_jump = Duration::seconds(rng.between(3, 30));
  options.supervisor_stop = maybe(rng, 2, 30);
  options.agent_crash = maybe(rng, 2, 60);
  if (rng.chance(0.5)) options.controller_crash = Duration::seconds(rng.between(10, 60));
  options.slow_history = maybe(rng, 0.8);
  options.requests = static_cast<std::uint32_t>(rng.between(100, 600));
  options.node_clock_jump = Duration::seconds(rng.between(3, 30));
}

/// State is lost or put back, and there are more agents than nodes: nothing runs twice, and what is
/// not known any more is ended.
void make_impostors(Options& options, Rng& rng) {
  options.stranger = maybe(rng, 1, 30);
  options.back_up = Duration::seconds(rng.between(3, 30));
  options.put_back = Duration::seconds(rng.between(10, 90));
  if (rng.chance(0.5)) options.controller_crash = Duration::seconds(rng.between(5, 60));
  options.agent_crash = maybe(rng, 2, 60);
  options.link_drop = maybe(rng, 1, 30);
  options.client_loss = maybe(rng, 0.3);
  options.duplicate = maybe(rng, 0.2);
  options.disk_fault = maybe(rng, 2, 60);
  options.spool_put_back = maybe(rng, 1, 30);
  options.requests = static_cast<std::uint32_t>(rng.between(100, 600));
}

void make_throughput(Options& options) {
  options.nodes = 32;
  options.cpus = 64;
  options.gpus = 0;
  options.threads_per_core = 1;
  options.requests = 200'000;
  options.request_gap = Duration::microseconds(250);
  options.run_time = Duration::milliseconds(400);
  options.is_only_batch = true;
  options.is_checked_deeply = false;
  options.is_on_disk = false;
  options.is_checkpointed = false;
  options.task_ignores_term = options.task_fails = 0;
}

}  // namespace

std::vector<std::string> recipe_names() {
  return {"swarm", "calm", "search", "pauses", "impostors", "throughput"};
}

Result<Options> options_of(const std::string& recipe, std::uint64_t seed) {
  Options options;
  options.seed = seed;
  options.recipe = recipe;
  Rng rng(seed ^ 0x51d0a5eedULL);
  draw_cluster(options, rng);
  options.has_experiments = recipe == "search";
  if (recipe == "swarm" || recipe == "search") {
    draw_faults(options, rng);
  } else if (recipe == "throughput") {
    make_throughput(options);
  } else if (recipe == "pauses") {
    make_pauses(options, rng);
  } else if (recipe == "impostors") {
    make_impostors(options, rng);
  } else if (recipe != "calm") {
    return fail(ErrorCode::kNotFound, "there is no recipe " + recipe,
                "use swarm, calm, search, pauses, impostors or throughput");
  }
  return options;
}

}  // namespace muster::sim
