// Reading history page by page: which rows, in which order, how much at once.
#include "store/history/sqlite_history.h"

#include <gtest/gtest.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/check.h"

namespace muster {
namespace {

constexpr JobId kAll = JobId(UINT32_MAX);

TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(1'000'000 + seconds); }

JobView run_of(std::uint32_t job, std::uint32_t attempt = 0, std::uint32_t user = 1000,
               const std::string& name = "job") {
  auto spec = std::make_shared<JobSpec>();
  spec->user = UserId(user);
  spec->text.set(JobText::kName, name);
  JobView view;
  view.id = JobId(job);
  view.attempt = attempt;
  view.spec = std::move(spec);
  view.state = JobState::kCompleted;
  view.submit_time = at(job);
  view.end_time = at(job + 10 + attempt);
  return view;
}

class HistoryStoreTest : public ::testing::Test {
 protected:
  HistoryStoreTest() { open(); }
  ~HistoryStoreTest() override {
    store.reset();
    std::filesystem::remove_all(folder_);
  }
  void open() {
    store.reset();
    auto opened = open_sqlite_history(path());
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store = std::move(*opened);
  }
  std::string path() const { return folder_ + "/history.db"; }
  void add(std::vector<HistoryObject> objects) {
    ASSERT_TRUE(store->append(objects, {Seq(store->watermark().value() + 1), {}, {}}).has_value());
  }
  void add_jobs(std::uint32_t first, std::uint32_t count, std::uint32_t user = 1000) {
    std::vector<HistoryObject> objects;
    for (std::uint32_t i = 0; i < count; ++i) objects.emplace_back(run_of(first + i, 0, user));
    add(std::move(objects));
  }
  /// All that a query has, page by page; `between` happens after each.
  std::vector<HistoryKey> read(
      const Query& query, JobId until = kAll, const std::function<void()>& between = [] {}) {
    std::vector<HistoryKey> keys;
    HistoryCursor cursor;
    calls = 0;
    damaged.clear();
    for (bool is_end = false; !is_end; ++calls) {
      auto page = store->read(query, cursor, until);
      CHECK(page.has_value(), "{}", page.error().text());
      EXPECT_LE(page->jobs.size(), HistoryStore::kRowsMax);
      for (const JobView& job : page->jobs) keys.push_back({job.id, job.attempt});
      damaged.insert(damaged.end(), page->damaged.begin(), page->damaged.end());
      is_end = page->is_end;
      between();
    }
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    return keys;
  }
  std::vector<std::uint32_t> jobs(const Query& query) {
    std::vector<std::uint32_t> ids;
    for (const HistoryKey& key : read(query)) ids.push_back(key.job.value());
    return ids;
  }

  /// As a damaged disk might.
  void change(const std::string& statement) {
    soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
    session << statement;
  }

  std::unique_ptr<HistoryStore> store;
  int calls = 0;
  std::vector<HistoryKey> damaged;  ///< of the last read

