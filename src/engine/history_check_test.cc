#include "engine/history_check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/check.h"
#include "state/testing.h"
#include "state/views.h"
#include "store/history/sqlite_history.h"

namespace muster {
namespace {

/// Replays a log with everything in it and gives history what `is_kept` says of the objects, by
/// their place.
struct Replayed final : ApplyObserver {
  explicit Replayed(const std::function<bool(std::size_t)>& is_kept,
                    Seq watermark = Seq(UINT64_MAX)) {
    testing::Log log;
    testing::add_everything(log);
    for (const EventBatchRef& batch : log.batches()) state.apply(*batch, this);
    std::vector<HistoryObject> kept;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (is_kept(i)) kept.push_back(objects[i]);
    }
    CHECK(store->append(kept, {std::min(watermark, state.seq()), {}, {}}).has_value());
  }
  void attempt_ended(const Job& job, TimePoint now) override {
    expectation.attempt_ended(job, now);
    objects.emplace_back(view_of(job, state, QueryDetail::kFull));
  }
  void step_ended(const Job& job, const StepState& step, TimePoint now) override {
    expectation.step_ended(job, step, now);
    objects.emplace_back(view_of(step, job, state));
  }
  std::vector<std::string> missing() { return expectation.missing_from(*store).value(); }

  std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "muster-history.XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
  ~Replayed() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<HistoryStore> store = open_sqlite_history(folder + "/history.db").value();
  ClusterState state;
  HistoryExpectation expectation{state};
  std::vector<HistoryObject> objects;
};

TEST(HistoryCheck, NothingIsMissingOfAWholeHistory) {
  Replayed all([](std::size_t) { return true; });
  ASSERT_GT(all.objects.size(), 3U);
  EXPECT_EQ(all.missing(), std::vector<std::string>());
}

TEST(HistoryCheck, EachEndThatIsMissingIsNamed) {
  const std::size_t count = Replayed([](std::size_t) { return true; }).objects.size();
  for (std::size_t lost = 0; lost < count; ++lost) {
    Replayed one([&](std::size_t i) { return i != lost; });
    const auto* job = std::get_if<JobView>(&one.objects[lost]);
    const std::vector<std::string> missing = one.missing();
    // An attempt may have been stored twice: the later one replaces the earlier.
    if (missing.empty()) continue;
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_NE(missing[0].find(job != nullptr ? "end of job " + std::to_string(job->id.value())
                                             : "end of step"),
              std::string::npos)
        << missing[0];
  }
  Replayed none([](std::size_t) { return false; });
  EXPECT_GE(none.missing().size(), 3U);
}

TEST(HistoryCheck, WhatIsBeyondTheWatermarkMayStillCome) {
  Replayed none([](std::size_t) { return false; }, Seq(0));
  EXPECT_EQ(none.missing(), std::vector<std::string>());
}

TEST(HistoryCheck, ItIsReadBesideItsWriter) {
  Replayed all([](std::size_t) { return true; });
  auto reader = open_sqlite_history_to_read(all.folder + "/history.db");
  ASSERT_TRUE(reader.has_value()) << reader.error().text();
  EXPECT_EQ((*reader)->watermark(), all.state.seq());
  EXPECT_FALSE((*reader)->append({}, {Seq(99), {}, {}}).has_value()) << "a reader writes nothing";
  EXPECT_EQ(open_sqlite_history_to_read(all.folder + "/other.db").error().code,
            ErrorCode::kNotFound);
}

TEST(HistoryStore, KnowsWhoWroteItAndTheHighestJob) {
  Replayed all([](std::size_t) { return true; });
  EXPECT_EQ(all.store->mark()->epoch, Epoch());
  ASSERT_TRUE(all.store->acquire(Epoch(7)).has_value());
  JobId highest;
  for (const HistoryObject& object : all.objects) {
    if (const auto* job = std::get_if<JobView>(&object)) highest = std::max(highest, job->id);
  }
  all.store = nullptr;
  all.store = open_sqlite_history(all.folder + "/history.db").value();
  const auto mark = all.store->mark();
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->epoch, Epoch(7));
  EXPECT_EQ(mark->highest_job, highest);
  EXPECT_EQ(mark->until.seq, all.state.seq());
  EXPECT_EQ(open_sqlite_history(all.folder + "/new.db").value()->mark()->highest_job, JobId());
}

}  // namespace
}  // namespace muster
