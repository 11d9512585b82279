#include "platform/logs/log_role.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "platform/logs/testing.h"
#include "store/logs/sqlite_logs.h"

namespace muster {
namespace {

constexpr LogOwner kTrial{LogOwnerKind::kTrial, 7};

class FakePort final : public LogPort {
 public:
  void acknowledge(NodeIndex node, const OutputReceived& answer) override {
    acknowledged.emplace_back(node.value(), answer);
  }
  void answer(std::uint64_t token, Result<LogPage> page) override {
    answers.emplace_back(token, std::move(page));
  }
  void act_upon(std::uint64_t token, std::vector<LogFinding> findings) override {
    acts.emplace_back(token, std::move(findings));
  }
  void complain(const Error&) override { ++complaints; }
  std::vector<std::pair<std::uint32_t, OutputReceived>> acknowledged;
  std::vector<std::pair<std::uint64_t, Result<LogPage>>> answers;
  std::vector<std::pair<std::uint64_t, std::vector<LogFinding>>> acts;
  int complaints = 0;
};

struct LogRoleTest : ::testing::Test {
  LogRoleTest() {
    char name[] = "/tmp/muster-log-role.XXXXXX";
    folder = ::mkdtemp(name);
    store = open_sqlite_logs({.path = folder / "logs.db"}).value();
    role = std::make_unique<LogRole>(*store, book, port);
  }
  ~LogRoleTest() override { std::filesystem::remove_all(folder); }
  TimePoint at(std::int64_t ms) {
    return TimePoint::from_seconds(1000) + Duration::milliseconds(ms);
  }
  void write(const std::string& bytes, std::uint64_t offset, LogOwner owner = kTrial) {
    LogFragment fragment;
    fragment.owner = owner;
    fragment.offset = offset;
    fragment.bytes = bytes;
    role->on_output(NodeIndex(3), fragment);
    role->store(at(0));
  }
  void ask(std::uint64_t token, Duration wait, std::uint64_t from = 0) {
    LogQuery query;
    query.owner = kTrial;
    query.from = from;
    role->on_read(query, wait, token, at(0));
  }
  std::filesystem::path folder;
  FakePort port;
  LogBook book;
  std::unique_ptr<LogStore> store;
  std::unique_ptr<LogRole> role;
};

TEST_F(LogRoleTest, AcknowledgesWhatIsStored) {
  write("one\n", 0);
  write("one\ntwo\n", 0);
  ASSERT_EQ(port.acknowledged.size(), 2U);
  EXPECT_EQ(port.acknowledged[0].first, 3U);
  EXPECT_EQ(port.acknowledged[0].second.next_offset, 4U);
  EXPECT_EQ(port.acknowledged[1].second.next_offset, 8U);
  ask(1, Duration());
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].second->lines.size(), 2U);
}

TEST_F(LogRoleTest, WhoWaitsIsAnsweredWithTheFirstLineOfItsTrial) {
  write("one\n", 0);
  ask(1, Duration::seconds(30), 2);
  write("other\n", 0, {LogOwnerKind::kTrial, 8});
  write("tw", 4);  // no line yet
  EXPECT_TRUE(port.answers.empty());
  write("o\n", 6);
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].first, 1U);
  ASSERT_EQ(port.answers[0].second->lines.size(), 1U);
  EXPECT_EQ(port.answers[0].second->lines[0].text, "two");
  write("three\n", 8);
  EXPECT_EQ(port.answers.size(), 1U);  // it is answered once
}

TEST_F(LogRoleTest, WaitingEndsWithTheTimeOrTheTrial) {
  write("one\n", 0);
  role->sweep(at(0));  // nothing is left of what was deleted before
  ask(1, Duration::milliseconds(500), 2);
  ask(2, Duration::seconds(30), 2);
  EXPECT_EQ(role->next_tick(), at(500));
  role->on_tick(at(499));
  EXPECT_TRUE(port.answers.empty());
  role->on_tick(at(500));
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].first, 1U);
  EXPECT_TRUE(port.answers[0].second->lines.empty());
  EXPECT_EQ(port.answers[0].second->next, 2U);
  role->wake({LogOwnerKind::kTrial, 8});
  EXPECT_EQ(port.answers.size(), 1U);
  role->wake(kTrial);
  ASSERT_EQ(port.answers.size(), 2U);
  EXPECT_EQ(port.answers[1].first, 2U);
  EXPECT_EQ(role->next_tick(), TimePoint::never());
}

TEST_F(LogRoleTest, AnErrorIsAnAnswer) {
  LogQuery query;
  query.owner = kTrial;
  query.filter.text = "(";
  query.filter.is_regex = true;
  role->on_read(query, Duration::seconds(30), 5, at(0));
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].second.error().code, ErrorCode::kInvalidArgument);
}

// ---- what lines set off comes before they are stored ----

struct ActingTest : LogRoleTest {
  ActingTest() {
    book.apply(testing::watched_trial());
    role->sweep(at(0));
  }
  void send(const std::string& bytes, std::uint64_t offset, std::uint32_t rank = 0,
            bool is_end = false) {
    LogFragment piece = testing::piece_of(bytes, offset);
    piece.rank = rank;
    piece.is_end = is_end;
    role->on_output(NodeIndex(3), piece);
    role->store(at(0));
  }
  void done(std::uint64_t token, std::optional<Error> error = {}, std::int64_t ms = 0) {
    role->on_done(token, error, at(ms));
    role->store(at(ms));
  }
  std::size_t lines() {
    LogQuery query;
    query.owner = {LogOwnerKind::kTrial, 1};
    return store->read(query)->lines.size();
  }
};

