#include "agent/spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "records/log_record.h"
#include "records/page_codec.h"

namespace muster {
namespace {

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() : folder_(::testing::TempDir() + "spool_test." + std::to_string(::getpid())) {}
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }

  Spool open() {
    known.clear();
    auto spool = Spool::open(folder_, known);
    EXPECT_TRUE(spool.has_value());
    return std::move(spool).value();
  }
  static void launch(Spool& spool, const StepId& id, std::uint64_t launch_key = 0) {
    LaunchStep step;
    step.id = id;
    step.node_name = "n1";
    step.launch_key = launch_key != 0 ? launch_key : 10 * std::uint64_t{id.job.value()};
    EXPECT_TRUE(spool.launched({&step}).has_value());
  }
  /// As a supervisor does.
  static void write_to(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::app | std::ios::binary) << bytes;
  }
  static std::string end_of(const StepId& id, int code, std::uint64_t launch_key = 0) {
    StepDone done;
    done.id = id;
    done.launch_key = launch_key;
    done.tasks = {ExitStatus::exited(code)};
    return records::log_record(records::encode_message(FromAgent(done)));
  }

  const std::string& folder() const { return folder_; }

  const StepId one{JobId(1), 0, 0};
  const StepId two{JobId(2), 0, 0};
  std::vector<Spool::Known> known;

 private:
  std::string folder_;
};

TEST_F(SpoolTest, FindsTheEndThatASupervisorWrote) {
  Spool spool = open();
  launch(spool, one);
  EXPECT_FALSE(spool.find_end(one).has_value());
  write_to(spool.log_path(), end_of(one, 3));
  ASSERT_TRUE(spool.find_end(one).has_value());
  EXPECT_EQ(spool.find_end(one)->tasks.front().code(), 3);
}

TEST_F(SpoolTest, AnEndIsThatOfItsOwnLaunch) {
  Spool spool = open();
  launch(spool, one, 7);
  write_to(spool.log_path(), end_of(one, 3, 7));
  spool.acknowledged(one);
  launch(spool, one, 8);
  EXPECT_FALSE(spool.find_end(one).has_value()) << "a step that had its number has ended";
  write_to(spool.log_path(), end_of(one, 4, 7));
  EXPECT_FALSE(spool.find_end(one).has_value());
  write_to(spool.log_path(), end_of(one, 5, 8));
  ASSERT_TRUE(spool.find_end(one).has_value());
  EXPECT_EQ(spool.find_end(one)->tasks.front().code(), 5);
}

TEST_F(SpoolTest, AtAStartAnEndIsThatOfItsOwnLaunch) {
  {
    Spool spool = open();
    launch(spool, one, 8);
    write_to(spool.log_path(), end_of(one, 3, 7));
  }
  open();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_FALSE(known[0].done.has_value());
}

TEST_F(SpoolTest, SaysThatSomethingOfItIsLost) {
  std::string path;
  std::uintmax_t first_end = 0;
  {
    Spool spool = open();
    path = spool.log_path();
    launch(spool, one);
    first_end = std::filesystem::file_size(path);
    launch(spool, two);
  }
  const auto damage = [&path](std::uintmax_t before) {
    std::fstream log(path, std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(static_cast<std::streamoff>(before) - 3);
    log << '?';
  };
  EXPECT_FALSE(open().identity().has_lost_records);
  ASSERT_EQ(known.size(), 2U);
  damage(std::filesystem::file_size(path));  // the launch of the second step
  EXPECT_TRUE(open().identity().has_lost_records);
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().id, one);
  EXPECT_TRUE(open().identity().has_lost_records) << "until somebody has been asked";
  EXPECT_TRUE(open().adopt({{"ours", Epoch(3)}, JobId(2), false}).has_value());  // they have
  EXPECT_FALSE(open().identity().has_lost_records);
  damage(first_end);
  EXPECT_TRUE(open().identity().has_lost_records) << "there is more of it";
}

TEST_F(SpoolTest, WhatWasAskedAboutGoesWithItsLog) {
  std::string path;
  {
    Spool spool = open();
    launch(spool, one);
    write_to(spool.log_path(), std::string(5000, '?'));
  }
  {
    Spool spool = open();
    EXPECT_TRUE(spool.identity().has_lost_records);
    ASSERT_TRUE(spool.adopt({{"ours", Epoch(3)}, JobId(1), false}).has_value());
    spool.acknowledged(one);
    LaunchStep large;
    large.id = two;
    large.node_name = std::string(9U << 20, 'n');  // beyond what one log takes
    ASSERT_TRUE(spool.launched({&large}).has_value());
    spool.acknowledged(two);
    launch(spool, StepId{JobId(3), 0, 0});
    path = spool.log_path();
  }
  std::fstream log(path, std::ios::in | std::ios::out | std::ios::binary);
  log.seekp(-3, std::ios::end);
  log << '?';
  log.close();
  EXPECT_TRUE(open().identity().has_lost_records);
}

TEST_F(SpoolTest, ATornRecordHidesNoneOfThoseBehindIt) {
  {
    Spool spool = open();
    launch(spool, one);
    write_to(spool.log_path(), end_of(one, 1).substr(0, 20));  // the disk was full
    launch(spool, two);
    write_to(spool.log_path(), end_of(two, 2));
    ASSERT_TRUE(spool.find_end(two).has_value());
    EXPECT_FALSE(spool.find_end(one).has_value());
    write_to(spool.log_path(), end_of(one, 1));
    EXPECT_TRUE(spool.find_end(one).has_value());
  }
  open();
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].launch_key, 10U);
  EXPECT_EQ(known[1].launch_key, 20U);
  EXPECT_EQ(known[0].done->tasks.front().code(), 1);
  EXPECT_EQ(known[1].done->tasks.front().code(), 2);
}

TEST_F(SpoolTest, ForgetsWhatTheControllerHas) {
  {
    Spool spool = open();
    launch(spool, one);
    launch(spool, two);
    spool.acknowledged(one);
  }
  open();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().id, two);
}

TEST_F(SpoolTest, OneAgentAtATime) {
  const Spool spool = open();
  std::vector<Spool::Known> none;
  const auto second = Spool::open(folder(), none);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(SpoolTest, KnowsWhomItServesAndTheHighestJob) {
  {
    Spool spool = open();
    EXPECT_EQ(spool.identity().cluster.cluster_id, "");
    ASSERT_TRUE(spool.adopt({{"ours", Epoch(3)}, JobId(0), false}).has_value());
    launch(spool, StepId{JobId(41), 0, 0});
    spool.acknowledged(StepId{JobId(41), 0, 0});
  }
  {
    Spool spool = open();
    EXPECT_EQ(spool.identity().cluster.cluster_id, "ours");
    EXPECT_EQ(spool.identity().cluster.epoch, Epoch(3));
    EXPECT_EQ(spool.identity().job_floor, JobId(41));
    launch(spool, one);
    EXPECT_EQ(spool.identity().job_floor, JobId(41));
    ASSERT_TRUE(spool.adopt({{"theirs", Epoch(1)}, JobId(0), false}).has_value());
  }
  const Spool spool = open();
  EXPECT_EQ(spool.identity().cluster.cluster_id, "theirs");
  EXPECT_EQ(spool.identity().job_floor, JobId(0));
  EXPECT_TRUE(known.empty()) << "another cluster's steps are forgotten";
}

}  // namespace
}  // namespace muster
