// What must hold on any cluster, tried on small random ones. A failure prints its seed, which alone
// repeats it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "sched/fast_path.h"
#include "sched/planner.h"
#include "sched/satisfiable.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

std::uint32_t pick(Rng& rng, std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint32_t>(rng.between(low, high));
}

ClusterConfig random_cluster(Rng& rng) {
  std::vector<NodeConfig> nodes;
  const std::uint32_t count = pick(rng, 1, 6);
  for (std::uint32_t i = 0; i < count; ++i) {
    NodeConfig node =
        make_node("n" + std::to_string(i), pick(rng, 1, 4) * 2, pick(rng, 2, 8) * 100);
    if (rng.chance(0.4)) node.gres.push_back({"gpu", "a", pick(rng, 1, 3), {}});
    if (rng.chance(0.3)) node.gres.push_back({"gpu", "b", pick(rng, 1, 3), {}});
    if (rng.chance(0.3)) node.features.push_back("x");
    if (rng.chance(0.2)) node.weight = 2;
    if (rng.chance(0.3)) {
      node.threads_per_core = 2;
      node.cores_per_socket = node.cpus / 2;
    }
    nodes.push_back(std::move(node));
  }
  ClusterConfig config = make_cluster(std::move(nodes));
  config.partitions.push_back(make_partition("half", {0}));
  config.partitions[1].priority_tier = pick(rng, 1, 2);
  config.partitions[1].max_cpus_per_node = rng.chance(0.3) ? 3 : 0;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (rng.chance(0.5)) config.partitions[1].nodes.push_back(NodeIndex(i));
  }
  return config;
}

ResourceRequest random_small_request(Rng& rng) {
  ResourceRequest request = tasks(pick(rng, 1, 6), pick(rng, 1, 3));
  if (rng.chance(0.3)) request.min_nodes = pick(rng, 1, 3);
  if (rng.chance(0.3)) request.max_nodes = request.min_nodes + pick(rng, 0, 2);
  if (rng.chance(0.2)) request.tasks_per_node = pick(rng, 1, 3);
  if (rng.chance(0.3))
    request.gres_per_node = {{"gpu", rng.chance(0.5) ? "a" : "", pick(rng, 1, 2)}};
  if (rng.chance(0.2)) request.gres_per_job = {{"gpu", "", pick(rng, 1, 4)}};
  if (rng.chance(0.1)) request.gres_per_task = {{"gpu", "b", 1}};
  if (rng.chance(0.1)) request.is_exclusive = true;
  if (rng.chance(0.1)) request.is_contiguous = true;
  if (rng.chance(0.1)) request.is_overcommit = true;
  if (rng.chance(0.1)) request.required_nodes = {"n0"};
  if (rng.chance(0.1)) request.features.alternatives = {{"x"}};
  request.memory_scope = static_cast<MemoryScope>(pick(rng, 0, 3));
  request.memory_mib =
      request.memory_scope == MemoryScope::kPerNode ? pick(rng, 0, 4) * 100 : pick(rng, 0, 100);
  return request;
}

/// Many nodes, so that a search for a wide job passes many ends, few of which change between two
/// plans.
ClusterConfig wide_cluster(Rng& rng) {
  ClusterConfig config = make_cluster(equal_nodes(pick(rng, 16, 40), pick(rng, 1, 3), 800));
  config.partitions.push_back(make_partition("half", {0}));
  for (std::uint32_t i = 1; i < config.nodes.size(); i += 2)
    config.partitions[1].nodes.push_back(NodeIndex(i));
  return config;
}

ResourceRequest wide_request(Rng& rng) {
  const std::uint32_t count = pick(rng, 8, 16);
  ResourceRequest request = rng.chance(0.5) ? on_nodes(count, count)
                                            : tasks(rng.chance(0.5) ? 2 * count : pick(rng, 1, 3));
  if (rng.chance(0.2)) request.is_exclusive = true;
  if (rng.chance(0.1)) request.required_nodes = {"n1", "n3"};
  return request;
}