TEST_F(ActingTest, APieceWaitsForWhatItsLinesSetOff) {
  send("step=1 loss=1\n", 0);
  ASSERT_EQ(port.acts.size(), 1U);
  EXPECT_EQ(port.acts[0].second.size(), 1U);
  EXPECT_TRUE(port.acknowledged.empty());
  EXPECT_EQ(lines(), 0U);
  send("other\n", 0, 1);  // does not wait
  EXPECT_EQ(port.acknowledged.size(), 1U);
  send("prose\n", 14);  // of the same stream: it does
  EXPECT_EQ(port.acknowledged.size(), 1U);
  send("step=2 loss=2\n", 20);  // is read meanwhile
  ASSERT_EQ(port.acts.size(), 2U);
  done(port.acts[1].first);
  EXPECT_EQ(port.acknowledged.size(), 1U);
  done(port.acts[0].first);
  ASSERT_EQ(port.acknowledged.size(), 4U);
  EXPECT_EQ(port.acknowledged[3].second.next_offset, 34U);
  EXPECT_EQ(lines(), 4U);
}

TEST_F(ActingTest, WhatPassesIsTriedAgainAndNothingIsStoredBefore) {
  send("CUDA out of memory\n", 0);
  ASSERT_EQ(port.acts.size(), 1U);
  done(port.acts[0].first, Error{ErrorCode::kUnavailable, "the disk is full", ""});
  EXPECT_EQ(role->next_tick(), at(1000));
  role->on_tick(at(999));
  EXPECT_EQ(port.acts.size(), 1U);
  role->on_tick(at(1000));
  ASSERT_EQ(port.acts.size(), 2U);
  EXPECT_EQ(port.acts[1].second.size(), 1U);
  EXPECT_TRUE(port.acknowledged.empty());
  done(port.acts[0].first);  // an answer that was given already
  EXPECT_TRUE(port.acknowledged.empty());
  done(port.acts[1].first);
  EXPECT_EQ(port.acknowledged.size(), 1U);
}

TEST_F(ActingTest, WhatIsRefusedForGoodIsStoredAllTheSame) {
  send("step=1 loss=1\n", 0);
  done(port.acts.at(0).first,
       Error{ErrorCode::kFailedPrecondition, "another run has taken over", ""});
  EXPECT_EQ(port.acknowledged.size(), 1U);
}

TEST_F(ActingTest, ADeadControllerReadsTheSameLinesAgain) {
  send("step=1 loss=1\nstep=2 ", 0);
  done(port.acts.at(0).first);
  send("loss=2\nstep=3 loss=3\n", 21);
  ASSERT_EQ(port.acts.size(), 2U);  // and nobody hears of it
  const auto lost = port.acts[1].second;
  role = nullptr;
  store = nullptr;
  store = open_sqlite_logs({.path = folder / "logs.db"}).value();
  role = std::make_unique<LogRole>(*store, book, port);
  send("", 0);
  EXPECT_EQ(port.acknowledged.back().second.next_offset, 21U);
  send("loss=2\nstep=3 loss=3\n", 21);
  ASSERT_EQ(port.acts.size(), 3U);
  ASSERT_EQ(port.acts[2].second.size(), lost.size());
  EXPECT_EQ(std::get<MetricReport>(port.acts[2].second[1]).steps_completed, 3);
}

TEST_F(ActingTest, AStreamThatHasEndedIsForgotten) {
  send("step=1 loss=1", 0, 0, true);
  done(port.acts.at(0).first);
  EXPECT_TRUE(port.acknowledged.at(0).second.is_end);
  send("step=1 loss=1", 0, 0, true);  // its answer was lost
  EXPECT_EQ(port.acts.size(), 1U);
  EXPECT_TRUE(port.acknowledged.at(1).second.is_end);
}

// ---- logs that have been kept for long enough ----

TEST_F(LogRoleTest, WhatHasExpiredIsDeletedStepByStep) {
  for (std::uint32_t id = 1; id <= 3; ++id) write("line\n", 0, {LogOwnerKind::kTrial, id});
  role->expire({{LogOwnerKind::kTrial, 1}, {LogOwnerKind::kTrial, 3}, {LogOwnerKind::kTrial, 9}});
  EXPECT_LE(role->next_tick(), at(0));
  int steps = 0;
  for (; role->has_expired() && steps < 20; ++steps) role->sweep(at(steps));
  EXPECT_GE(steps, 3);
  EXPECT_LT(steps, 20);
  EXPECT_EQ(role->next_tick(), TimePoint::never());
  const auto sizes = store->sizes().value();
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].owner.id, 2U);
  role->expire({{LogOwnerKind::kTrial, 1}});
  EXPECT_FALSE(role->has_expired()) << "it has gone already";
  write("late\n", 0, {LogOwnerKind::kTrial, 1});
  role->expire({{LogOwnerKind::kTrial, 1}});
  EXPECT_TRUE(role->has_expired());
  role->expire({});
  EXPECT_FALSE(role->has_expired()) << "its owner keeps it after all";
}

}  // namespace
}  // namespace muster
