#include "controller/logs/log_role.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace muster {
namespace {

constexpr LogOwner kTrial{LogOwnerKind::kTrial, 7};

class FakePort final : public LogPort {
 public:
  void acknowledge(NodeIndex node, const OutputReceived& answer) override { acknowledged.emplace_back(node.value(), answer); }
  void answer(std::uint64_t token, Result<LogPage> page) override { answers.emplace_back(token, std::move(page)); }
  void complain(const Error&) override { ++complaints; }
  std::vector<std::pair<std::uint32_t, OutputReceived>> acknowledged;
  std::vector<std::pair<std::uint64_t, Result<LogPage>>> answers;
  int complaints = 0;
};

struct LogRoleTest : ::testing::Test {
  LogRoleTest() {
    char name[] = "/tmp/muster-log-role.XXXXXX";
    folder = ::mkdtemp(name);
    store = LogStore::open({.path = folder / "logs.db"}).value();
    role = std::make_unique<LogRole>(*store, port);
  }
  ~LogRoleTest() override { std::filesystem::remove_all(folder); }
  TimePoint at(std::int64_t ms) { return TimePoint::from_seconds(1000) + Duration::milliseconds(ms); }
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

}  // namespace
}  // namespace muster
