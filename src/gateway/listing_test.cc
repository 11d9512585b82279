// Lists that are made slice by slice while jobs come, split off, end, run again and leave memory:
// every job once.
#include <gtest/gtest.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/rng.h"
#include "gateway/history_listing.h"
#include "gateway/query_replica.h"
#include "records/page_codec.h"
#include "slurm/array_text.h"
#include "state/testing.h"
#include "state/views.h"
#include "store/history/sqlite_history.h"

namespace muster {
namespace {

using testing::spec_of;

constexpr std::uint32_t kArraySizeMax = 1000;

/// What is to be on a list once: a job's attempt; of an array each element's.
using Unit = std::string;

std::vector<Unit> units_of(const JobView& job) {
  const std::string attempt = "/" + std::to_string(job.attempt);
  if (job.array_job.value() == 0) return {std::to_string(job.id.value()) + attempt};
  const std::string array = std::to_string(job.array_job.value()) + "_";
  if (job.array_index) return {array + std::to_string(*job.array_index) + attempt};
  std::vector<Unit> units;
  if (job.array_remaining_count == 0) return units;
  const ArraySpec remaining = parse_array(job.array_remaining, kArraySizeMax).value();
  remaining.indices.for_each(
      [&](std::size_t index) { units.push_back(array + std::to_string(index) + attempt); });
  return units;
}

/// A cluster's events as memory and history have them: history a few batches later, but with all
/// that memory knows when it is asked after memory.
class World final : public ApplyObserver {
 public:
  explicit World(std::uint64_t seed) : rng(seed) { follow(); }
  ~World() override { std::filesystem::remove_all(folder_); }

  void attempt_ended(const Job& job, TimePoint) override {
    ended_.emplace_back(view_of(job, observed_, QueryDetail::kFull));
  }
  void step_ended(const Job& job, const StepState& step, TimePoint) override {
    ended_.emplace_back(view_of(step, job, observed_));
  }

  void submit() {
    std::optional<ArraySpec> array;
    if (rng.chance(0.05)) array = ArraySpec{Bitmap::range(0, 2 + rng.below(30)), 0};
    auto spec = spec_of("job");
    spec->user = UserId(static_cast<std::uint32_t>(1000 + rng.below(3)));
    waiting_.push_back(log.submit(spec, std::move(array)));
    follow();
  }
  void submit_array(std::size_t size) {
    waiting_.push_back(log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, size), 0}));
    follow();
  }
  /// Something happens to somebody.
  void step() {
    const std::uint64_t what = rng.below(10);
    if (what < 2 || waiting_.empty()) return submit();
    if (what == 2) return evict();
    const std::size_t which = rng.below(waiting_.size());
    const JobId id = waiting_[which];
    const Job& job = log.job(id);
    if (job.is_array_record() && job.array->remaining.indices.count() > 1 && !rng.chance(0.02))
      return split(job);
    if (what < 5 && !job.is_array_record()) return run_again(id);
    log.end(id, JobState::kCancelled, true);
    over_.push_back(id);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(which));
    follow();
  }
  void steps(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) step();
  }
  /// What has ended comes to history.
  void store_ended() {
    ASSERT_TRUE(
        store->append(std::exchange(ended_, {}), mark_of(*log.batches().back())).has_value());
    stored_over_ = over_.size();
  }
  /// Everything that is in memory or in history.
  std::set<Unit> present(bool is_history) {
    std::set<Unit> all;
    log.state().jobs().for_each([&](const Job& job) {
      for (const Unit& unit : units_of(view_of(job, log.state(), QueryDetail::kFull)))
        all.insert(unit);
    });
    if (!is_history) return all;
    for (const HistoryObject& object : ever_) {
      for (const Unit& unit : units_of(std::get<JobView>(object))) all.insert(unit);
    }
    return all;
  }

  /// Attempts that history alone has.
  std::size_t stored_alone() const {
    std::set<HistoryKey> keys;
    for (const HistoryObject& object : ever_)
      keys.insert({std::get<JobView>(object).id, std::get<JobView>(object).attempt});
    return static_cast<std::size_t>(std::ranges::count_if(keys, [&](const HistoryKey& key) {
      const Job* job = log.state().jobs().find(key.job);
      return job == nullptr || job->attempt != key.attempt;
    }));
  }
  void damage_history() const {
    soci::session session(soci::sqlite3, "dbname=\"" + folder_ + "/history.db\"");
    session << "UPDATE jobs SET digest = digest + 1";
  }

  Rng rng;
  testing::Log log;
  QueryReplica replica{"host", "test"};

 private:
  std::string folder_ = [] {
    std::string name = (std::filesystem::temp_directory_path() / "muster-listing.XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    return name;
  }();

 public:
  std::unique_ptr<HistoryStore> store = open_sqlite_history(folder_ + "/history.db").value();

 private:
  void split(const Job& record) {
    std::vector<std::uint32_t> indices;
    record.array->remaining.indices.for_each(
        [&](std::size_t index) { indices.push_back(static_cast<std::uint32_t>(index)); });
    const JobId element = log.state().next_job();
    log.add({ArraySplit{record.id, indices[rng.below(indices.size())], element}});
    waiting_.push_back(element);
    follow();
  }
  void run_again(JobId id) {
    log.start(id, {testing::grant_of(0, 0, 1)});
    log.end(id, JobState::kNodeFail, true, true);
    follow();
    log.add({JobRequeued{id, {}, 0}});
    follow();
  }
  /// The oldest of those that history has.
  void evict() {
    const std::size_t count = std::min<std::size_t>(stored_over_, 20);
    if (count == 0) return submit();
    const auto end = over_.begin() + static_cast<std::ptrdiff_t>(count);
    log.add({JobsEvicted{std::vector<JobId>(over_.begin(), end)}});
    over_.erase(over_.begin(), end);
    stored_over_ -= count;
    follow();
  }
  void follow() {
    for (; followed_ < log.batches().size(); ++followed_) {
      const std::size_t before = ended_.size();
      observed_.apply(*log.batches()[followed_], this);
      ever_.insert(ever_.end(), ended_.begin() + static_cast<std::ptrdiff_t>(before), ended_.end());
      replica.apply(*log.batches()[followed_]);
    }
    if (rng.chance(0.1)) store_ended();
  }

  ClusterState observed_;
  std::size_t followed_ = 0;
  std::vector<HistoryObject> ended_;  ///< and not in history yet
  std::vector<HistoryObject> ever_;
  std::vector<JobId> waiting_;
  std::vector<JobId> over_;
  std::size_t stored_over_ = 0;  ///< of them, so many are in history
};

