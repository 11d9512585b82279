#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "sched/placement/node_order.h"
#include "sched/testing.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {
namespace {

using namespace testing;

/// What takes room on some nodes from `start` until `end`.
struct Taken {
  TimePoint start;
  TimePoint end;
  std::vector<NodeAmount> nodes;
};

/// What is free for a while from an instant on, by looking at everything that takes room.
class ByLooking final : public Availability {
 public:
  ByLooking(const ClusterInventory& inventory, const std::vector<Taken>& taken, TimePoint start,
            Duration duration)
      : inventory_(inventory), taken_(taken), start_(start), until_(start + duration) {}

  NodeFree at(NodeIndex node) const override {
    row_ = row_at(node, start_);
    for (const Taken& one : taken_) {
      if (one.start > start_ && one.start < until_) row_.limit(row_at(node, one.start));
    }
    return row_.view();
  }

 private:
  FreeRow row_at(NodeIndex node, TimePoint when) const {
    FreeRow row(inventory_.total.at(node), inventory_.total.kind_count());
    for (const Taken& one : taken_) {
      if (one.start > when || one.end <= when) continue;
      for (const NodeAmount& amount : one.nodes) {
        if (amount.node == node) row.subtract(amount);
      }
    }
    return row;
  }
  const ClusterInventory& inventory_;
  const std::vector<Taken>& taken_;
  TimePoint start_;
  TimePoint until_;
  mutable FreeRow row_;
};

/// A small cluster in which jobs start and end by chance, planned with one memory all along.
class LivingCluster {
 public:
  explicit LivingCluster(std::uint64_t seed)
      : rng_(seed), snapshot_(make_snapshot(some_cluster())) {
    snapshot_.advance_time(now_);
    const ClusterInventory& inventory = snapshot_.inventory();
    order_ = static_order(inventory);
    kept_ = Outlooks(inventory.node_count(), snapshot_.free().kind_count());
    for (std::uint32_t i = 0; i < kNeeds; ++i)
      snapshot_.add_pending(make_job(1000 + i, some_request()));
  }

  /// Something starts, ends, is put off or goes out of service, and some time passes.
  void live() {
    now_ = now_ + Duration::seconds(rng_.between(0, 8));
    snapshot_.advance_time(now_);
    for (std::uint64_t i = rng_.below(4); i > 0; --i) start_some_job();
    if (!running_.empty() && rng_.chance(0.5)) {
      auto ended = running_.begin();
      std::advance(ended, rng_.below(running_.size()));
      snapshot_.end_job(ended->first);
      running_.erase(ended);
    }
    if (!running_.empty() && rng_.chance(0.2)) {
      running_.begin()->second.end = now_ + Duration::seconds(rng_.between(1, 60));
      snapshot_.change_end(running_.begin()->first, running_.begin()->second.end);
    }
    if (rng_.chance(0.2)) {
      const NodeIndex node(static_cast<std::uint32_t>(rng_.below(kNodes)));
      snapshot_.set_node_conditions(node, rng_.chance(0.5) ? node_condition::kDrain : 0);
    }
  }

  /// A pass that asks for the needs' earliest starts by turns and keeps windows for them.
  void plan() {
    std::vector<NodeIndex> changed;
    const auto changes = snapshot_.changed_since(revision_);
    ASSERT_TRUE(revision_ == 0 || changes.has_value());
    if (changes) {
      for (const auto& [revision, node] : *changes) changed.push_back(node);
    }
    PlanOptions options;
    options.overdue_grace = Duration::seconds(3);
    kept_.begin_pass(snapshot_, now_, options, revision_ == 0 ? nullptr : &changed);
    revision_ = snapshot_.revision();
    Timeline timeline(snapshot_, now_, options, &kept_);
    std::vector<Taken> taken;
    for (const auto& [job, one] : running_) {
      const TimePoint end = one.end > now_ ? one.end : now_ + options.overdue_grace;
      taken.push_back({now_, end, one.nodes});
    }
    for (int i = 0; i < 8; ++i) {
      ask(timeline, taken);
      if (::testing::Test::HasFatalFailure()) return;
      if (rng_.chance(0.1)) {
        timeline.clear_windows();
        std::erase_if(taken, [this](const Taken& one) { return one.start > now_; });
      } else if (rng_.chance(0.3)) {
        release_some_window(timeline, taken);
      }
    }
    if (rng_.chance(0.3)) kept_.forget_unasked();
  }

 private:
  static constexpr std::uint32_t kNodes = 6;
  static constexpr std::uint32_t kNeeds = 5;

