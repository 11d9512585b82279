// How long a plan takes: a cluster of 10,000 nodes, half full with 30,000 running jobs, and 100,000
// pending jobs of 200 needs. Imitates a mixed CPU and GPU site: four kinds of nodes, three types
// of GPU, features, drained nodes, 20 overlapping partitions.
//
//   plan_bench [OPTION NUMBER]...   (--help lists them)
//
// --spread: how many of the running jobs are on several nodes. --lanes: of how many pairs of a need
// and a time limit the pending jobs are; fewer than the needs: one for each. --windows: each of the
// first N jobs that do not start has one; 0: as EASY has it, the first on each node. First full
// plans and plans after one event are compared with a slow reference at a small size
// (plan_reference.h). Then it prints medians and worst cases, in milliseconds: of full plans
// without a memo, and of plans after one event with it, which keep the windows of the last.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "bench/plan_reference.h"
#include "sched/fast_path.h"
#include "sched/planner.h"
#include "sched/testing.h"
#include "workload/planning/plan_report.h"

namespace muster::sched {
namespace {

using namespace testing;

struct Size {
  std::uint32_t nodes = 10'000;
  std::uint32_t jobs = 100'000;
  std::uint32_t running = 30'000;
  std::uint32_t spread = 0;
  std::uint32_t needs = 200;
  std::uint32_t lanes = 0;
  std::uint32_t windows = 0;
  std::uint32_t rounds = 15;
};

std::uint32_t pick(Rng& rng, std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint32_t>(rng.between(low, high));
}

NodeConfig site_node(std::uint32_t index, Rng& rng) {
  const std::string name = "n" + std::to_string(index);
  NodeConfig node;
  switch (index % 5) {
    case 0: node = make_node(name, 128, 1'000'000, {{"gpu", "a100", 8, {}}}, {"ib"}); break;
    case 1: node = make_node(name, 192, 2'000'000, {{"gpu", "h100", 8, {}}}, {"ib", "nvme"}); break;
    case 2: node = make_node(name, 64, 512'000, {{"gpu", "l40s", 4, {}}}, {"nvme"}); break;
    default: node = make_node(name, 64, 256'000, {}, {"cpu"}); break;
  }
  if (rng.chance(0.1)) node.features.push_back("new");
  node.weight = node.gres.empty() ? 1 : 10;
  return node;
}

ClusterConfig site(const Size& size, Rng& rng) {
  std::vector<NodeConfig> nodes;
  for (std::uint32_t i = 0; i < size.nodes; ++i) nodes.push_back(site_node(i, rng));
  ClusterConfig config = make_cluster(std::move(nodes));
  for (std::uint32_t p = 1; p < 20; ++p) {
    PartitionConfig partition = make_partition("p" + std::to_string(p), {});
    const std::uint32_t first = pick(rng, 0, size.nodes - 1);
    const std::uint32_t count = pick(rng, size.nodes / 10, size.nodes / 2);
    for (std::uint32_t i = 0; i < count; ++i)
      partition.nodes.push_back(NodeIndex((first + i) % size.nodes));
    std::ranges::sort(partition.nodes);
    partition.priority_tier = p % 4 == 0 ? 2 : 1;
    config.partitions.push_back(std::move(partition));
  }
  return config;
}

TimePoint some_end(Rng& rng) {
  return at(0) + Duration::milliseconds(rng.between(1'000, 86'400'000));
}

/// Every node about half full, jobs ending at different times, each on one node.
void fill_half(ClusterSnapshot& snapshot, const Size& size, Rng& rng) {
  const std::uint32_t per_node = size.running / size.nodes;
  std::uint32_t id = 1'000'000'000;
  for (std::uint32_t n = 0; n < size.nodes; ++n) {
    for (std::uint32_t j = 0; j < per_node; ++j) {
      const NodeConfig& node = snapshot.config().nodes[n];
      NodeAmount amount{
          NodeIndex(n), 1, node.cpus / (2 * per_node), node.memory_mib / (2 * per_node), {}};
      if (!node.gres.empty() && j < node.gres[0].count / 2) {
        amount.gres = {{*snapshot.find_gres_kind("gpu", node.gres[0].type), 1}};
      }
      const TimePoint end = some_end(rng);
      snapshot.start_job({JobId(id++), PartitionIndex(0), {amount}, end});
    }
  }
}

/// As fill_half(), but `size.spread` percent of the jobs are on 2 to 8 nodes, with a GPU on each
/// that has more than half of its own free.
void fill_half_spread(ClusterSnapshot& snapshot, const Size& size, Rng& rng) {
  // Sixteenths of a node's CPUs and memory, of which half are given out.
  constexpr std::uint32_t kParts = 16;
  std::vector<std::uint32_t> taken(size.nodes, 0);
  for (std::uint32_t i = 0; i < size.running; ++i) {
    const std::uint32_t count = rng.below(100) < size.spread ? pick(rng, 2, 8) : 1;
    RunningJob job{JobId(1'000'000'000 + i), PartitionIndex(0), {}, some_end(rng)};
    std::uint32_t node = pick(rng, 0, size.nodes - 1);
    for (std::uint32_t tried = 0; tried < size.nodes && job.nodes.size() < count; ++tried) {
      node = (node + 1) % size.nodes;
      if (taken[node] >= kParts / 2) continue;
      ++taken[node];
      const NodeConfig& config = snapshot.config().nodes[node];
      NodeAmount amount{NodeIndex(node), 1, config.cpus / kParts, config.memory_mib / kParts, {}};
      if (!config.gres.empty()) {
        const GresKindId kind = *snapshot.find_gres_kind("gpu", config.gres[0].type);
        const std::int32_t free = snapshot.free().at(NodeIndex(node)).gres[kind.value()];
        if (free > static_cast<std::int32_t>(config.gres[0].count / 2)) amount.gres = {{kind, 1}};
      }
      job.nodes.push_back(std::move(amount));
    }
    std::ranges::sort(job.nodes, {}, &NodeAmount::node);
    if (!job.nodes.empty()) snapshot.start_job(std::move(job));
  }
}

ResourceRequest site_request(const Size& size, Rng& rng) {
  const std::uint64_t kind = rng.below(100);
  const char* const types[] = {"a100", "h100", "l40s", ""};
  ResourceRequest request;
  request.memory_scope = MemoryScope::kPerCpu;
  request.memory_mib = 1000 * rng.below(5);
  if (kind < 45) {
    request.cpus_per_task = pick(rng, 1, 32);
    if (rng.chance(0.2)) request.features.alternatives = {{"new"}, {"nvme"}};
  } else if (kind < 75) {
    request.gres_per_node = {{"gpu", types[rng.below(4)], pick(rng, 1, 8)}};
    request.cpus_per_gpu = pick(rng, 1, 8);
  } else if (kind < 88) {
    request = on_nodes(pick(rng, 2, 16), 1, 1);
    request.task_count = request.min_nodes * 8;
    request.tasks_per_node = 8;
    request.gres_per_node = {{"gpu", types[rng.below(2)], 8}};
  } else if (kind < 94) {
    request.task_count = pick(rng, 2, 256);
  } else {
    request = on_nodes(pick(rng, 1, std::max(size.nodes / 40, 1U)), 1, 1);
    request.task_count = request.min_nodes;
    request.is_exclusive = true;
  }
  return request;
}

void queue_up(ClusterSnapshot& snapshot, const Size& size, Rng& rng) {
  std::vector<PendingJob> lanes;
  for (std::uint32_t i = 0; i < size.needs; ++i) {
    PendingJob job = make_job(0, site_request(size, rng), 600 * rng.between(1, 144));
    job.partitions = {PartitionIndex(pick(rng, 0, 19))};
    if (rng.chance(0.2)) job.partitions.push_back(PartitionIndex(pick(rng, 0, 19)));
    lanes.push_back(std::move(job));
  }
  for (std::uint32_t i = size.needs; i < size.lanes; ++i) {
    lanes.push_back(lanes[i % size.needs]);
    lanes.back().time_limit = Duration::seconds(60 * rng.between(1, 1440));
  }
  for (std::uint32_t id = 1; id <= size.jobs; ++id) {
    PendingJob job = lanes[rng.below(lanes.size())];
    job.id = JobId(id);
    job.submit_time = at(-std::int64_t{size.jobs} + id);
    job.priority = rng.between(0, 10'000);
    snapshot.add_pending(job);
  }
}

ClusterSnapshot make_site(const Size& size, std::uint64_t seed = 42) {
  Rng rng(seed);
  ClusterSnapshot snapshot = make_snapshot(site(size, rng));
  size.spread == 0 ? fill_half(snapshot, size, rng) : fill_half_spread(snapshot, size, rng);
  for (std::uint32_t i = 0; i < size.nodes / 50; ++i) {
    snapshot.set_node_conditions(NodeIndex(pick(rng, 0, size.nodes - 1)), node_condition::kDrain);
  }
  queue_up(snapshot, size, rng);
  snapshot.advance_time(at(0));
  return snapshot;
}

template <class Act>
double milliseconds(Act act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

void report(const char* name, std::vector<double> times) {
  std::ranges::sort(times);
  fmt::print("{:<28} median {:8.3f} ms  worst {:8.3f} ms  ({} rounds)\n", name,
             times[times.size() / 2], times.back(), times.size());
}

/// One event as a follower would report it: a job ends, or one more of a waiting lane is
/// submitted.
void one_event(ClusterSnapshot& snapshot, const Plan& made, JobId id, Rng& rng) {
  if (rng.chance(0.5) || made.successors.empty()) {
    snapshot.end_job(snapshot.ends()[rng.below(snapshot.ends().size())].job);
    return;
  }
  PendingJob job =
      *snapshot.find_pending(made.successors[rng.below(made.successors.size())].rank.rank.job);
  job.id = id;
  snapshot.add_pending(job);
}

/// Full plans and plans after one event, with and without windows, against the slow reference.
void check_small(std::uint64_t seed, std::uint32_t reservation_depth) {
  const Size small{.nodes = 60, .jobs = 600, .running = 180, .needs = 30, .rounds = 1};
  constexpr std::uint32_t kEvents = 20;
  ClusterSnapshot snapshot = make_site(small, seed);
  PlanOptions options;
  options.reservation_depth = reservation_depth;
  Planner planner;
  Rng rng(seed);
  std::size_t starts = 0;
  for (std::uint32_t i = 1; i <= kEvents; ++i) {
    const Plan made = planner.plan(snapshot, at(0), options);
    CHECK(made == plan(snapshot, at(0), options), "the memo changed plan {} of seed {}", i, seed);
    check_plan(snapshot, made, JobId(small.jobs + kEvents));
    starts += made.starts.size();
    apply(snapshot, made);
    one_event(snapshot, made, JobId(small.jobs + i), rng);
  }
  CHECK(starts > kEvents, "seed {} starts {} jobs: nothing was compared", seed, starts);
}

/// 2,000 jobs for a full partition and a free one of a lower tier: each is given its window in the
/// first and starts in the second, whereupon the queue begins again without the window.
void measure_two_tiers(std::uint32_t lanes) {
  constexpr std::uint32_t kJobs = 2'000;
  ClusterConfig config = make_cluster(equal_nodes(2 * kJobs, 8, 100'000));
  config.partitions = {make_partition("high", {}), make_partition("low", {})};
  config.partitions[0].priority_tier = 10;
  for (std::uint32_t i = 0; i < 2 * kJobs; ++i)
    config.partitions[i < kJobs ? 0 : 1].nodes.push_back(NodeIndex(i));
  ClusterSnapshot snapshot = make_snapshot(std::move(config));
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    const NodeAmount whole{NodeIndex(i), 1, 8, 8'000, {}};
    snapshot.start_job({JobId(1'000'000 + i), PartitionIndex(0), {whole}, at(5'000 + i % 100)});
  }
  for (std::uint32_t id = 1; id <= kJobs; ++id) {
    PendingJob job = make_job(id, tasks(1), 1'000 + 10 * (id % lanes));
    job.partitions = {PartitionIndex(0), PartitionIndex(1)};
    snapshot.add_pending(job);
  }
  snapshot.advance_time(at(0));
  std::vector<double> times;
  for (int round = 0; round < 3; ++round) {
    Plan made;
    times.push_back(milliseconds([&] { made = plan(snapshot, at(0)); }));
    CHECK(made.starts.size() == kJobs, "{} jobs of two tiers started", made.starts.size());
  }
  report(fmt::format("two tiers, {} lanes", lanes).c_str(), times);
}

void measure(const Size& size) {
  ClusterSnapshot snapshot = make_site(size);
  PlanOptions options;
  if (size.windows > 0) {
    options = PlanOptions::conservative();
    options.reservation_max = size.windows;
  }
  std::vector<double> full;
  Plan made;
  for (std::uint32_t i = 0; i < std::clamp(size.rounds / 3, 1U, 5U); ++i) {
    full.push_back(milliseconds([&] { made = plan(snapshot, at(0), options); }));
  }
  report("full plan, half full", full);
  fmt::print("  {} starts, {} windows, {} lanes wait\n", made.starts.size(), made.windows.size(),
             made.successors.size());
  Planner planner;
  const double apply_ms = milliseconds([&] { apply(snapshot, made); });
  fmt::print("  applying them: {:.1f} ms\n", apply_ms);
  full.clear();
  for (std::uint32_t i = 0; i < std::min(size.rounds, 15U); ++i) {
    full.push_back(milliseconds([&] { made = plan(snapshot, at(0), options); }));
  }
  report("full plan, all full", full);
  CHECK(made.starts.empty(), "a second plan at the same instant starts {} jobs",
        made.starts.size());
  made = planner.plan(snapshot, at(0), options);
  Rng rng(7);
  std::vector<double> after_end;
  std::vector<double> after_submit;
  std::vector<double> fast;
  FastMemo memo;
  std::vector<double> reports;
  PlanReporter reporter;
  const double first_report = milliseconds([&] { (void)reporter.report(snapshot, made, Seq(1)); });
  for (std::uint32_t i = 0; i < size.rounds * 4; ++i) {
    snapshot.end_job(snapshot.ends()[rng.below(snapshot.ends().size())].job);
    after_end.push_back(
        milliseconds([&] { made = planner.plan(snapshot, at(0), options, made.windows); }));
    reports.push_back(milliseconds([&] { (void)reporter.report(snapshot, made, Seq(2 * i + 2)); }));
    after_end.back() += reports.back();
    apply(snapshot, made);
    PendingJob job =
        *snapshot.find_pending(made.successors[rng.below(made.successors.size())].rank.rank.job);
    job.id = JobId(size.jobs + 1 + i);
    snapshot.add_pending(job);
    fast.push_back(
        milliseconds([&] { (void)try_start_now(snapshot, made, job.id, at(0), &memo); }));
    after_submit.push_back(
        milliseconds([&] { made = planner.plan(snapshot, at(0), options, made.windows); }));
    reports.push_back(milliseconds([&] { (void)reporter.report(snapshot, made, Seq(2 * i + 3)); }));
    after_submit.back() += reports.back();
    apply(snapshot, made);
  }
  CHECK(planner.plan(snapshot, at(0), options) == plan(snapshot, at(0), options),
        "the memo changed a plan");
  report("plan after one job end", after_end);
  report("plan after one submission", after_submit);
  report("  the report in it", reports);
  fmt::print("  the first report: {:.1f} ms\n", first_report);
  report("fast path of one submission", fast);
  for (const std::uint32_t lanes : {1U, 500U}) measure_two_tiers(lanes);
}

}  // namespace
}  // namespace muster::sched

namespace {

struct SizeOption {
  const char* name;
  std::uint32_t muster::sched::Size::*field;
  const char* help;
};
constexpr SizeOption kOptions[] = {
    {"--nodes", &muster::sched::Size::nodes, "nodes of the cluster"},
    {"--jobs", &muster::sched::Size::jobs, "jobs that wait"},
    {"--running", &muster::sched::Size::running, "jobs that run"},
    {"--spread", &muster::sched::Size::spread, "percent of the running jobs on several nodes"},
    {"--needs", &muster::sched::Size::needs, "different requests"},
    {"--lanes", &muster::sched::Size::lanes,
     "different requests with their time limits; 0: as needs"},
    {"--windows", &muster::sched::Size::windows, "windows in a plan; 0: as EASY needs"},
    {"--rounds", &muster::sched::Size::rounds, "measurements of each kind"},
};

int usage(std::FILE* to) {
  fmt::print(to, "usage: plan_bench [OPTION NUMBER]...\n");
  for (const SizeOption& option : kOptions)
    fmt::print(to, "  {:<10} {}\n", option.name, option.help);
  return to == stdout ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  muster::sched::Size size;
  for (int i = 1; i < argc; i += 2) {
    if (std::strcmp(argv[i], "--help") == 0) return usage(stdout);
    const auto* option = std::ranges::find_if(
        kOptions, [&](const SizeOption& one) { return std::strcmp(one.name, argv[i]) == 0; });
    char* end = nullptr;
    const char* number = i + 1 < argc ? argv[i + 1] : "";
    const unsigned long value = std::strtoul(number, &end, 10);
    if (option == std::ranges::end(kOptions) || end == number || *end != '\0') {
      fmt::print(stderr, "plan_bench: {} {}: no option with its number\n", argv[i], number);
      return usage(stderr);
    }
    size.*option->field = static_cast<std::uint32_t>(value);
  }
  for (std::uint64_t seed = 42; seed < 45; ++seed) {
    for (const std::uint32_t depth : {0U, 1U, UINT32_MAX}) muster::sched::check_small(seed, depth);
  }
  muster::sched::measure(size);
  return 0;
}
