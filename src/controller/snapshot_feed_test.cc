#include "workload/planning/snapshot_feed.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "workload/planning/planner_role.h"

namespace muster {
namespace {

using testing::control_of;
using testing::Rig;
using testing::selector_of;
using testing::spec_of;
using testing::submit_of;

/// A feed that saw every event has what one has that loads the state.
void expect_as_loaded(const Rig& rig) {
  sched::ClusterSnapshot loaded;
  SnapshotFeed feed(loaded);
  feed.load(rig.planner->state());
  rig.planner->state().jobs().for_each([&](const Job& job) {
    const sched::PendingJob* followed = rig.planner->snapshot().find_pending(job.id);
    const sched::PendingJob* fresh = loaded.find_pending(job.id);
    ASSERT_EQ(followed == nullptr, fresh == nullptr) << "job " << job.id.value();
    if (fresh == nullptr) return;
    if (fresh->throttle != 0) {  // else nobody asks for it
      EXPECT_EQ(followed->running_count, fresh->running_count) << "job " << job.id.value();
    }
    EXPECT_EQ(followed->throttle, fresh->throttle) << "job " << job.id.value();
    EXPECT_EQ(followed->element_count, fresh->element_count) << "job " << job.id.value();
    EXPECT_EQ(followed->hold, fresh->hold) << "job " << job.id.value();
  });
}

TEST(SnapshotFeed, ElementsThatWaitAgainFollowTheirArraysCounts) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  PreparedSubmit submit = submit_of(spec_of());
  submit.array = ArraySpec{Bitmap::range(0, 6), 3};
  const JobId array = rig.done(std::move(submit)).job;
  rig.plan();
  const std::map<std::uint32_t, JobId> elements = *rig.core.state().jobs().elements(array);
  ASSERT_EQ(elements.size(), 3U) << "so many may run at once";
  const auto end = [&](JobId job) {
    const NodeIndex node = rig.job(job).run->allocation->nodes.front().node;
    rig.step_done(node.value(), rig.batch_step(job), ExitStatus());
    rig.plan();
  };
  const JobId first = elements.at(0);
  const std::uint32_t node = rig.job(first).run->allocation->nodes.front().node.value();
  rig.done(control_of(JobVerb::kRequeue, selector_of(first)));
  rig.pass(Duration::seconds(2));
  rig.step_done(node, rig.batch_step(first), ExitStatus::signalled(15));
  rig.hear(node, JobClean{first, rig.job(first).attempt});
  ASSERT_TRUE(rig.job(first).is_pending());
  expect_as_loaded(rig);
  ASSERT_NE(rig.planner->snapshot().find_pending(first), nullptr);
  EXPECT_EQ(rig.planner->snapshot().find_pending(first)->running_count,
            rig.job(array).array->active_elements);
  for (const char* throttle : {"2", "0", "1"}) {
    rig.done(UpdateObject{
        UpdateKind::kJob, std::to_string(array.value()), {{"ArrayTaskThrottle", throttle}}});
    expect_as_loaded(rig);
    EXPECT_EQ(std::to_string(rig.planner->snapshot().find_pending(first)->throttle), throttle);
  }
  end(elements.at(1));
  expect_as_loaded(rig);
  end(elements.at(2));
  expect_as_loaded(rig);
}

/// `scontrol update nodename=RANGE` is one event a node: each would cost as much as the cluster is
/// large.
TEST(SnapshotFeed, ManyNodesThatChangeAreCompiledOnce) {
  ClusterState state;
  state.copy_from(Rig(3).core.state());
  sched::ClusterSnapshot snapshot;
  SnapshotFeed feed(snapshot);
  feed.load(state);
  const auto weights = [&] {
    std::vector<std::uint32_t> all;
    for (const NodeConfig& node : snapshot.config().nodes) all.push_back(node.weight);
    return all;
  };
  const std::vector<std::uint32_t> before = weights();
  for (std::uint32_t node = 0; node < 3; ++node) {
    NodeChanged change;
    change.node = NodeIndex(node);
    change.weight = 70 + node;
    const Event event{state.time(), change};
    state.apply(event, nullptr);
    feed.on_event(event, state);
    EXPECT_EQ(weights(), before) << "others are still to come";
  }
  feed.refresh(state);
  EXPECT_EQ(weights(), (std::vector<std::uint32_t>{70, 71, 72}));
}

}  // namespace
}  // namespace muster