  ClusterConfig some_cluster() {
    std::vector<NodeConfig> nodes;
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      const auto cpus = static_cast<std::uint32_t>(4 + 4 * rng_.below(2));
      std::vector<GresPool> gres;
      if (rng_.chance(0.5))
        gres.push_back({"gpu", "a", static_cast<std::uint32_t>(1 + rng_.below(4)), {}});
      nodes.push_back(make_node("n" + std::to_string(i), cpus, 1000, gres));
    }
    return make_cluster(std::move(nodes));
  }
  ResourceRequest some_request() {
    const auto nodes = static_cast<std::uint32_t>(1 + rng_.below(3));
    ResourceRequest request = on_nodes(nodes, nodes + static_cast<std::uint32_t>(rng_.below(3)),
                                       static_cast<std::uint32_t>(1 + rng_.below(3)));
    if (rng_.chance(0.3)) request.gres_per_node.push_back({"gpu", "", 1});
    if (rng_.chance(0.2)) request.is_contiguous = true;
    return request;
  }
  void start_some_job() {
    Taken job{now_, now_ + Duration::seconds(rng_.between(1, 60)), {}};
    if (rng_.chance(0.1)) job.end = TimePoint::never();
    const std::uint64_t first = rng_.below(kNodes);
    for (std::uint64_t n = first; n < std::min<std::uint64_t>(kNodes, first + 1 + rng_.below(3));
         ++n) {
      const NodeIndex node(static_cast<std::uint32_t>(n));
      const std::int64_t cpus = snapshot_.free().at(node).cpus;
      if (cpus > 0)
        job.nodes.push_back({node, 1, static_cast<std::uint32_t>(rng_.between(1, cpus)), 0, {}});
    }
    if (job.nodes.empty()) return;
    const JobId id(next_job_++);
    snapshot_.start_job({id, PartitionIndex(0), job.nodes, job.end});
    running_.emplace(id, std::move(job));
  }

  void ask(Timeline& timeline, std::vector<Taken>& taken) {
    const NeedIndex index(static_cast<std::uint32_t>(rng_.below(kNeeds)));
    const Need& need =
        snapshot_.need(snapshot_.lane(snapshot_.lane_of(JobId(1000 + index.value()))).needs[0]);
    const NeedIndex place(static_cast<std::uint32_t>(&need - snapshot_.needs().data()));
    const Duration duration = Duration::seconds(rng_.between(1, 40));
    const Fitter fitter = need.fitter(snapshot_.inventory());
    const NodeSet allowed = need.nodes() & snapshot_.usable();
    const auto found = timeline.earliest_start(
        {fitter, need.limits, order_, allowed, duration, place, need.serial});
    const auto expected = by_looking(need, allowed, duration, taken);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) return;
    ASSERT_EQ((found->start - now_).microseconds(), (expected->start - now_).microseconds());
    ASSERT_EQ(found->nodes, expected->nodes);
    if (rng_.chance(0.3)) return;
    taken.push_back({found->start, found->start + duration, found->nodes});
    timeline.reserve(window_of(taken.back()));
  }

  static Window window_of(const Taken& one) {
    return {JobId(1), {}, PartitionIndex(0), one.start, one.end, one.nodes};
  }
  void release_some_window(Timeline& timeline, std::vector<Taken>& taken) {
    const auto first = taken.begin() + static_cast<std::ptrdiff_t>(running_.size());
    if (first == taken.end()) return;
    const auto count = static_cast<std::uint64_t>(taken.end() - first);
    const auto released = first + static_cast<std::ptrdiff_t>(rng_.below(count));
    timeline.release(window_of(*released));
    ASSERT_TRUE(timeline.has_room_for(window_of(*released)));
    taken.erase(released);
  }

  std::optional<FuturePlacement> by_looking(const Need& need, const NodeSet& allowed,
                                            Duration duration,
                                            const std::vector<Taken>& taken) const {
    std::set<TimePoint> instants;
    for (const Taken& one : taken) {
      const bool is_near = std::ranges::any_of(
          one.nodes, [&](const NodeAmount& amount) { return allowed.test(amount.node); });
      if (is_near && one.end > now_ && !one.end.is_never()) instants.insert(one.end);
    }
    const Fitter fitter = need.fitter(snapshot_.inventory());
    for (const TimePoint instant : instants) {
      const ByLooking availability(snapshot_.inventory(), taken, instant, duration);
      if (auto nodes = place(fitter, availability, need.limits, order_, allowed))
        return FuturePlacement{instant, std::move(*nodes)};
    }
    return std::nullopt;
  }

  Rng rng_;
  TimePoint now_ = at(0);
  ClusterSnapshot snapshot_;
  std::vector<NodeIndex> order_;
  std::map<JobId, Taken> running_;
  Outlooks kept_;
  std::uint64_t revision_ = 0;
  std::uint32_t next_job_ = 1;
};

TEST(EarliestStart, AgreesWithLookingAtEveryInstantWhateverIsRemembered) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LivingCluster cluster(seed);
    for (int round = 0; round < 12; ++round) {
      cluster.live();
      ASSERT_NO_FATAL_FAILURE(cluster.plan());
    }
  }
}

}  // namespace
}  // namespace muster::sched
