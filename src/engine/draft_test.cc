#include "engine/draft.h"

#include <gtest/gtest.h>

#include "state/testing.h"
#include "text/digest.h"

namespace muster {
namespace {

using testing::Log;
using testing::spec_of;

PreparedBlob blob_of(const std::string& text) {
  return {sha256(text), std::make_shared<const std::string>(text)};
}

TEST(Draft, IdsGoOnFromTheState) {
  Log log;
  log.submit(spec_of());
  Draft draft(log.state());
  EXPECT_EQ(draft.allot_job(), JobId(2));
  EXPECT_EQ(draft.allot_job(), JobId(3));
  EXPECT_EQ(log.state().next_job(), JobId(2));  // nothing has happened yet
}

TEST(Draft, EqualBytesAreOneBlob) {
  Log log;
  Draft draft(log.state());
  EXPECT_EQ(draft.blob_for({}), BlobId(0));
  EXPECT_EQ(draft.blob_for(blob_of("a")), BlobId(1));
  EXPECT_EQ(draft.blob_for(blob_of("b")), BlobId(2));
  EXPECT_EQ(draft.blob_for(blob_of("a")), BlobId(1));
  ASSERT_EQ(draft.blobs.size(), 2U);
  EXPECT_EQ(draft.blobs[1].size, 1U);
}

TEST(Draft, AJobIsClaimedOnce) {
  Log log;
  Draft draft(log.state());
  EXPECT_FALSE(draft.is_claimed(JobId(1)));
  EXPECT_TRUE(draft.claim(JobId(1)));
  EXPECT_FALSE(draft.claim(JobId(1)));
  EXPECT_TRUE(draft.is_claimed(JobId(1)));
}

TEST(Draft, RemembersWhatItHasSplitOff) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  Draft draft(log.state());
  const JobId element = draft.split(array, 1);
  Bitmap left = Bitmap::range(0, 3);
  left.reset(1);
  EXPECT_EQ(draft.remaining(log.job(array)), left);
  EXPECT_EQ(draft.splits(array).at(1), element);
  EXPECT_TRUE(draft.splits(JobId(77)).empty());
  EXPECT_EQ(log.job(array).array->remaining.indices, Bitmap::range(0, 3));
}

}  // namespace
}  // namespace muster