void add_units(const std::vector<std::string>& pages, std::map<Unit, int>& shown,
               std::vector<JobId>& order) {
  for (const std::string& page : pages) {
    const Page decoded = records::decode_page(page).value();
    for (const JobView& job : decoded.jobs) {
      order.push_back(job.id);
      for (const Unit& unit : units_of(job)) ++shown[unit];
    }
  }
}

void expect_each_once(const std::map<Unit, int>& shown, const std::set<Unit>& wanted) {
  for (const auto& [unit, count] : shown)
    EXPECT_EQ(count, 1) << unit << " is on the list " << count << " times";
  for (const Unit& unit : wanted) EXPECT_TRUE(shown.contains(unit)) << unit << " is lost";
}

HistoryListing history_of(World& world) {
  HistoryListing listing;
  listing.query.kind = QueryKind::kHistory;
  listing.query.since = TimePoint::from_microseconds(1);
  listing.query.until = TimePoint::never();
  listing.query.is_duplicates = true;
  listing.memory = world.replica.begin_list({}).value();
  return listing;
}

/// All that is left of the list.
void add_rest(HistoryListing& listing, World& world, std::map<Unit, int>& shown,
              std::vector<JobId>& order) {
  while (!listing.is_done()) {
    if (listing.needs_memory()) {
      world.replica.read_live(listing);
    } else {
      add_units(next_pages(listing, world.store.get()).value(), shown, order);
    }
  }
}

TEST(Listing, ForSacctEachRunIsShownOnceWhateverHappensBetweenPages) {
  for (std::uint64_t seed = 1; seed <= 6 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    World world(seed);
    world.submit_array(200);
    for (int i = 0; i < 500; ++i) world.submit();
    world.submit_array(200);
    world.steps(500);
    const std::set<Unit> wanted = world.present(true);
    HistoryListing listing = history_of(world);
    std::map<Unit, int> shown;
    std::vector<JobId> order;
    int turns = 0;
    for (; !listing.is_done(); ++turns) {
      ASSERT_LT(turns, 1000) << "it never ends";
      if (listing.needs_memory()) {
        world.replica.read_live(listing);
        world.store_ended();
      } else {
        add_units(next_pages(listing, world.store.get()).value(), shown, order);
      }
      world.steps(100);
    }
    EXPECT_GT(turns, 5);
    EXPECT_TRUE(std::ranges::is_sorted(order));
    expect_each_once(shown, wanted);
  }
}

