// Writers of the stores are killed at random points; whatever they acknowledged through a pipe must
// be there, once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/rng.h"
#include "store/logs/sqlite_logs.h"
#include "store/metrics/sqlite_metrics.h"

namespace muster {
namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "/muster_store.XXXXXX";
    CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Runs `write` in a child that is killed after `us` microseconds; the answer is the last number
/// that it acknowledged.
std::uint64_t killed_after(
    std::uint64_t us, const std::function<void(const std::function<void(std::uint64_t)>&)>& write) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    write([&](std::uint64_t number) {
      CHECK(::write(ends[1], &number, sizeof(number)) == sizeof(number));
    });
    _exit(0);
  }
  close(ends[1]);
  usleep(static_cast<useconds_t>(us));
  kill(child, SIGKILL);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << "the writer ended by itself: " << status;
  std::uint64_t last = 0;
  for (std::uint64_t number = 0; read(ends[0], &number, sizeof(number)) == sizeof(number);)
    last = number;
  close(ends[0]);
  return last;
}

MetricReport report_of(std::uint64_t number) {
  MetricReport report;
  report.trial = TrialId(1 + static_cast<std::uint32_t>(number % 7));
  report.group = "training";
  report.steps_completed = static_cast<std::int64_t>(number / 7);
  report.metrics = {{"number", static_cast<double>(number)}};
  return report;
}

std::unique_ptr<MetricStore> metric_store(const std::string& path) {
  auto store =
      open_sqlite_metrics({.path = path, .tail_bytes_max = 20'000, .log_bytes_max = 20'000});
  CHECK(store.has_value(), "{}", store.error().text());
  return std::move(store).value();
}

/// Every number that is there, by trial in order of steps.
std::vector<std::uint64_t> numbers_in(MetricStore& store) {
  std::vector<std::uint64_t> numbers;
  for (std::uint32_t trial = 1; trial <= 7; ++trial) {
    std::optional<MetricCursor> after;
    do {
      const auto page = store.read_series(
          {.trial = TrialId(trial), .group = "training", .metric = "number"}, after, 5'000);
      CHECK(page.has_value(), "{}", page.error().text());
      for (const MetricPoint& point : page->points)
        numbers.push_back(static_cast<std::uint64_t>(std::get<double>(point.value)));
      after = page->next;
    } while (after);
  }
  std::ranges::sort(numbers);
  return numbers;
}

TEST(StoreCrash, AKilledWriterOfMetricsLosesAndDoublesNothing) {
  Rng rng(1);
  const Folder folder;
  const std::string path = folder.file("metrics.db");
  std::uint64_t next = 0;
  std::uint64_t kills_at_work = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round);
    const std::uint64_t acknowledged =
        killed_after(20'000 + rng.below(150'000), [&](const auto& acknowledge) {
          auto store = metric_store(path);
          for (std::uint64_t at = next; at < next + 200'000;) {
            std::vector<MetricReport> batch;
            for (int i = 0; i < 50; ++i) batch.push_back(report_of(at++));
            CHECK(store->append(batch).has_value());
            acknowledge(at);
          }
        });
    auto store = metric_store(path);
    const std::vector<std::uint64_t> numbers = numbers_in(*store);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
    ASSERT_GE(numbers.size(), acknowledged);
    ASSERT_LE(numbers.size(), std::max(acknowledged, next) + 50) << "more than the batch under way";
    kills_at_work += acknowledged > 0 ? 1 : 0;
    next = numbers.size();
  }
  EXPECT_GT(kills_at_work, 3U);
  EXPECT_GT(next, 1'000U);
}

// ---- logs ----

constexpr LogOwner kOwner{LogOwnerKind::kJob, 3};

/// Line `number` of a rank. All have 40 bytes.
std::string line_of(std::uint64_t number) { return fmt::format("line {:034}\n", number); }

std::unique_ptr<LogStore> log_store(const std::string& path) {
  auto store = open_sqlite_logs({.path = path, .open_bytes_max = 50'000, .log_bytes_max = 20'000});
  CHECK(store.has_value(), "{}", store.error().text());
  return std::move(store).value();
}

/// Whole lines of both ranks, checked to be each rank's in order. A batch may end in the middle of
/// a line.
std::uint64_t check_lines(LogStore& store) {
  std::uint64_t next[2] = {0, 0};
  LogQuery query;
  query.owner = kOwner;
  query.lines_max = 5'000;
  for (LogPage page; !page.is_end; query.from = page.next) {
    page = store.read(query).value();
    for (const LogLine& line : page.lines) EXPECT_EQ(line.text + "\n", line_of(next[line.rank]++));
  }
  return std::min(next[0], next[1]);
}

TEST(StoreCrash, AKilledWriterOfLogsLosesAndDoublesNothing) {
  Rng rng(2);
  const Folder folder;
  const std::string path = folder.file("logs.db");
  std::uint64_t sent_before = 0;
  std::uint64_t kills_at_work = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round);
    const std::uint64_t acknowledged =
        killed_after(20'000 + rng.below(150'000), [&](const auto& acknowledge) {
          auto store = log_store(path);
          // As a supervisor does after a restart: some of what was sent is sent again.
          for (std::uint64_t offset = sent_before - std::min<std::uint64_t>(sent_before, 100);
               offset < sent_before + 100'000'000;) {
            std::string bytes;
            for (std::uint64_t number = offset / 40; bytes.size() < 4'000; ++number)
              bytes += line_of(number);
            bytes = bytes.substr(offset % 40, 1'017);
            std::vector<LogFragment> batch(2);
            for (std::uint32_t rank = 0; rank < 2; ++rank) {
              batch[rank].owner = kOwner;
              batch[rank].rank = rank;
              batch[rank].offset = offset;
              batch[rank].bytes = bytes;
            }
            const auto offsets = store->append(batch);
            CHECK(offsets.has_value() && offsets->at(0) >= offset + bytes.size());
            offset += bytes.size();
            acknowledge(offset);
          }
        });
    auto store = log_store(path);
    const std::uint64_t lines = check_lines(*store);
    ASSERT_GE(lines, acknowledged / 40);
    kills_at_work += acknowledged > 0 ? 1 : 0;
    const auto streams = store->streams(kOwner).value();
    if (!streams.empty()) {
      ASSERT_EQ(streams[0].next_offset / 40, lines);
      ASSERT_GE(streams[0].next_offset, acknowledged);
      sent_before = streams[0].next_offset;
    }
  }
  EXPECT_GT(kills_at_work, 3U);
  EXPECT_GT(sent_before, 40'000U);
}

}  // namespace
}  // namespace muster
