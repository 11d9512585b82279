// Numbers at their ends, which no door lets in and an old journal may hold: nothing wraps around,
// nothing is given that is not there, and no plan aborts.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/rng.h"
#include "sched/planner.h"
#include "sched/satisfiable.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

template <class T>
T extreme(Rng& rng) {
  constexpr T kMost = std::numeric_limits<T>::max();
  const std::array<T, 8> ends{
      0, 1, 2, 3, kMost, kMost - 1, static_cast<T>(kMost / 2), static_cast<T>(kMost / 2 + 1)};
  return ends[rng.below(ends.size())];
}
/// Most numbers as usual, some at an end: else nothing would ever fit.
template <class T>
void maybe_set(Rng& rng, T& number) {
  if (rng.chance(0.2)) number = extreme<T>(rng);
}

ResourceRequest extreme_request(Rng& rng) {
  ResourceRequest request = tasks(1, 1);
  maybe_set(rng, request.min_nodes);
  maybe_set(rng, request.max_nodes);
  maybe_set(rng, request.task_count);
  maybe_set(rng, request.tasks_per_node);
  maybe_set(rng, request.cpus_per_task);
  maybe_set(rng, request.min_cpus_per_node);
  maybe_set(rng, request.cpus_per_gpu);
  maybe_set(rng, request.memory_mib);
  request.memory_scope = static_cast<MemoryScope>(rng.below(4));
  request.is_exclusive = rng.chance(0.2);
  request.is_overcommit = rng.chance(0.2);
  // Once a count is below one, nothing is asked for.
  request.min_nodes = std::max(request.min_nodes, 1U);
  request.task_count = std::max(request.task_count, 1U);
  request.cpus_per_task = std::max(request.cpus_per_task, 1U);
  if (request.max_nodes != 0) request.max_nodes = std::max(request.max_nodes, request.min_nodes);
  return request;
}

TEST(Extremes, NothingIsGivenThatIsNotThere) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(3, 4)));
    snapshot.advance_time(at(0));
    for (std::uint32_t id = 1; id <= 12; ++id) {
      PendingJob job = make_job(id, extreme_request(rng));
      if (rng.chance(0.3))
        job.time_limit = rng.chance(0.3) ? Duration::infinite()
                                         : Duration::microseconds(extreme<std::int64_t>(rng));
      if (job.time_limit == Duration()) job.time_limit = Duration::seconds(1);
      snapshot.add_pending(job);
    }
    PlanOptions options = rng.chance(0.5) ? PlanOptions::conservative() : PlanOptions();
    const Plan plan = sched::plan(snapshot, at(0), options);
    std::array<std::uint64_t, 3> cpus{};
    std::array<std::uint64_t, 3> memory{};
    for (const Start& start : plan.starts) {
      for (const NodeAmount& amount : start.nodes) {
        cpus[amount.node.value()] += amount.cpus;
        memory[amount.node.value()] += amount.memory_mib;
        ASSERT_LE(amount.memory_mib, 1000U);
      }
    }
    for (std::size_t node = 0; node < 3; ++node) {
      ASSERT_LE(cpus[node], 4U);
      ASSERT_LE(memory[node], 1000U);
    }
    for (const Window& window : plan.windows) {
      ASSERT_GT(window.start, at(0));
      ASSERT_GE(window.end, window.start);
    }
  }
}

TEST(Extremes, NoDeviceIsGivenThatIsNotThere) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<NodeConfig> nodes;
    for (const char* name : {"n0", "n1"}) {
      nodes.push_back(make_node(name, 8, 1000, {{"gpu", "a100", 2, {}}, {"gpu", "h100", 2, {}}}));
    }
    ClusterSnapshot snapshot = make_snapshot(make_cluster(nodes));
    snapshot.advance_time(at(0));
    ResourceRequest request = extreme_request(rng);
    for (const auto amounts : {&ResourceRequest::gres_per_node, &ResourceRequest::gres_per_task,
                               &ResourceRequest::gres_per_job}) {
      for (const char* type : {"", "a100", "h100"}) {
        if (rng.chance(0.7)) continue;
        (request.*amounts).push_back({"gpu", type, 1});
        maybe_set(rng, (request.*amounts).back().count);
      }
    }
    maybe_set(rng, request.tasks_per_gpu);
    const bool could_run =
        check_satisfiable(snapshot.inventory(), request, PartitionIndex(0), Duration::seconds(1))
            .is_satisfiable();
    snapshot.add_pending(make_job(1, request));
    const Plan plan = sched::plan(snapshot, at(0));
    ASSERT_TRUE(could_run || plan.starts.empty());
    for (const Start& start : plan.starts) {
      for (const NodeAmount& amount : start.nodes) {
        ASSERT_LE(amount.cpus, 8U);
        std::uint64_t gpus = 0;
        for (const GresCount& part : amount.gres) {
          ASSERT_LE(part.count, 2U);
          gpus += part.count;
        }
        for (const GresAmount& asked : request.gres_per_node) ASSERT_LE(asked.count, gpus);
      }
    }
  }
}

TEST(Extremes, LimitsThatAddUpBeyondAllTimeComeToNever) {
  ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(1, 4)));
  snapshot.advance_time(at(0));
  for (std::uint32_t id = 1; id <= 20; ++id) {
    PendingJob job = make_job(id, tasks(1, 4));
    job.time_limit = Duration::microseconds(std::int64_t{1} << 62);
    snapshot.add_pending(job);
  }
  const Plan plan = sched::plan(snapshot, at(0), PlanOptions::conservative());
  ASSERT_EQ(plan.starts.size(), 1U);
  for (const Window& window : plan.windows) {
    EXPECT_GT(window.start, at(0));
    EXPECT_FALSE(window.start.is_never());
  }
}

}  // namespace
}  // namespace muster::sched
