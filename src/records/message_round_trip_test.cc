// Messages of agents, answers and pages come back as they were sent.
#include <gtest/gtest.h>

#include "records/page_codec.h"
#include "records/round_trip.h"
#include "records/wire_records.h"

namespace muster {

template void testing::draw(Page& value, Rng& rng);
template void testing::draw(ToAgent& value, Rng& rng);
template void testing::draw(FromAgent& value, Rng& rng);

namespace {

using testing::difference;
using testing::draw;
using testing::expect_every_kind_round_trips;
using testing::expect_round_trips;
using testing::kSeeds;

TEST(RoundTrip, EveryMessageToAgents) {
  expect_every_kind_round_trips<schema::AgentMessage, ToAgent>();
}
TEST(RoundTrip, EveryMessageFromAgents) {
  expect_every_kind_round_trips<schema::AgentMessage, FromAgent>();
}

TEST(RoundTrip, RepliesAndQueries) {
  expect_round_trips<schema::Reply, Reply>("Reply");
  expect_round_trips<schema::Query, Query>("Query");
  expect_round_trips<schema::JobFilter, JobFilter>("JobFilter");
}

TEST(RoundTrip, Views) {
  expect_round_trips<schema::JobView, JobView>("JobView");
  expect_round_trips<schema::StepView, StepView>("StepView");
  expect_round_trips<schema::NodeView, NodeView>("NodeView");
  expect_round_trips<schema::PartitionView, PartitionView>("PartitionView");
  expect_round_trips<schema::PingView, PingView>("PingView");
  expect_round_trips<schema::ExperimentView, ExperimentView>("ExperimentView");
  expect_round_trips<schema::TrialView, TrialView>("TrialView");
  expect_round_trips<schema::LogQuery, LogQuery>("LogQuery");
  expect_round_trips<schema::LogPage, LogPage>("LogPage");
}

TEST(RoundTrip, Pages) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    Page page;
    draw(page, rng);
    const auto back = records::decode_page(records::encode_page(page));
    ASSERT_TRUE(back.has_value()) << back.error().text();
    ASSERT_EQ(difference(page, *back), "") << "seed " << seed;
  }
}

TEST(RoundTrip, AMessageForTheOtherDirectionIsRefused) {
  EXPECT_EQ(records::decode_from_agent(records::encode_message(ToAgent(ForgetJob{JobId(1), 0})))
                .error()
                .code,
            ErrorCode::kCorruption);
  EXPECT_EQ(records::decode_to_agent(records::encode_message(FromAgent(Heartbeat{}))).error().code,
            ErrorCode::kCorruption);
}

}  // namespace
}  // namespace muster
