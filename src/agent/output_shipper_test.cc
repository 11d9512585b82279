#include "agent/output_shipper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/rng.h"

namespace muster {
namespace {

OutputFileName file_of(std::uint32_t rank, LogStream stream = LogStream::kStdout) {
  return {{JobId(1), 0, kBatchStep}, TrialId(1), 0, rank, stream};
}

/// A node's files, and a controller that stores what it is sent as the log store does.
class FakeShipping final : public OutputWorld {
 public:
  struct File {
    std::string bytes;
    std::uint64_t given_up = 0;
  };
  std::vector<OutputFile> output_files() override {
    std::vector<OutputFile> all;
    for (const auto& [name, file] : files) all.push_back({name, file.bytes.size()});
    return all;
  }
  OutputPiece read_output(const OutputFileName& name, std::uint64_t offset,
                          std::size_t bytes_max) override {
    const File& file = files.at(name);
    EXPECT_LT(offset, file.bytes.size());
    const std::uint64_t begin = std::max(offset, file.given_up);
    return {begin, file.bytes.substr(begin, bytes_max)};
  }
  void give_up_output(const OutputFileName& name, std::uint64_t offset) override {
    files.at(name).given_up = offset;
  }
  void remove_output(const OutputFileName& name) override {
    EXPECT_FALSE(is_live);
    EXPECT_EQ(stored[name.id()].size(), files.at(name).bytes.size());
    files.erase(name);
  }
  bool is_step_live(const StepId&) override { return is_live; }
  void send_output(const OutputSent& output) override { under_way.push_back(output); }

  /// The controller takes in one message; the answer, if it is not lost on its way.
  OutputReceived store_one() {
    const LogFragment fragment = std::move(under_way.front().fragment);
    under_way.pop_front();
    std::string& known = stored[fragment.id()];
    if (fragment.offset > known.size() && !fragment.bytes.empty()) {
      missing += fragment.offset - known.size();
      known.resize(fragment.offset, '?');
    }
    if (fragment.offset + fragment.bytes.size() > known.size())
      known += fragment.bytes.substr(known.size() - fragment.offset);
    return {fragment.id(), known.size(), fragment.is_end};
  }