 private:
  std::string folder_ = [] {
    std::string name = (std::filesystem::temp_directory_path() / "muster-history.XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
};

TEST_F(HistoryStoreTest, AllOfItInTheOrderOfNumbersAPageAtATime) {
  add_jobs(2000, 1500);
  add_jobs(1, 700);
  add({run_of(5, 1), run_of(5, 2)});
  const auto keys = read({});
  EXPECT_EQ(keys.size(), 2202U);
  EXPECT_EQ(std::ranges::count(keys, JobId(5), &HistoryKey::job), 3);
  EXPECT_GE(calls, 9);
}

TEST_F(HistoryStoreTest, NamesANewerFormatAndLeavesTheFileAsItIs) {
  add_jobs(1, 3);
  store.reset();
  {
    soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
    session << "UPDATE meta SET value = 2 WHERE name = 'format'";
    session << "DROP TABLE blocks";
  }
  for (const bool is_to_read : {false, true}) {
    const auto newer =
        is_to_read ? open_sqlite_history_to_read(path()) : open_sqlite_history(path());
    ASSERT_FALSE(newer.has_value());
    EXPECT_EQ(newer.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(newer.error().message, "history has format 2");
    EXPECT_NE(newer.error().detail.find("reads up to 1"), std::string::npos)
        << newer.error().detail;
  }
  soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
  int blocks = 0;
  session << "SELECT COUNT(*) FROM sqlite_master WHERE name = 'blocks'", soci::into(blocks);
  EXPECT_EQ(blocks, 0);
}

TEST_F(HistoryStoreTest, NothingIsAPageToo) { EXPECT_TRUE(read({}).empty()); }

TEST_F(HistoryStoreTest, WhatComesInFurtherOnIsReadAndWhatIsBehindIsNotReadTwice) {
  add_jobs(1, 600);
  add_jobs(5000, 600);
  int round = 0;
  const auto keys = read({}, kAll, [&] {
    if (round++ == 0) add({run_of(3, 0), run_of(4000), run_of(9000)});
  });
  EXPECT_EQ(keys.size(), 1202U);
  EXPECT_EQ(std::ranges::count(keys, JobId(3), &HistoryKey::job), 1);
}

TEST_F(HistoryStoreTest, ReadsUpToANumberAndThenFurther) {
  add_jobs(1, 100);
  HistoryCursor cursor;
  auto page = store->read({}, cursor, JobId(40));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->jobs.size(), 39U);
  EXPECT_TRUE(page->is_end);
  EXPECT_TRUE(store->read({}, cursor, JobId(40))->jobs.empty());
  page = store->read({}, cursor, kAll);
  EXPECT_EQ(page->jobs.size(), 61U);
}

TEST_F(HistoryStoreTest, OfADayOnlyTheBlocksAreReadThatHaveSomethingOfIt) {
  add_jobs(1, 60'000);
  Query query;
  query.since = at(59'900);
  EXPECT_EQ(jobs(query).size(), 111U);
  EXPECT_LE(calls, 3) << "60 blocks, of which the last one or two are looked through";
  query.since = TimePoint::from_microseconds(1);
  query.until = at(100);
  EXPECT_EQ(jobs(query).size(), 100U);
  EXPECT_LE(calls, 2);
}

TEST_F(HistoryStoreTest, FewOfManyAreFoundByTheirOwnerNameOrNumber) {
  add_jobs(1, 20'000);
  add({run_of(30'000, 0, 7), run_of(17, 1, 7, "it's"), run_of(40'000, 0, 7)});
  Query query;
  query.filter.uids = {7};
  EXPECT_EQ(jobs(query), (std::vector<std::uint32_t>{17, 30'000, 40'000}));
  EXPECT_EQ(calls, 1);
  query.since = at(1000);
  EXPECT_EQ(jobs(query), (std::vector<std::uint32_t>{30'000, 40'000}));
  query = {};
  query.filter.names = {"it's"};
  EXPECT_EQ(jobs(query), (std::vector<std::uint32_t>{17}));
  query = {};
  query.filter.jobs.resize(2);
  query.filter.jobs[0].job = JobId(17);
  query.filter.jobs[1].job = JobId(90'000);
  EXPECT_EQ(jobs(query), (std::vector<std::uint32_t>{17, 17}));
}

TEST_F(HistoryStoreTest, AnOwnerOfVeryManyIsReadInPagesToo) {
  add_jobs(1, 9'000, 7);
  add_jobs(9'001, 1'000, 8);
  Query query;
  query.filter.uids = {7};
  EXPECT_EQ(jobs(query).size(), 9'000U);
  query.filter.uids = {7, 8};
  EXPECT_EQ(jobs(query).size(), 10'000U);
}

TEST_F(HistoryStoreTest, ALongRowFillsAPageByItself) {
  std::vector<HistoryObject> objects;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    JobView view = run_of(i);
    view.detail = std::string(200'000, 'x');
    objects.emplace_back(std::move(view));
  }
  add(std::move(objects));
  EXPECT_EQ(jobs({}).size(), 20U);
  EXPECT_GE(calls, 10);
}

TEST_F(HistoryStoreTest, StepsComeInPagesToo) {
  std::vector<HistoryObject> objects;
  for (const std::uint32_t number : {7U, 0U, 3U, kBatchStep}) {
    StepView step;
    step.id = StepId{JobId(1), 0, number};
    objects.emplace_back(std::move(step));
  }
  add(std::move(objects));
  const HistoryKey key{JobId(1), 0};
  auto steps = store->steps_of(key, std::nullopt, 2);
  ASSERT_EQ(steps->steps.size(), 2U);
  EXPECT_EQ(steps->last, 3U);
  steps = store->steps_of(key, 3, 10);
  ASSERT_EQ(steps->steps.size(), 2U);
  EXPECT_EQ(steps->last, kBatchStep);
}

TEST_F(HistoryStoreTest, ADamagedRowIsPassedOverAndNamed) {
  add_jobs(1, 5);
  StepView step;
  step.id = StepId{JobId(2), 0, 0};
  StepView next = step;
  next.id.step = 1;
  add({step, next});
  EXPECT_TRUE(store->damage()->empty());
  // One bit of a record; another row's record; another user's number.
  change(
      "UPDATE jobs SET record = CAST(replace(CAST(record AS TEXT), 'job', 'jnb') AS BLOB) WHERE "
      "job = 3");
  change("UPDATE steps SET record = (SELECT record FROM steps WHERE step = 1) WHERE step = 0");
  EXPECT_EQ(jobs({}), (std::vector<std::uint32_t>{1, 2, 4, 5}));
  ASSERT_EQ(damaged.size(), 1U);
  EXPECT_EQ(damaged[0].job, JobId(3));
  EXPECT_EQ(store->find(JobId(3)).error().code, ErrorCode::kCorruption);
  EXPECT_TRUE(store->find(JobId(4))->has_value());
  const auto steps = store->steps_of({JobId(2), 0}, std::nullopt, 10);
  EXPECT_EQ(steps->steps.size(), 1U);
  EXPECT_EQ(steps->damaged_count, 1U);
  change("UPDATE jobs SET uid = 1234 WHERE job = 5");
  const auto found = store->damage();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found,
            (std::vector<std::string>{"the record of job 3 (attempt 0) in history is damaged",
                                      "the record of job 5 (attempt 0) in history is damaged",
                                      "the record of step 2.0 (attempt 0) in history is damaged"}));
}

TEST_F(HistoryStoreTest, ADamagedPageIsFoundAndHidesNoOtherDamage) {
  add_jobs(1, 2000);
  StepView step;
  step.id = StepId{JobId(2), 0, 0};
  StepView next = step;
  next.id.step = 1;
  add({step, next});
  change("UPDATE steps SET record = (SELECT record FROM steps WHERE step = 1) WHERE step = 0");
  long long page = 0;
  long long page_size = 0;
  {
    soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
    session << "PRAGMA wal_checkpoint(TRUNCATE)";
    session << "PRAGMA page_size", soci::into(page_size);
    // A leaf of the table, somewhere in its middle.
    session
        << "SELECT pageno FROM dbstat WHERE name = 'jobs' AND pagetype = 'leaf' LIMIT 1 OFFSET 5",
        soci::into(page);
  }
  store.reset();
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * page_size);
    file << std::string(static_cast<std::size_t>(page_size), '\x5a');
  }
  open();
  const auto found = store->damage();
  ASSERT_TRUE(found.has_value()) << found.error().text();
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(
        *found, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("malformed"));
  EXPECT_TRUE(has("the record of step 2.0 (attempt 0) in history is damaged"));
}

TEST_F(HistoryStoreTest, AFileWithoutDigestsIsReadAndGetsThem) {
  add_jobs(1, 2);
  change("ALTER TABLE jobs DROP COLUMN digest");
  change("ALTER TABLE steps DROP COLUMN digest");
  store.reset();
  const auto reader = open_sqlite_history_to_read(path());
  ASSERT_TRUE(reader.has_value());
  EXPECT_TRUE((*reader)->damage()->empty());
  EXPECT_TRUE((*reader)->find(JobId(2))->has_value());
  open();
  add_jobs(3, 1);
  change(
      "UPDATE jobs SET record = CAST(replace(CAST(record AS TEXT), 'job', 'jnb') AS BLOB) WHERE "
      "job = 3");
  EXPECT_EQ(jobs({}), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(HistoryStoreTest, AFileWrittenByAProgramWithoutBlocksIsReadAsAnyOther) {
  add_jobs(1, 3'000);
  store.reset();
  {
    soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
    session << "DELETE FROM blocks WHERE block > 0";
    session << "UPDATE meta SET value = 77 WHERE name = 'watermark'";
  }
  open();
  EXPECT_EQ(jobs({}).size(), 3'000U);
  Query query;
  query.since = at(2'990);
  EXPECT_EQ(jobs(query).size(), 21U);
  {
    soci::session session(soci::sqlite3, "dbname=\"" + path() + "\"");
    session << "DROP TABLE blocks";
    session << "DELETE FROM meta WHERE name = 'blocks'";
  }
  open();
  EXPECT_EQ(jobs(query).size(), 21U);
}

}  // namespace
}  // namespace muster
