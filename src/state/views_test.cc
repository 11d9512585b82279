#include "state/views.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::grant_of;
using testing::Log;
using testing::spec_of;

StepCreated step_with_key(JobId job, const std::string& key) {
  auto spec = std::make_shared<StepSpec>();
  spec->task_count = 3;
  spec->text.set(StepText::kName, "train");
  spec->text.set(StepText::kIoKey, key);
  auto layout = std::make_shared<StepLayout>();
  layout->nodes.push_back(grant_of(0, 0, 2));
  return {StepId{job, 0, 0}, std::move(spec), std::move(layout)};
}

TEST(ViewOfStep, DoesNotShowTheKeyOfItsStreams) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 2)});
  log.add({step_with_key(job, "secret")});
  const StepState& step = *log.job(job).run->find_step(0);
  const StepView view = view_of(step, log.job(job), log.state());
  EXPECT_EQ(view.spec->get(StepText::kIoKey), "");
  EXPECT_EQ(view.spec->get(StepText::kName), "train");
  EXPECT_EQ(view.spec->task_count, 3U);
  EXPECT_EQ(step.spec->get(StepText::kIoKey), "secret");  // what its supervisors are given
}

TEST(ViewOfStep, SharesTheSpecificationOfOneWithoutAKey) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 2)});
  log.add({step_with_key(job, "")});
  const StepState& step = *log.job(job).run->find_step(0);
  EXPECT_EQ(view_of(step, log.job(job), log.state()).spec, step.spec);
}

}  // namespace
}  // namespace muster