TEST(Listing, RecordsOfHistoryThatAreDamagedAreCountedWhereMemoryDoesNotHaveThem) {
  World world(3);
  for (int i = 0; i < 20; ++i) world.submit();
  world.steps(2000);
  world.store_ended();
  world.damage_history();
  HistoryListing listing = history_of(world);
  std::map<Unit, int> shown;
  std::vector<JobId> order;
  add_rest(listing, world, shown, order);
  expect_each_once(shown, world.present(false));
  EXPECT_EQ(shown.size(), world.present(false).size());
  const auto damage = damage_of(listing);
  ASSERT_TRUE(damage.has_value());
  EXPECT_EQ(damage->code, ErrorCode::kCorruption);
  EXPECT_GT(listing.damaged_count, 0U);
  EXPECT_EQ(listing.damaged_count, world.stored_alone());
}

TEST(Listing, AnArrayThatEndsAfterItsRecordWasReadIsShownAsTheRecordWas) {
  World world(2);
  world.submit_array(3);
  const JobId array(1);
  HistoryListing listing = history_of(world);
  world.replica.read_live(listing);
  std::vector<JobId> elements;
  for (std::uint32_t i = 0; i < 2; ++i) {
    elements.push_back(world.log.state().next_job());
    world.log.add({ArraySplit{array, i, elements.back()}});
  }
  // The last element keeps the record's number.
  for (const JobId job : {elements[0], elements[1], array})
    world.log.end(job, JobState::kCancelled, true);
  world.submit();
  world.store_ended();
  std::map<Unit, int> shown;
  std::vector<JobId> order;
  while (!listing.is_done()) {
    if (listing.needs_memory()) world.replica.read_live(listing);
    add_units(next_pages(listing, world.store.get()).value(), shown, order);
  }
  EXPECT_EQ(shown.size(), 3U);
  expect_each_once(shown, {"1_0/0", "1_1/0", "1_2/0"});
}

TEST(Listing, WithoutDuplicatesTheNewestRunAloneIsShown) {
  World world(7);
  for (int i = 0; i < 100; ++i) world.submit();
  world.steps(2000);
  world.store_ended();
  HistoryListing listing = history_of(world);
  listing.query.is_duplicates = false;
  std::map<Unit, int> shown;
  std::vector<JobId> order;
  add_rest(listing, world, shown, order);
  std::map<std::string, std::uint32_t> newest;
  for (const Unit& unit : world.present(true)) {
    const auto slash = unit.find('/');
    std::uint32_t& attempt = newest[unit.substr(0, slash)];
    attempt = std::max(attempt, static_cast<std::uint32_t>(std::stoul(unit.substr(slash + 1))));
  }
  std::set<Unit> wanted;
  for (const auto& [job, attempt] : newest) wanted.insert(job + "/" + std::to_string(attempt));
  EXPECT_EQ(shown.size(), wanted.size());
  expect_each_once(shown, wanted);
}

TEST(Listing, OfMemoryEachJobIsShownOnceWhateverHappensBetweenSlices) {
  for (std::uint64_t seed = 1; seed <= 6 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    World world(seed);
    world.submit_array(200);
    for (int i = 0; i < 600; ++i) world.submit();
    world.submit_array(200);
    world.steps(300);
    const std::set<Unit> before = world.present(false);
    Query query;
    query.detail = QueryDetail::kBrief;
    JobListing listing = world.replica.begin_list({}).value();
    std::map<Unit, int> shown;
    std::vector<JobId> order;
    std::set<Unit> evicted;
    int slices = 0;
    for (; !listing.is_done(); ++slices) {
      ASSERT_LT(slices, 1000) << "it never ends";
      const ListSlice slice = world.replica.next_slice(query, listing);
      EXPECT_LE(slice.cost, QueryReplica::kShownMax + QueryReplica::kLookedMax);
      if (slice.pages != nullptr) add_units(*slice.pages, shown, order);
      world.steps(100);
    }
    EXPECT_GT(slices, 2);
    EXPECT_TRUE(std::ranges::is_sorted(order));
    // What ran again or has left memory meanwhile may be missing under its old number of a run, but
    // nothing may that is as it was.
    const std::set<Unit> after = world.present(false);
    std::set<Unit> wanted;
    std::ranges::set_intersection(before, after, std::inserter(wanted, wanted.end()));
    EXPECT_GT(wanted.size(), 100U);
    expect_each_once(shown, wanted);
  }
}

