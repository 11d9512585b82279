#include "gateway/user_index.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::Log;

struct UserIndexTest : ::testing::Test {
  JobId submit(std::uint32_t uid, std::optional<ArraySpec> array = {}) {
    auto spec = testing::spec_of();
    spec->user = UserId(uid);
    const JobId job = log.submit(spec, std::move(array));
    follow();
    return job;
  }
  void add(EventBody body) {
    log.add({std::move(body)});
    follow();
  }
  void follow() {
    for (const Event& event : log.batches().back()->events) index.on_event(event, log.state());
  }
  std::vector<std::uint32_t> jobs_of(std::vector<std::uint32_t> uids) {
    constexpr std::size_t kAtOnce = 2;
    std::vector<std::uint32_t> ids;
    for (bool is_more = true; is_more;) {
      const auto jobs =
          index.jobs_of(uids, JobId(ids.empty() ? 0 : ids.back() + 1), kAtOnce, log.state());
      for (const Job* job : jobs) ids.push_back(job->id.value());
      is_more = jobs.size() == kAtOnce;
    }
    return ids;
  }
  Log log;
  UserIndex index;
};

using Ids = std::vector<std::uint32_t>;

TEST_F(UserIndexTest, KnowsWhatWasThereBeforeAndWhatCameAfterTheFirstQuestion) {
  submit(7);
  submit(8);
  EXPECT_EQ(jobs_of({7}), (Ids{1}));
  submit(7);
  submit(9);
  EXPECT_EQ(jobs_of({7}), (Ids{1, 3}));
  EXPECT_EQ(jobs_of({9, 7, 9}), (Ids{1, 3, 4}));
  EXPECT_EQ(jobs_of({10}), Ids{});
}

TEST_F(UserIndexTest, FollowsSplitsAndEvictions) {
  EXPECT_EQ(jobs_of({7}), Ids{});
  const JobId array = submit(7, ArraySpec{Bitmap::range(0, 3), 0});
  add(ArraySplit{array, 0, log.state().next_job()});
  EXPECT_EQ(jobs_of({7}), (Ids{1, 2}));
  log.end(JobId(2), JobState::kCancelled, true);
  follow();
  add(JobsEvicted{{JobId(2)}});
  EXPECT_EQ(jobs_of({7}), (Ids{1}));
}

TEST_F(UserIndexTest, ManyEvictionsLeaveWhatIsThere) {
  EXPECT_EQ(jobs_of({7}), Ids{});
  std::vector<JobId> gone;
  for (int i = 0; i < 1500; ++i) gone.push_back(submit(i % 2 == 0 ? 7 : 8));
  const JobId kept = submit(7);
  for (const JobId job : gone) log.end(job, JobState::kCancelled, true);
  add(JobsEvicted{gone});
  EXPECT_EQ(jobs_of({7}), (Ids{kept.value()}));
  EXPECT_EQ(jobs_of({8}), Ids{});
}

}  // namespace
}  // namespace muster
