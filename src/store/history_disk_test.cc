// History on a disk that fails.
#include <gtest/gtest.h>

#include "env/faulty_disk.h"
#include "store/history_store.h"

namespace muster {
namespace {

JobView run_of(std::uint32_t job) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, std::string(3000, 'n'));
  JobView view;
  view.id = JobId(job);
  view.spec = std::move(spec);
  view.state = JobState::kCompleted;
  view.submit_time = view.end_time = TimePoint::from_seconds(1'000'000 + job);
  return view;
}

TEST(HistoryDisk, ASyncThatFailedIsMadeUpForBeforeTheFileIsWritten) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    testing::FaultyDisk disk(seed);
    std::unique_ptr<HistoryStore> store;
    const auto open = [&] {
      store.reset();
      auto opened = HistoryStore::open("history.db");
      ASSERT_TRUE(opened.has_value()) << opened.error().text();
      store = std::move(*opened);
    };
    open();
    std::uint32_t next = 1;
    const auto add = [&] {
      std::vector<HistoryObject> objects;
      for (int i = 0; i < 3; ++i) objects.emplace_back(run_of(next++));
      ASSERT_TRUE(
          store->append(objects, {Seq(store->watermark().value() + 1), {}, {}}).has_value());
    };
    add();
    disk.kill_process();
    store.reset();
    disk.start_process();
    open();  // the log goes on behind what it had, which is on the disk by now
    add();
    disk.arm(testing::Fault::kSyncError, 1);
    ASSERT_FALSE(store->make_durable().has_value());
    add();
    const Status durable = store->make_durable();
    ASSERT_TRUE(durable.has_value()) << durable.error().text();
    disk.kill_process();
    store.reset();
    disk.lose_power();
    open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->watermark(), Seq(3));
    EXPECT_EQ(store->damage().value(), std::vector<std::string>());
    for (std::uint32_t job = 1; job < next; ++job)
      EXPECT_TRUE(store->find(JobId(job))->has_value());
  }
}

TEST(HistoryDisk, ALogThatIsDoubtedIsNotCopiedAtTheEnd) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    testing::FaultyDisk disk(seed);
    std::unique_ptr<HistoryStore> store;
    const auto open = [&] {
      store.reset();
      auto opened = HistoryStore::open("history.db");
      ASSERT_TRUE(opened.has_value()) << opened.error().text();
      store = std::move(*opened);
    };
    std::uint32_t next = 1;
    const auto add = [&] {
      std::vector<HistoryObject> objects;
      for (int i = 0; i < 3; ++i) objects.emplace_back(run_of(next++));
      ASSERT_TRUE(
          store->append(objects, {Seq(store->watermark().value() + 1), {}, {}}).has_value());
    };
    open();
    add();
    ASSERT_TRUE(store->make_durable().has_value());
    const std::uint32_t durable = next;
    disk.kill_process();
    store.reset();
    disk.start_process();
    open();
    add();
    disk.arm(testing::Fault::kSyncError, 1);
    ASSERT_FALSE(store->make_durable().has_value());
    store.reset();  // an orderly end
    disk.kill_process();
    disk.lose_power();
    open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->damage().value(), std::vector<std::string>());
    for (std::uint32_t job = 1; job < durable; ++job)
      EXPECT_TRUE(store->find(JobId(job))->has_value());
    const std::uint32_t kept = store->watermark() == Seq(2) ? next : durable;
    for (std::uint32_t job = durable; job < kept; ++job)
      EXPECT_TRUE(store->find(JobId(job))->has_value());
  }
}

}  // namespace
}  // namespace muster