TEST(Listing, OfOneArrayHasTheElementsThatSplitOffMeanwhile) {
  World world(3);
  world.submit_array(600);
  const JobId array(1);
  for (std::uint32_t i = 0; i < 500; ++i)
    world.log.add({ArraySplit{array, i, world.log.state().next_job()}});
  JobFilter filter;
  JobSelector selector;
  selector.job = array;
  filter.jobs.push_back(selector);
  for (const EventBatchRef& batch : world.log.batches()) {
    if (batch->seq > world.replica.state().seq()) world.replica.apply(*batch);
  }
  JobListing listing = world.replica.begin_list(filter).value();
  Query query;
  query.filter = filter;
  std::map<Unit, int> shown;
  std::vector<JobId> order;
  std::uint32_t next = 500;
  while (!listing.is_done()) {
    // Before the record is shown, and after it.
    for (int i = 0; i < 20 && next < 599; ++i) {
      world.log.add({ArraySplit{array, next++, world.log.state().next_job()}});
      world.replica.apply(*world.log.batches().back());
    }
    const ListSlice slice = world.replica.next_slice(query, listing);
    if (slice.pages != nullptr) add_units(*slice.pages, shown, order);
  }
  EXPECT_EQ(shown.size(), 600U);
  expect_each_once(shown, {});
}

TEST(Listing, WhatNobodyChangedIsMadeOnce) {
  World world(5);
  for (int i = 0; i < 700; ++i) world.submit();
  Query query;
  std::vector<Pages> first;
  std::vector<Pages> second;
  for (auto* pages : {&first, &second}) {
    JobListing listing = world.replica.begin_list({}).value();
    while (!listing.is_done()) pages->push_back(world.replica.next_slice(query, listing).pages);
  }
  EXPECT_EQ(first, second) << "the same bytes";
  EXPECT_GE(first.size(), 3U);
  world.submit();
  JobListing listing = world.replica.begin_list({}).value();
  EXPECT_NE(world.replica.next_slice(query, listing).pages, first.front());
}

TEST(Listing, OneJobThatIsNotThereIsAnError) {
  World world(1);
  JobFilter filter;
  filter.jobs.resize(1);
  filter.jobs.front().job = JobId(77);
  EXPECT_EQ(world.replica.begin_list(filter).error().code, ErrorCode::kNotFound);
  filter.jobs.resize(2, filter.jobs.front());
  EXPECT_TRUE(world.replica.begin_list(filter).has_value());
}

TEST(Listing, NamedElementsAloneAreShownWhetherTheyHaveSplitOffOrNot) {
  World world(2);
  world.submit_array(5);
  const JobId array(1);
  const auto shown = [&](Bitmap indices) {
    Query query;
    query.filter.jobs = {JobSelector{array, std::move(indices), true, std::nullopt}};
    JobListing listing = world.replica.begin_list(query.filter).value();
    std::map<Unit, int> units;
    std::vector<JobId> order;
    while (!listing.is_done()) {
      const ListSlice slice = world.replica.next_slice(query, listing);
      if (slice.pages != nullptr) add_units(*slice.pages, units, order);
    }
    return units;
  };
  world.log.add({ArraySplit{array, 3, world.log.state().next_job()}});
  world.submit();
  expect_each_once(shown(Bitmap::range(2, 2)), {"1_2/0", "1_3/0"});
  expect_each_once(shown(Bitmap::range(1, 2)), {"1_1/0", "1_2/0"});
  EXPECT_TRUE(shown(Bitmap::range(7, 2)).empty()) << "of an array that is there";
}

TEST(QueryReplica, APingSaysWhatOperatorsShouldLookAt) {
  QueryReplica replica("ctl", "1.0");
  const auto warnings = [&] {
    Query query;
    query.kind = QueryKind::kPing;
    const auto pages = replica.answer(Identity{}, query);
    return records::decode_page(pages.value()->at(0))->ping->warnings;
  };
  EXPECT_TRUE(warnings().empty());
  replica.set_clock_warning("the clock");
  EXPECT_EQ(warnings(), std::vector<std::string>{"the clock"});
  replica.set_disk_warning("the disk");
  EXPECT_EQ(warnings(), (std::vector<std::string>{"the clock", "the disk"}));
  replica.set_clock_warning("");
  replica.set_disk_warning("");
  EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace muster