PendingJob random_job(Rng& rng, std::uint32_t id, const std::vector<ResourceRequest>& requests) {
  PendingJob job = make_job(id, requests[rng.below(requests.size())], 10 * rng.between(1, 6));
  job.priority = rng.between(0, 2);
  if (rng.chance(0.3)) job.partitions = {PartitionIndex(1)};
  if (rng.chance(0.2)) job.partitions = {PartitionIndex(1), PartitionIndex(0)};
  if (rng.chance(0.1)) job.element_count = pick(rng, 2, 4);
  if (job.element_count > 1 && rng.chance(0.5)) job.throttle = pick(rng, 1, 3);
  return job;
}

PlanOptions random_options(Rng& rng) {
  PlanOptions options;
  if (rng.chance(0.2)) options = PlanOptions::conservative();
  if (rng.chance(0.2)) options.reservation_depth = pick(rng, 0, 3);
  if (rng.chance(0.1)) options.is_backfill = false;
  if (rng.chance(0.1)) options.tail_order = TailOrder::kTimeLimit;
  return options;
}

void expect_within_totals(const ClusterSnapshot& snapshot) {
  for (std::uint32_t i = 0; i < snapshot.node_count(); ++i) {
    const NodeFree free = snapshot.free().at(NodeIndex(i));
    EXPECT_GE(free.cpus, 0) << "node " << i;
    EXPECT_GE(free.memory_mib, 0) << "node " << i;
    for (std::size_t k = 0; k < snapshot.inventory().kinds.size(); ++k)
      EXPECT_GE(free.gres[k], 0) << "node " << i;
  }
}

/// The request's own words, checked without any of the code under test.
void expect_whole(const PendingJob& job, const Start& start) {
  const ResourceRequest& request = *job.request;
  std::uint32_t task_count = 0;
  std::uint32_t gpus = 0;
  for (const NodeAmount& amount : start.nodes) {
    EXPECT_GE(amount.task_count, 1U);
    task_count += amount.task_count;
    if (request.tasks_per_node > 0) {
      EXPECT_LE(amount.task_count, request.tasks_per_node);
    }
    if (!request.is_overcommit) {
      EXPECT_GE(amount.cpus, amount.task_count * request.cpus_per_task);
    }
    for (const GresCount& count : amount.gres) gpus += count.count;
  }
  EXPECT_GE(task_count, request.task_count);
  EXPECT_GE(start.nodes.size(), request.min_nodes);
  if (request.max_nodes > 0) {
    EXPECT_LE(start.nodes.size(), request.max_nodes);
  }
  for (const GresAmount& amount : request.gres_per_job) EXPECT_GE(gpus, amount.count);
  for (const GresAmount& amount : request.gres_per_node)
    EXPECT_GE(gpus, amount.count * start.nodes.size());
}

/// Random events on a snapshot, as a follower would report them.
class Events {
 public:
  Events(Rng& rng, ClusterSnapshot& snapshot, ResourceRequest request(Rng&) = random_small_request)
      : rng_(rng), snapshot_(snapshot) {
    for (int i = 0; i < 6; ++i) requests_.push_back(request(rng));
  }
  void submit(int count) {
    for (int i = 0; i < count; ++i) {
      snapshot_.add_pending(random_job(rng_, next_id_, requests_));
      pending_.push_back(JobId(next_id_++));
    }
  }
  void one() {
    const std::uint64_t choice = rng_.below(10);
    if (choice < 3) submit(1);
    if (choice >= 3 && choice < 7 && !snapshot_.ends().empty()) {
      snapshot_.end_job(snapshot_.ends()[rng_.below(snapshot_.ends().size())].job);
    }
    const NodeIndex node(pick(rng_, 0, static_cast<std::uint32_t>(snapshot_.node_count() - 1)));
    if (choice == 7)
      snapshot_.set_node_conditions(node,
                                    rng_.chance(0.5) ? node_condition::kDrain : std::uint16_t{0});
    if (choice == 8)
      with_pending([&](JobId job) { snapshot_.set_priority(job, rng_.between(0, 3)); });
    if (choice == 9)
      with_pending([&](JobId job) {
        snapshot_.set_hold(job,
                           rng_.chance(0.5) ? PendingReason::kJobHeldUser : PendingReason::kNone);
      });
  }

