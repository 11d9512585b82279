// What becomes of checkpoints when an experiment ends: measured in a real metric store, decided,
// and handed to a core.
#include "gateway/collector.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <filesystem>

#include "controller/experiments/testing.h"
#include "store/metrics/sqlite_metrics.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::Lab;

class CollectedLab {
 public:
  CollectedLab() : io_(kj::setupAsyncIo()) {
    folder_ =
        std::filesystem::temp_directory_path() / ("muster-collector-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    store_ = std::move(open_sqlite_metrics({(folder_ / "metrics.db").string()})).value();
    lab.create(
        "{name: e, entrypoint: train, checkpoint_storage: {type: shared_fs, host_path: /s, "
        "save_trial_latest: 1, save_trial_best: 1}, "
        "searcher: {name: single, metric: loss}}");
    seen_ = lab.rig.published.size();
  }
  ~CollectedLab() { std::filesystem::remove_all(folder_); }
  CollectedLab(const CollectedLab&) = delete;
  CollectedLab& operator=(const CollectedLab&) = delete;

  /// A checkpoint after so many steps, and what was measured there.
  void save(const std::string& uuid, std::int64_t steps, std::optional<double> loss) {
    if (loss) {
      MetricReport report;
      report.trial = TrialId(1);
      report.run = 1;
      report.group = "validation";
      report.steps_completed = steps;
      report.metrics = {{"loss", *loss}};
      ASSERT_TRUE(store_->append({report}).has_value());
    }
    const Checkpoint checkpoint{
        uuid, TrialId(1), 1,   static_cast<std::uint64_t>(steps), CheckpointState::kCompleted, {},
        7,    "{}",       "{}"};
    ASSERT_FALSE(lab.rig.done(RecordCheckpoint{checkpoint, false}).error.has_value());
  }
  /// Tells the collector what was published, and lets it do what it has to.
  void follow() {
    for (; seen_ < lab.rig.published.size(); ++seen_) collector.on_batch(*lab.rig.published[seen_]);
    for (int i = 0; i < 10; ++i)
      io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
  }
  std::vector<std::string> going() const {
    const auto& collections = lab.rig.core.state().checkpoints().collections();
    return collections.empty() ? std::vector<std::string>() : collections.begin()->second.uuids;
  }

  Lab lab;
  int asked = 0;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<MetricStore> store_;
  kj::AsyncIoContext io_;
  struct Errors final : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&& exception) override {
      ADD_FAILURE() << exception.getDescription().cStr();
    }
  } errors_;
  kj::TaskSet tasks_{errors_};
  std::size_t seen_ = 0;

 public:
  Collector collector{
      lab.rig.core.state(), io_.provider->getTimer(),
      [this](std::vector<MetricQuestion> questions) -> kj::Promise<Result<MetricAnswers>> {
        return answer(*store_, questions);
      },
      [this](PreparedRequest request) -> kj::Promise<std::vector<Reply>> {
        ++asked;
        return std::vector<Reply>{lab.rig.done(std::move(request), testing::kRoot)};
      },
      [this](kj::Promise<void> promise) { tasks_.add(kj::mv(promise)); }};
};

TEST(Collector, WhatIsNeitherBestNorLatestGoesAtTheEnd) {
  CollectedLab collected;
  collected.save("good", 1, 0.1);
  collected.save("worse", 2, 0.5);
  collected.save("unmeasured", 3, std::nullopt);
  collected.save("last", 4, 0.9);
  collected.follow();
  EXPECT_EQ(collected.asked, 0) << "it has not ended";
  collected.lab.exit(1);
  collected.follow();
  EXPECT_EQ(collected.going(), (std::vector<std::string>{"worse", "unmeasured"}));
  EXPECT_EQ(collected.asked, 1);
  collected.follow();
  EXPECT_EQ(collected.asked, 1) << "once is enough";
}

TEST(Collector, AnotherRetentionIsLookedAtAgain) {
  CollectedLab collected;
  collected.save("a", 1, 0.1);
  collected.save("b", 2, 0.5);
  collected.lab.exit(1);
  collected.follow();
  EXPECT_TRUE(collected.going().empty());
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.retention = CheckpointRetention{0, 0, 1};
  collected.lab.rig.done(update);
  collected.follow();
  EXPECT_EQ(collected.going(), std::vector<std::string>{"a"});
}

TEST(Collector, WhatEndedBeforeItsStartIsFound) {
  CollectedLab collected;
  collected.save("a", 1, 0.5);
  collected.save("b", 2, 0.1);
  collected.save("c", 3, 0.9);
  collected.lab.exit(1);
  collected.collector.begin();
  for (int i = 0; i < 3; ++i) collected.follow();
  EXPECT_EQ(collected.going(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace muster
