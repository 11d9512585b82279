// Who waits for a job or a step is answered when it has come so far, and never by another's end.
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include "admission/testing.h"
#include "gateway/testing.h"
#include "state/testing.h"

namespace muster {
namespace {

using testing::grant_of;
using testing::kAlice;

/// A job of one step, whose launch has the key 7.
struct OneStep {
  OneStep() : io(kj::setupAsyncIo()), gateway(port, io.provider->getTimer(), replica) {
    job = log.submit(testing::spec_of());
    log.start(job, {grant_of(0, 0, 2)});
    auto layout = std::make_shared<StepLayout>();
    layout->nodes = {grant_of(0, 0, 1)};
    StepCreated created{StepId{job, 0, 0}, std::make_shared<const StepSpec>(), std::move(layout)};
    created.launch_key = 7;
    log.add({created});
    report();
  }
  void report() {
    for (; told < log.batches().size(); ++told) gateway.on_update({log.batches()[told], {}});
  }
  /// Nullopt: it waits still.
  std::optional<WaitAnswer> wait(std::uint64_t launch_key) {
    return wait(
        gateway.wait(kAlice, WaitFor{StepId{job, 0, 0}, WaitUntil::kStepEnded, launch_key}));
  }
  std::optional<WaitAnswer> wait(kj::Promise<WaitAnswer> promise) {
    if (!promise.poll(io.waitScope)) return std::nullopt;
    return promise.wait(io.waitScope);
  }

  kj::AsyncIoContext io;
  testing::SilentPort port;
  testing::Log log;
  QueryReplica replica{"host", "test"};
  Gateway gateway;
  JobId job;
  std::size_t told = 0;
};

TEST(Wait, IsOverWhenTheStepEnds) {
  OneStep rig;
  EXPECT_FALSE(rig.wait(7)) << "it runs";
  auto answer = rig.gateway.wait(kAlice, WaitFor{StepId{rig.job, 0, 0}, WaitUntil::kStepEnded, 7});
  StepEnded ended;
  ended.step = StepId{rig.job, 0, 0};
  ended.exit = ExitStatus::exited(3);
  rig.log.add({ended});
  rig.report();
  const auto told = rig.wait(kj::mv(answer));
  ASSERT_TRUE(told && told->step);
  EXPECT_EQ(told->step->exit, ExitStatus::exited(3));
}

TEST(Wait, IsOverAtOnceWhenTheStepIsNotOfThisRun) {
  OneStep rig;
  const WaitFor lost{StepId{rig.job, 0, 5}, WaitUntil::kStepEnded,
                     9};  // of a state of which an older copy was put back
  const auto told = rig.wait(rig.gateway.wait(kAlice, lost));
  ASSERT_TRUE(told && told->error);
  EXPECT_EQ(told->error->code, ErrorCode::kNotFound);
  EXPECT_FALSE(
      rig.wait(rig.gateway.wait(kAlice, WaitFor{StepId{rig.job, 0, 5}, WaitUntil::kStepEnded})))
      << "it may be on its way";
}

TEST(Wait, IsOverAtOnceWhenAnotherStepHasTheNumber) {
  OneStep rig;
  const auto told = rig.wait(8);
  ASSERT_TRUE(told && told->error);
  EXPECT_EQ(told->error->code, ErrorCode::kNotFound);
  EXPECT_FALSE(told->step);
  EXPECT_FALSE(rig.wait(0)) << "whichever has the number";
}

}  // namespace
}  // namespace muster