 private:
  template <class Act>
  void with_pending(Act act) {
    std::erase_if(pending_, [&](JobId job) { return snapshot_.find_pending(job) == nullptr; });
    if (!pending_.empty()) act(pending_[rng_.below(pending_.size())]);
  }
  Rng& rng_;
  ClusterSnapshot& snapshot_;
  std::vector<ResourceRequest> requests_;
  std::vector<JobId> pending_;
  std::uint32_t next_id_ = 1;
};

void run_history(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  ClusterSnapshot snapshot = make_snapshot(random_cluster(rng));
  const PlanOptions options = random_options(rng);
  Events events(rng, snapshot);
  events.submit(8);
  Planner planner;
  TimePoint now = at(0);
  std::uint32_t element = 1'000'000;
  for (int step = 0; step < 25; ++step) {
    snapshot.advance_time(now);
    const Plan made = planner.plan(snapshot, now, options);
    ASSERT_EQ(made, plan(snapshot, now, options)) << "the memo changed a plan at step " << step;
    for (const Start& start : made.starts) expect_whole(*snapshot.find_pending(start.job), start);
    apply(snapshot, made, element += 100);
    expect_within_totals(snapshot);
    const Plan again = planner.plan(snapshot, now, options);
    ASSERT_TRUE(again.starts.empty())
        << "planning again started job " << again.starts[0].job.value() << " at step " << step;
    if (rng.chance(0.7)) events.one();
    if (rng.chance(0.6)) now = now + Duration::seconds(rng.between(1, 20));
  }
}

TEST(Properties, HistoriesOfRandomEvents) {
  for (std::uint64_t seed = 1; seed <= 1500 && !::testing::Test::HasFailure(); ++seed)
    run_history(seed);
}

/// What outlooks and profiles remember changes no plan. Time passes slowly: nothing is overdue, so
/// that much is remembered.
void run_wide_history(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  ClusterSnapshot snapshot = make_snapshot(wide_cluster(rng));
  const PlanOptions options = random_options(rng);
  Events events(rng, snapshot, wide_request);
  events.submit(30);
  Planner planner;
  TimePoint now = at(0);
  std::uint32_t element = 1'000'000;
  for (int step = 0; step < 60; ++step) {
    snapshot.advance_time(now);
    const Plan made = planner.plan(snapshot, now, options);
    ASSERT_EQ(made, plan(snapshot, now, options)) << "the memo changed a plan at step " << step;
    if (rng.chance(0.8)) apply(snapshot, made, element += 100);
    events.one();
    if (rng.chance(0.2)) now = now + Duration::milliseconds(rng.between(1, 900));
  }
}

TEST(Properties, WhatASearchRemembersChangesNoPlan) {
  for (std::uint64_t seed = 1; seed <= 120 && !::testing::Test::HasFailure(); ++seed)
    run_wide_history(seed);
}

/// Windows that are kept from plan to plan, through all that happens to them.
void run_kept_history(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  ClusterSnapshot snapshot = make_snapshot(random_cluster(rng));
  const PlanOptions options = random_options(rng);
  Events events(rng, snapshot);
  events.submit(12);
  Planner planner;
  Plan last;
  TimePoint now = at(0);
  std::uint32_t element = 1'000'000;
  for (int step = 0; step < 25; ++step) {
    snapshot.advance_time(now);
    const Plan fresh = planner.plan(snapshot, now, options);
    // Before starts that it made the windows of a plan may have been others.
    if (fresh.starts.empty()) {
      ASSERT_EQ(planner.plan(snapshot, now, options, fresh.windows), fresh)
          << "windows of the same instant do not stand at step " << step;
    }
    const Plan made = planner.plan(snapshot, now, options, last.windows);
    ASSERT_EQ(made, Planner().plan(snapshot, now, options, last.windows))
        << "the memo changed a plan at step " << step;
    apply(snapshot, made, element += 100);
    expect_within_totals(snapshot);
    last = planner.plan(snapshot, now, options, made.windows);
    ASSERT_TRUE(last.starts.empty()) << "planning again started something at step " << step;
    ASSERT_EQ(last.windows, made.windows) << "a window moved though nothing has happened";
    if (rng.chance(0.7)) events.one();
    if (rng.chance(0.6)) now = now + Duration::seconds(rng.between(1, 20));
  }
}

