// Everything that is journalled comes back as it was. The values are drawn member by member
// (testing.h), so a member of a model struct that its list of fields forgets comes back as its
// default and fails here.
#include <gtest/gtest.h>

#include "records/batch_codec.h"
#include "records/event_records.h"
#include "records/round_trip.h"

namespace muster {

template void testing::draw(EventBatch& value, Rng& rng);

namespace {

using testing::difference;
using testing::draw;
using testing::for_each_alternative;
using testing::kSeeds;
using testing::there_and_back;

TEST(Testing, FindsMembersAndEnumerators) {
  EXPECT_EQ(member_count<StepId>(), 3);
  EXPECT_EQ(member_count<NodeConfig>(), 14);
  EXPECT_EQ(testing::enumerators<JobState>().size(), static_cast<std::size_t>(kJobStateCount));
  EXPECT_EQ(testing::enumerators<ErrorCode>().front(), ErrorCode::kInvalidArgument);
  StepId a;
  StepId b;
  EXPECT_EQ(difference(a, b), "");
  b.step = 1;
  EXPECT_EQ(difference(a, b), ".2!");
}

TEST(Testing, DrawsEveryMemberOfTheLargestStruct) {
  Rng rng(1);
  JobSpec spec;
  draw(spec, rng);
  EXPECT_NE(spec.request->task_count, JobSpec().request->task_count);
  EXPECT_NE(spec.environment, BlobId());
  EXPECT_NE(spec.get(JobText::kRlimits).size() + spec.get(JobText::kName).size(), 0U);
}

// ---- journal ----

TEST(RoundTrip, EveryKindOfEvent) {
  for_each_alternative<EventBody>([](EventBody kind) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(seed);
      Event event{TimePoint::from_seconds(1), kind};
      draw(event, rng);
      ASSERT_EQ(difference(event, there_and_back<schema::Event>(event)), "")
          << "kind " << kind.index() << ", seed " << seed;
    }
  });
}

TEST(RoundTrip, Batches) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    EventBatch batch;
    draw(batch, rng);
    batch.dead_blobs.clear();                                  // follow from the state
    for (BlobWrite& blob : batch.blobs) blob.bytes = nullptr;  // have rows of their own
    const auto back = records::decode_batch(records::encode_batch(batch));
    ASSERT_TRUE(back.has_value()) << back.error().text();
    ASSERT_EQ(difference(batch, *back), "") << "seed " << seed;
  }
}

TEST(RoundTrip, AnEventOfAKindThatThisVersionDoesNotKnowIsNamed) {
  const auto bytes_of = [](EventBody body) {
    EventBatch batch;
    batch.events.push_back(Event{{}, std::move(body)});
    return records::encode_batch(batch);
  };
  // The two differ in their kind alone.
  std::string bytes = bytes_of(JobSuspended{JobId(1)});
  const std::string other = bytes_of(JobResumed{JobId(1)});
  const auto kind =
      static_cast<std::size_t>(std::ranges::mismatch(bytes, other).in1 - bytes.begin());
  bytes[kind] = static_cast<char>(200);
  const auto back = records::decode_batch(bytes);
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().code, ErrorCode::kCorruption);
  EXPECT_NE(back.error().text().find("event of an unknown kind: written by a newer version"),
            std::string::npos);
  EXPECT_NE(back.error().text().find("200"), std::string::npos) << back.error().text();
}

}  // namespace
}  // namespace muster
