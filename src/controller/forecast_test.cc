#include "workload/planning/forecast.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "workload/planning/planner_role.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Rig;
using testing::spec_of;
using testing::submit_of;

PreparedSubmit question_of(std::shared_ptr<JobSpec> spec) {
  PreparedSubmit submit = submit_of(std::move(spec));
  submit.is_test_only = true;
  return submit;
}

Result<ForecastTask> task_of(const Rig& rig, const PreparedSubmit& question) {
  return forecast_task(rig.planner->state(), rig.planner->snapshot(), question, kAlice, rig.now);
}

struct Planned : Rig {
  Planned() : Rig(2) {
    connect_all();
    plan();
  }
};

TEST(Forecast, AFreeClusterStartsItNow) {
  Planned rig;
  const auto task = task_of(rig, question_of(spec_of()));
  ASSERT_TRUE(task.has_value());
  const Reply reply = forecast(*task);
  EXPECT_EQ(reply.expected_start, task->now);
  EXPECT_EQ(reply.text, "using 1 processors on nodes n0 in partition main");
  EXPECT_EQ(reply.job, JobId(1));
  EXPECT_EQ(rig.core.state().jobs().size(), 0U);
}

TEST(Forecast, ABusyClusterStartsItWhenThereIsRoom) {
  Planned rig;
  for (int i = 0; i < 2; ++i) {
    auto full = spec_of();
    full->request.edit()->task_count = 4;
    full->request.edit()->min_nodes = 1;
    full->request.edit()->max_nodes = 1;
    full->time_limit = Duration::minutes(30);
    rig.done(submit_of(full));
  }
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(5);
  const auto task = task_of(rig, question_of(spec));
  ASSERT_TRUE(task.has_value());
  const Reply reply = forecast(*task);
  ASSERT_FALSE(reply.error);
  EXPECT_GE(reply.expected_start, rig.now + Duration::minutes(29));
}

/// Both nodes are taken for half an hour, and another job waits to have them for the next.
struct Busy : Planned {
  Busy() {
    for (int i = 0; i < 2; ++i) {
      auto full = spec_of();
      full->request.edit()->task_count = 8;
      full->request.edit()->min_nodes = 2;
      full->request.edit()->max_nodes = 2;
      full->time_limit = Duration::minutes(30);
      done(submit_of(full));
    }
    plan();
  }
  TimePoint start_of(Duration begin, Duration limit) const {
    auto spec = spec_of();
    spec->begin_time = now + begin;
    spec->time_limit = limit;
    const auto task = task_of(*this, question_of(spec));
    if (!task.has_value()) return {};
    const Reply reply = forecast(*task);
    EXPECT_FALSE(reply.error) << reply.error->text();
    return reply.expected_start;
  }
};

TEST(Forecast, ABeginThatIsToComeIsWhereTheSearchBegins) {
  Planned rig;
  auto spec = spec_of();
  spec->begin_time = rig.now + Duration::minutes(10);
  const auto task = task_of(rig, question_of(spec));
  ASSERT_TRUE(task.has_value());
  const Reply reply = forecast(*task);
  ASSERT_FALSE(reply.error);
  EXPECT_EQ(reply.expected_start, rig.now + Duration::minutes(10));
  EXPECT_EQ(reply.text, "using 1 processors on nodes n0 in partition main");
}

TEST(Forecast, WhatBeginsBeforeTheBeginHoldsItsNodesThen) {
  const Busy rig;
  const auto minutes = [&](std::int64_t begin) {
    return (rig.start_of(Duration::minutes(begin), Duration::minutes(5)) - rig.now).seconds() / 60;
  };
  EXPECT_EQ(minutes(10), 60) << "the first ends, and then the second has the nodes";
  EXPECT_EQ(minutes(40), 60);
  EXPECT_EQ(minutes(70), 70) << "nobody is left";
}

TEST(Forecast, WhatSubmissionWouldRefuseIsRefused) {
  Planned rig;
  auto spec = spec_of();
  spec->request.edit()->min_nodes = 3;
  spec->request.edit()->max_nodes = 3;
  const auto task = task_of(rig, question_of(spec));
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().code, ErrorCode::kInvalidArgument);
}

Command asked_by(const Identity& who, std::uint64_t token) {
  return Command{token, who, {}, {question_of(spec_of())}};
}

TEST(Forecast, OneQuestionIsWorkedUponAtATimeAndUsersTakeTurns) {
  ForecastQueue queue;
  for (std::uint64_t token = 1; token <= 3; ++token)
    ASSERT_TRUE(queue.add(asked_by(kAlice, token)).has_value());
  ASSERT_TRUE(queue.add(asked_by(kBob, 4)).has_value());
  std::vector<std::uint64_t> order;
  while (const auto next = queue.next()) {
    order.push_back(next->token);
    EXPECT_FALSE(queue.next().has_value());
    queue.done();
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 4, 2, 3}));
}

TEST(Forecast, OneUserCannotFillTheQueue) {
  ForecastQueue queue;
  for (std::size_t i = 0; i < ForecastQueue::kWaitingOfUserMax; ++i)
    ASSERT_TRUE(queue.add(asked_by(kAlice, i)).has_value());
  EXPECT_EQ(queue.add(asked_by(kAlice, 99)).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(queue.add(asked_by(kBob, 100)).has_value());
}

}  // namespace
}  // namespace muster
