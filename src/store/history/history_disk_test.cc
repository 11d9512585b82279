// History on a disk that fails.
#include <gtest/gtest.h>

#include "env/faulty_disk.h"
#include "store/history/sqlite_history.h"

namespace muster {
namespace {

JobView ended_run(std::uint32_t job) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, std::string(3000, 'n'));
  JobView view;
  view.id = JobId(job);
  view.spec = std::move(spec);
  view.state = JobState::kCompleted;
  view.submit_time = view.end_time = TimePoint::from_seconds(1'000'000 + job);
  return view;
}

/// A history on a disk that may fail, into which jobs end three at a time.
struct HistoryOnDisk {
  explicit HistoryOnDisk(std::uint64_t seed) : disk(seed) {}
  void open() {
    store.reset();
    auto opened = open_sqlite_history("history.db");
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store = std::move(*opened);
  }
  void add() {
    std::vector<HistoryObject> objects;
    for (int i = 0; i < 3; ++i) objects.emplace_back(ended_run(next++));
    ASSERT_TRUE(store->append(objects, {Seq(store->watermark().value() + 1), {}, {}}).has_value());
  }
  /// kill -9: what the system has in its memory stays.
  void start_again() {
    disk.kill_process();
    store.reset();
    disk.start_process();
    open();
  }
  bool has(std::uint32_t job) const { return store->find(JobId(job))->has_value(); }

  testing::FaultyDisk disk;
  std::unique_ptr<HistoryStore> store;
  std::uint32_t next = 1;  ///< job
};

TEST(HistoryDisk, ASyncThatFailedIsMadeUpForBeforeTheFileIsWritten) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    HistoryOnDisk history(seed);
    history.open();
    history.add();
    history.start_again();  // the log goes on behind what it had, which is on the disk by now
    history.add();
    history.disk.arm(testing::Fault::kSyncError, 1);
    ASSERT_FALSE(history.store->make_durable().has_value());
    history.add();
    const Status durable = history.store->make_durable();
    ASSERT_TRUE(durable.has_value()) << durable.error().text();
    history.disk.kill_process();
    history.store.reset();
    history.disk.lose_power();
    history.open();
    ASSERT_NE(history.store, nullptr);
    EXPECT_EQ(history.store->watermark(), Seq(3));
    EXPECT_EQ(history.store->damage().value(), std::vector<std::string>());
    for (std::uint32_t job = 1; job < history.next; ++job) EXPECT_TRUE(history.has(job));
  }
}

TEST(HistoryDisk, ALogThatIsDoubtedIsNotCopiedAtTheEnd) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    HistoryOnDisk history(seed);
    history.open();
    history.add();
    ASSERT_TRUE(history.store->make_durable().has_value());
    const std::uint32_t durable = history.next;
    history.start_again();
    history.add();
    history.disk.arm(testing::Fault::kSyncError, 1);
    ASSERT_FALSE(history.store->make_durable().has_value());
    history.store.reset();  // an orderly end
    history.disk.kill_process();
    history.disk.lose_power();
    history.open();
    ASSERT_NE(history.store, nullptr);
    EXPECT_EQ(history.store->damage().value(), std::vector<std::string>());
    for (std::uint32_t job = 1; job < durable; ++job) EXPECT_TRUE(history.has(job));
    const std::uint32_t kept = history.store->watermark() == Seq(2) ? history.next : durable;
    for (std::uint32_t job = durable; job < kept; ++job) EXPECT_TRUE(history.has(job));
  }
}

}  // namespace
}  // namespace muster