TEST(Properties, HistoriesWithKeptWindows) {
  for (std::uint64_t seed = 1; seed <= 1000 && !::testing::Test::HasFailure(); ++seed)
    run_kept_history(seed);
}

/// EASY on one pool of processors by the book, with plain lists. What the paper calls a node is a
/// processor here.
struct BookJob {
  std::uint32_t id;
  std::uint32_t procs;
  std::int64_t limit;
};
std::vector<std::uint32_t> book_easy(std::vector<BookJob> queue,
                                     std::vector<std::pair<std::int64_t, std::uint32_t>> running,
                                     std::uint32_t free, std::int64_t now) {
  std::vector<std::uint32_t> started;
  const auto start = [&](const BookJob& job) {
    free -= job.procs;
    running.emplace_back(now + job.limit, job.procs);
    started.push_back(job.id);
  };
  std::size_t head_job = 0;
  while (head_job < queue.size() && queue[head_job].procs <= free) start(queue[head_job++]);
  if (head_job == queue.size()) return started;
  std::sort(running.begin(), running.end());
  std::uint32_t reach = free;
  std::int64_t shadow_time = now;
  for (std::size_t i = 0; i < running.size() && reach < queue[head_job].procs; ++i) {
    shadow_time = running[i].first;
    while (i < running.size() && running[i].first == shadow_time) reach += running[i++].second;
    --i;
  }
  std::uint32_t extra_nodes = reach - queue[head_job].procs;
  for (std::size_t i = head_job + 1; i < queue.size(); ++i) {
    if (queue[i].procs > free) continue;
    const bool ends_before = now + queue[i].limit <= shadow_time;
    if (!ends_before && queue[i].procs > extra_nodes) continue;
    if (!ends_before) extra_nodes -= queue[i].procs;
    start(queue[i]);
  }
  return started;
}

TEST(Properties, OnePoolEqualsEasyByTheBook) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(1, 16)));
    snapshot.advance_time(at(0));
    std::vector<std::pair<std::int64_t, std::uint32_t>> running;
    std::uint32_t free = 16;
    for (std::uint32_t id = 1; id <= 4; ++id) {
      const std::uint32_t procs = pick(rng, 1, 5);
      if (procs > free) continue;
      const std::int64_t end = rng.between(1, 50);
      snapshot.start_job(
          {JobId(id), PartitionIndex(0), {{NodeIndex(0), 1, procs, 0, {}}}, at(end)});
      running.emplace_back(end, procs);
      free -= procs;
    }
    std::vector<BookJob> queue;
    for (std::uint32_t id = 10; id < 18; ++id) {
      queue.push_back({id, pick(rng, 1, 16), rng.between(1, 60)});
      snapshot.add_pending(make_job(id, tasks(1, queue.back().procs), queue.back().limit));
    }
    std::vector<std::uint32_t> started;
    for (const Start& start : plan(snapshot, at(0)).starts) started.push_back(start.job.value());
    EXPECT_EQ(started, book_easy(queue, running, free, 0));
    if (::testing::Test::HasFailure()) return;
  }
}

