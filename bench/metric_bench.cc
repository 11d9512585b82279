// The metric store under the load of a large search, then asked as a chart asks.
//   metric_bench [--trials N] [--reports N] [--batch N] [--points N] [--dir DIR]
// Reports of 5 scalars come from all trials in turn, `batch` of them durable at a time; the store
// is opened again as after a crash; a series of `points` points is sampled to 1,000 with nothing of
// its file in memory. Asserts what is found first.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/cold_file.h"
#include "bench/stopwatch.h"
#include "store/metrics/sqlite_metrics.h"

namespace muster::bench {
namespace {

struct Size {
  std::uint64_t trials = 1'000;
  std::uint64_t reports = 600'000;
  std::uint64_t batch = 300;
  std::uint64_t points = 1'000'000;
  std::string dir = "/tmp";
};

double cpu_seconds() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A loss with noise, stored by most frameworks as a float.
double loss(std::uint64_t trial, std::uint64_t step) {
  const double noise = std::sin(static_cast<double>(step * 7919 + trial * 104729));
  return static_cast<float>(1.0 / (1.0 + static_cast<double>(step)) + 0.01 * noise);
}

MetricReport report_of(std::uint64_t trial, std::uint64_t step) {
  MetricReport report;
  report.trial = TrialId(static_cast<std::uint32_t>(trial + 1));
  report.group = "training";
  report.steps_completed = static_cast<std::int64_t>(step * 10);
  report.report_time = TimePoint::from_microseconds(
      static_cast<std::int64_t>(1'700'000'000'000'000 + step * 100'000 + trial * 97));
  const double value = loss(trial, step);
  report.metrics = {{"loss", value},
                    {"accuracy", 1 - value},
                    {"grad_norm", value * 3},
                    {"lr", 1e-3},
                    {"throughput", 1000 + value}};
  return report;
}

std::unique_ptr<MetricStore> opened(const std::string& path) {
  auto store = open_sqlite_metrics({.path = path});
  CHECK(store.has_value(), "{}", store.error().text());
  return std::move(store).value();
}

void append(MetricStore& store, const std::vector<MetricReport>& batch) {
  const auto outcomes = store.append(batch);
  CHECK(outcomes.has_value(), "{}", outcomes.error().text());
  CHECK(std::ranges::all_of(
      *outcomes, [](ReportOutcome outcome) { return outcome == ReportOutcome::kStored; }));
}

void measure_load(const Size& size, const std::string& path) {
  auto store = opened(path);
  std::vector<double> took;
  std::vector<MetricReport> batch;
  double total = 0;
  double preparing = 0;
  const double cpu = cpu_seconds();
  for (std::uint64_t i = 0; i < size.reports;) {
    const Stopwatch prepare;
    batch.clear();
    for (; batch.size() < size.batch && i < size.reports; ++i)
      batch.push_back(report_of(i % size.trials, i / size.trials));
    preparing += prepare.ms();
    const Stopwatch watch;
    append(*store, batch);
    took.push_back(watch.ms());
    total += took.back();
  }
  const double used = cpu_seconds() - cpu - preparing / 1e3;
  std::ranges::sort(took);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "durable reports of 5 scalars     {:.0f}/s  ({} from {} trials, {} at a time, {:.1f} s, "
      "{:.1f} s of CPU)\n",
      static_cast<double>(size.reports) / total * 1e3, size.reports, size.trials, size.batch,
      total / 1e3, used);
  fmt::print("{:<32} median {:8.3f} ms  worst {:8.3f} ms  (p99 {:.3f} ms)\n", "one durable batch",
             at_share(took, 0.5), took.back(), at_share(took, 0.99));
  fmt::print("file {:.1f} MB, {:.1f} bytes a value; {:.0f} MB of memory; {:.1f} MB wait\n",
             static_cast<double>(bytes_of(path)) / 1e6,
             static_cast<double>(bytes_of(path)) / static_cast<double>(size.reports * 5),
             static_cast<double>(usage.ru_maxrss) / 1e3,
             static_cast<double>(store->waiting_bytes()) / 1e6);
}

void measure_opening(const Size& size, const std::string& path) {
  make_cold(path);
  const Stopwatch watch;
  auto store = opened(path);
  const double took = watch.ms();
  fmt::print("{:<32} median {:8.3f} ms  worst {:8.3f} ms  ({:.1f} MB waited)\n",
             "opening after a crash", took, took,
             static_cast<double>(store->waiting_bytes()) / 1e6);
  std::uint64_t found = 0;
  for (std::uint64_t trial = 0; trial < size.trials; ++trial) {
    const auto summaries = store->summaries(TrialId(static_cast<std::uint32_t>(trial + 1)));
    CHECK(summaries.has_value() && summaries->size() == 5);
    for (const NamedSummary& one : *summaries) found += one.summary.count;
  }
  CHECK(found == size.reports * 5, "{} values of {}", found, size.reports * 5);
}

/// Samples a series of so many points, each time with nothing of the file in memory.
void measure_sampling(const std::string& path, const SeriesQuery& query, const char* name,
                      std::uint64_t points) {
  std::vector<double> took;
  std::size_t shown = 0;
  const auto is_spike = [](const SampledPoint& point) { return point.value == 1e6; };
  for (int round = 0; round < 7; ++round) {
    make_cold(path);
    const Stopwatch watch;
    const auto store = opened(path);
    const auto sampled = store->sample_series(query, 1'000);
    took.push_back(watch.ms());
    CHECK(sampled.has_value(), "{}", sampled.error().text());
    shown = sampled->points.size();
    CHECK(shown > 0 && shown <= 1'000);
    CHECK(std::ranges::any_of(sampled->points, is_spike), "the spike is lost");
  }
  std::ranges::sort(took);
  fmt::print("{:<32} median {:8.3f} ms  worst {:8.3f} ms  ({} of {} points, cold, with opening)\n",
             name, took[took.size() / 2], took.back(), shown, points);
}

void measure_sample(const Size& size, const std::string& path) {
  const std::uint64_t trial = size.trials + 1;
  const std::uint64_t spike = size.points / 3;
  auto store = opened(path);
  std::vector<MetricReport> batch;
  for (std::uint64_t i = 0; i < size.points;) {
    batch.clear();
    for (; batch.size() < 10'000 && i < size.points; ++i) {
      batch.push_back(report_of(trial, i));
      if (i == spike) batch.back().metrics[0].value = 1e6;
    }
    append(*store, batch);
  }
  store = nullptr;
  const SeriesQuery query{.trial = TrialId(static_cast<std::uint32_t>(trial + 1)),
                          .group = "training",
                          .metric = "loss"};
  for (const bool is_zoomed : {false, true}) {
    SeriesQuery part = query;
    if (is_zoomed) {  // the densest that has to be read point by point
      part.first_steps =
          static_cast<std::int64_t>((spike - std::min<std::uint64_t>(spike, 100'000)) * 10 + 5);
      part.last_steps = part.first_steps + 2'000'000;
    }
    measure_sampling(path, part, is_zoomed ? "sampling a fifth of it" : "sampling a long series",
                     is_zoomed ? std::min<std::uint64_t>(200'000, size.points) : size.points);
  }
}

}  // namespace
}  // namespace muster::bench

// A measurement that fails may end the program in any way.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  using muster::bench::option;
  muster::bench::Size size;
  size.trials = option(argc, argv, "--trials", size.trials);
  size.reports = option(argc, argv, "--reports", size.reports);
  size.batch = option(argc, argv, "--batch", size.batch);
  size.points = option(argc, argv, "--points", size.points);
  size.dir = option(argc, argv, "--dir", size.dir);
  std::string dir = size.dir + "/muster_metric_bench.XXXXXX";
  CHECK(mkdtemp(dir.data()) != nullptr, "cannot make a folder in {}", size.dir);
  const std::string path = dir + "/metrics.db";
  muster::bench::measure_load(size, path);
  muster::bench::measure_opening(size, path);
  muster::bench::measure_sample(size, path);
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  return 0;
}