  std::map<OutputFileName, File> files;
  std::map<LogStreamId, std::string> stored;
  std::deque<OutputSent> under_way;
  std::uint64_t missing = 0;
  bool is_live = true;
};

struct OutputShipperTest : ::testing::Test {
  void tick() { shipper.on_tick(now = now + Duration::milliseconds(200)); }
  void answer_all() {
    while (!world.under_way.empty()) shipper.on_received(world.store_one(), now);
  }
  void run_until_idle() {
    for (int i = 0; i < 100; ++i) {
      tick();
      answer_all();
    }
  }
  FakeShipping world;
  TimePoint now = TimePoint::from_seconds(1000);
  OutputShipper shipper{world, {.window_bytes = 100, .piece_bytes = 16, .spool_bytes = 10'000}};
};

TEST_F(OutputShipperTest, SendsWhatIsNewAndTakesTheFileAwayWhenAllIsStored) {
  world.files[file_of(0)].bytes = "hello\n";
  tick();
  EXPECT_TRUE(world.under_way.empty());  // nobody is there
  shipper.on_connected(now);
  answer_all();
  EXPECT_EQ(world.stored[file_of(0).id()], "hello\n");
  world.files[file_of(0)].bytes += "more\n";
  run_until_idle();
  EXPECT_EQ(world.stored[file_of(0).id()], "hello\nmore\n");
  EXPECT_EQ(world.files.size(), 1U);  // more may come
  world.is_live = false;
  run_until_idle();
  EXPECT_TRUE(world.files.empty());
  EXPECT_EQ(world.stored[file_of(0).id()], "hello\nmore\n");
}

TEST_F(OutputShipperTest, OnlyAWindowIsUnderWayAndEveryFileHasItsTurn) {
  for (const std::uint32_t rank : {0U, 1U, 2U})
    world.files[file_of(rank)].bytes = std::string(1000, 'x');
  shipper.on_connected(now);
  answer_all();
  for (auto& [name, file] : world.files) file.bytes += std::string(500, 'y');
  tick();
  EXPECT_GE(shipper.bytes_under_way(), 100U);
  EXPECT_LT(shipper.bytes_under_way(), 100U + 16U);
  std::map<std::uint32_t, int> pieces;
  for (const OutputSent& output : world.under_way) ++pieces[output.fragment.rank];
  EXPECT_EQ(pieces.size(), 3U);
  run_until_idle();
  for (const auto& [name, file] : world.files) EXPECT_EQ(world.stored[name.id()], file.bytes);
}

TEST_F(OutputShipperTest, AfterALostConnectionItGoesOnWhereTheControllerIs) {
  world.files[file_of(0)].bytes = std::string(90, 'a') + std::string(90, 'b');
  shipper.on_connected(now);
  shipper.on_received(world.store_one(), now);  // pieces are under way
  shipper.on_received(world.store_one(), now);
  world.store_one();  // stored, and the answer is lost
  world.under_way.clear();
  shipper.on_disconnected();
  run_until_idle();
  EXPECT_EQ(world.stored[file_of(0).id()].size(), 32U);
  shipper.on_connected(now);
  run_until_idle();
  EXPECT_EQ(world.stored[file_of(0).id()], world.files[file_of(0)].bytes);
  EXPECT_EQ(world.missing, 0U);
}

TEST_F(OutputShipperTest, AControllerThatHasLostItsStoreGetsWhatIsStillThere) {
  world.files[file_of(0)].bytes = std::string(150, 'a');
  shipper.on_connected(now);
  run_until_idle();
  world.stored.clear();
  shipper.on_disconnected();
  shipper.on_connected(now);
  run_until_idle();
  EXPECT_EQ(world.stored[file_of(0).id()], std::string(150, 'a'));
}

TEST_F(OutputShipperTest, TooMuchIsGivenUpTheOldestOfTheLongestFirst) {
  OutputShipper bounded(world,
                        {.window_bytes = 1 << 20, .piece_bytes = 1 << 16, .spool_bytes = 3 << 20});
  world.files[file_of(0)].bytes = std::string(100, 's');
  world.files[file_of(1)].bytes = std::string(5 << 20, 'l');
  bounded.on_tick(now);
  EXPECT_EQ(world.files[file_of(0)].given_up, 0U);
  EXPECT_GE(world.files[file_of(1)].given_up, (2U << 20) + 100U);
  const std::uint64_t given_up = world.files[file_of(1)].given_up;
  bounded.on_connected(now);
  for (int i = 0; i < 100; ++i) {
    while (!world.under_way.empty()) bounded.on_received(world.store_one(), now);
    bounded.on_tick(now);
  }
  EXPECT_EQ(world.missing, given_up);
  EXPECT_EQ(world.stored[file_of(1).id()].size(), std::size_t{5} << 20);
  EXPECT_EQ(world.stored[file_of(0).id()], std::string(100, 's'));
  EXPECT_GT(world.files[file_of(1)].given_up,
            4U << 20);  // stored: it takes no room any more, but for less than 1 MiB
}

/// Restarts of both sides, lost connections and lost answers, while the tasks write.
TEST_F(OutputShipperTest, EveryByteOnceWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    FakeShipping node;
    auto agent = std::make_unique<OutputShipper>(
        node, OutputShipper::Options{.window_bytes = 100, .piece_bytes = 16});
    std::map<LogStreamId, std::string> written;
    TimePoint time = TimePoint::from_seconds(1000);
    const auto reconnect = [&] {
      node.under_way.clear();
      agent->on_disconnected();
      agent->on_connected(time);
    };
    reconnect();
    for (int i = 0; i < 300; ++i) {
      time = time + Duration::milliseconds(200);
      const auto name = file_of(static_cast<std::uint32_t>(rng.below(3)),
                                rng.chance(0.5) ? LogStream::kStdout : LogStream::kStderr);
      for (std::uint64_t n = rng.below(40); n > 0; --n) {
        const char byte = static_cast<char>('a' + rng.below(26));
        node.files[name].bytes += byte;
        written[name.id()] += byte;
      }
      agent->on_tick(time);
      for (std::uint64_t n = rng.below(8); n > 0 && !node.under_way.empty(); --n) {
        const OutputReceived answer = node.store_one();
        if (!rng.chance(0.05))
          agent->on_received(answer, time);  // else it is lost, and nothing says so
      }
      if (rng.chance(0.03)) reconnect();
      if (rng.chance(0.02)) {
        agent = std::make_unique<OutputShipper>(
            node, OutputShipper::Options{.window_bytes = 100, .piece_bytes = 16});
        reconnect();
      }
    }
    node.is_live = false;
    for (int i = 0; i < 400 && !node.files.empty(); ++i) {
      agent->on_tick(time = time + Duration::milliseconds(200));
      while (!node.under_way.empty()) agent->on_received(node.store_one(), time);
    }
    ASSERT_TRUE(node.files.empty());
    ASSERT_EQ(node.stored, written);
    ASSERT_EQ(node.missing, 0U);
  }
}

}  // namespace
}  // namespace muster