/// Does a gang of one task per node with `cpus` each fit, by counting? And when, by trying every
/// end?
TEST(Properties, TheHeadsWindowIsTheEarliestByBruteForce) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::uint32_t count = pick(rng, 1, 5);
    ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(count, 4)));
    snapshot.advance_time(at(0));
    std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> busy(count);
    for (std::uint32_t id = 1; id <= 6; ++id) {
      const std::uint32_t node = pick(rng, 0, count - 1);
      const std::uint32_t cpus = pick(rng, 1, 4);
      if (snapshot.free().at(NodeIndex(node)).cpus < cpus) continue;
      const std::int64_t end = rng.between(1, 30);
      snapshot.start_job(
          {JobId(id), PartitionIndex(0), {{NodeIndex(node), 1, cpus, 0, {}}}, at(end)});
      busy[node].emplace_back(end, cpus);
    }
    const std::uint32_t nodes = pick(rng, 1, count);
    const std::uint32_t cpus = pick(rng, 1, 4);
    snapshot.add_pending(make_job(10, on_nodes(nodes, nodes, cpus)));
    std::int64_t earliest = 0;
    for (;; ++earliest) {
      std::uint32_t fitting = 0;
      for (const auto& jobs : busy) {
        std::uint32_t used = 0;
        for (const auto& [end, amount] : jobs) used += end > earliest ? amount : 0;
        fitting += used + cpus <= 4 ? 1 : 0;
      }
      if (fitting >= nodes) break;
    }
    const Plan made = plan(snapshot, at(0));
    if (earliest == 0) {
      EXPECT_EQ(made.starts.size(), 1U);
    } else {
      ASSERT_EQ(made.windows.size(), 1U);
      EXPECT_EQ(made.windows[0].start, at(earliest));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// What starts on the fast path never moves a window of the plan to a later time.
TEST(Properties, TheFastPathDelaysNoWindow) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(random_cluster(rng));
    snapshot.advance_time(at(0));
    Events events(rng, snapshot);
    events.submit(8);
    const Plan first = plan(snapshot, at(0));
    apply(snapshot, first);
    const Plan base = plan(snapshot, at(0));
    const std::uint32_t id = 500;
    PendingJob job = make_job(id, random_small_request(rng), rng.between(10, 60));
    job.priority = -1;
    snapshot.add_pending(job);
    const FastStart answer = try_start_now(snapshot, base, JobId(id), at(0));
    const auto* start = std::get_if<Start>(&answer);
    const Plan with = plan(snapshot, at(0));
    EXPECT_EQ(start != nullptr, with.starts.size() == 1) << "fast path and plan disagree";
    if (start == nullptr) continue;
    snapshot.remove_pending(JobId(id));
    snapshot.start_job({JobId(id), start->partition, start->nodes, start->end});
    expect_within_totals(snapshot);
    const Plan after = plan(snapshot, at(0));
    ASSERT_EQ(after.windows.size(), base.windows.size());
    for (std::size_t i = 0; i < base.windows.size(); ++i)
      EXPECT_EQ(after.windows[i].start, base.windows[i].start);
    if (::testing::Test::HasFailure()) return;
  }
}

/// What the fast path remembers changes no answer, and a job that starts in room that appeared
/// since the plan is never passed over.
TEST(Properties, TheFastPathAnswersAlikeWithAMemoAndPassesNobodyOver) {
  std::uint32_t starts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(random_cluster(rng));
    snapshot.advance_time(at(0));
    Events events(rng, snapshot);
    events.submit(12);
    apply(snapshot, plan(snapshot, at(0)));
    Plan base = plan(snapshot, at(0));
    FastMemo memo;
    for (int step = 0; step < 12; ++step) {
      const bool has_end = rng.chance(0.7) && !snapshot.ends().empty();
      const NodeIndex node(pick(rng, 0, static_cast<std::uint32_t>(snapshot.node_count() - 1)));
      if (has_end) {
        snapshot.end_job(snapshot.ends()[rng.below(snapshot.ends().size())].job);
      } else {
        snapshot.set_node_conditions(node,
                                     rng.chance(0.5) ? node_condition::kDrain : std::uint16_t{0});
      }
      const auto freed = freed_since(snapshot, base);
      ASSERT_TRUE(freed.has_value());
      std::optional<Start> taken;
      for (const Lane& lane : snapshot.lanes()) {
        if (lane.ready.empty()) continue;
        const JobId job = lane.ready.begin()->job;
        const FastStart answer = try_start_now(snapshot, base, job, at(0));
        ASSERT_EQ(try_start_now(snapshot, base, job, at(0), &memo), answer);
        const auto* start = std::get_if<Start>(&answer);
        if (start == nullptr) continue;
        EXPECT_TRUE(may_start_on(snapshot, lane, *freed)) << "job " << job.value();
        taken = *start;
      }
      if (taken) {
        ++starts;
        snapshot.remove_pending(taken->job);
        snapshot.start_job({taken->job, taken->partition, taken->nodes, taken->end});
      }
      if (rng.chance(0.2)) {
        apply(snapshot, plan(snapshot, at(0)));
        base = plan(snapshot, at(0));
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(starts, 100U);
}

}  // namespace
}  // namespace muster::sched
