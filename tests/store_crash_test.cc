// Writers of the stores are killed at random points; whatever they acknowledged through a pipe must be there, once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/rng.h"
#include "store/metric_store.h"

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

/// Runs `write` in a child that is killed after `us` microseconds; the answer is the last number that it acknowledged.
std::uint64_t killed_after(std::uint64_t us, const std::function<void(const std::function<void(std::uint64_t)>&)>& write) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    write([&](std::uint64_t number) { CHECK(::write(ends[1], &number, sizeof(number)) == sizeof(number)); });
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
  for (std::uint64_t number = 0; read(ends[0], &number, sizeof(number)) == sizeof(number);) last = number;
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
  auto store = MetricStore::open({.path = path, .tail_bytes_max = 20'000, .log_bytes_max = 20'000});
  CHECK(store.has_value(), "{}", store.error().text());
  return std::move(store).value();
}

/// Every number that is there, by trial in order of steps.
std::vector<std::uint64_t> numbers_in(MetricStore& store) {
  std::vector<std::uint64_t> numbers;
  for (std::uint32_t trial = 1; trial <= 7; ++trial) {
    std::optional<MetricCursor> after;
    do {
      const auto page = store.read_series({.trial = TrialId(trial), .group = "training", .metric = "number"}, after, 5'000);
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
    const std::uint64_t acknowledged = killed_after(20'000 + rng.below(150'000), [&](const auto& acknowledge) {
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

}  // namespace
}  // namespace muster
