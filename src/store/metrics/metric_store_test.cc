#include "store/metrics/sqlite_metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <set>

#include "store/files/testing.h"
#include "store/metrics/metric_model.h"

namespace muster {
namespace {

using testing::FaultyDisk;
using testing::MetricModel;

constexpr const char* kMetricPath = "metrics.db";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const TrialId kReportingTrial(7);

std::unique_ptr<MetricStore> opened_metrics(std::size_t tail_bytes_max = std::size_t{1} << 20) {
  SqliteMetricOptions options;
  options.path = kMetricPath;
  options.tail_bytes_max = tail_bytes_max;
  options.log_bytes_max = tail_bytes_max;
  options.cached_metrics_max = 200;
  auto store = open_sqlite_metrics(options);
  EXPECT_TRUE(store.has_value()) << store.error().text();
  return store.has_value() ? std::move(store).value() : nullptr;
}

MetricReport report_of(std::int64_t steps, std::vector<Metric> metrics,
                       std::string group = "training", std::uint32_t run = 1) {
  MetricReport report;
  report.trial = kReportingTrial;
  report.run = run;
  report.group = std::move(group);
  report.steps_completed = steps;
  report.report_time = TimePoint::from_seconds(1'000 + steps);
  report.metrics = std::move(metrics);
  return report;
}

ReportOutcome append_report(MetricStore& store, const MetricReport& report) {
  const auto outcomes = store.append({report});
  EXPECT_TRUE(outcomes.has_value()) << outcomes.error().text();
  return outcomes.has_value() ? outcomes->at(0) : ReportOutcome::kInvalid;
}

SeriesQuery loss() { return {.trial = kReportingTrial, .group = "training", .metric = "loss"}; }

std::string text_of(const MetricValue& value) {
  if (const JsonText* text = std::get_if<JsonText>(&value)) return text->text;
  return fmt::format("{:x}", std::bit_cast<std::uint64_t>(std::get<double>(value)));
}
std::string text_of(const MetricPoint& point) {
  return fmt::format("{}:{}@{}={}", point.run, point.steps_completed,
                     point.report_time.microseconds(), text_of(point.value));
}
std::string text_of(const StoredReport& stored) {
  const MetricReport& report = stored.report;
  std::set<std::string> metrics;
  for (const Metric& metric : report.metrics)
    metrics.insert(metric.name + "=" + text_of(metric.value));
  return fmt::format("{}{}:{}/{}@{} {}", stored.is_archived ? "archived " : "", report.run,
                     report.steps_completed, report.key, report.report_time.microseconds(),
                     fmt::join(metrics, ","));
}
template <class T>
std::vector<std::string> texts_of(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) texts.push_back(text_of(value));
  return texts;
}

/// Every point, in pages.
std::vector<MetricPoint> all_points(MetricStore& store, const SeriesQuery& query,
                                    std::size_t page_size) {
  std::vector<MetricPoint> points;
  std::optional<MetricCursor> after;
  do {
    const auto page = store.read_series(query, after, page_size);
    EXPECT_TRUE(page.has_value()) << page.error().text();
    if (!page.has_value()) return points;
    EXPECT_LE(page->points.size(), page_size);
    EXPECT_FALSE(page->next && page->points.empty());
    points.insert(points.end(), page->points.begin(), page->points.end());
    after = page->next;
  } while (after);
  return points;
}

std::vector<StoredReport> all_reports(MetricStore& store, const MetricStore::ReportsQuery& query,
                                      std::size_t page_size) {
  std::vector<StoredReport> reports;
  std::optional<MetricCursor> after;
  do {
    const auto page = store.read_reports(query, after, page_size);
    EXPECT_TRUE(page.has_value()) << page.error().text();
    if (!page.has_value()) return reports;
    reports.insert(reports.end(), page->reports.begin(), page->reports.end());
    after = page->next;
  } while (after);
  return reports;
}

// ---- outcomes ----

TEST(MetricStore, KeepsWhatItAcknowledgedOverAReopening) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  EXPECT_EQ(append_report(*store, report_of(10, {{"loss", 0.5}, {"note", JsonText{"\"warm\""}}})),
            ReportOutcome::kStored);
  EXPECT_EQ(append_report(*store, report_of(20, {{"loss", kNan}})), ReportOutcome::kStored);
  store = nullptr;
  disk.lose_power();
  store = opened_metrics();
  EXPECT_EQ(texts_of(all_points(*store, loss(), 10)),
            texts_of(std::vector<MetricPoint>{{1, 10, TimePoint::from_seconds(1'010), 0.5},
                                              {1, 20, TimePoint::from_seconds(1'020), kNan}}));
}

TEST(MetricStore, TellsRepeatsConflictsAndStaleReportsApart) {
  FaultyDisk disk(1);
  for (const bool is_compacted : {false, true}) {
    auto store = opened_metrics();
    MetricReport first = report_of(10, {{"loss", 0.5}, {"lr", 0.1}});
    if (!is_compacted) {
      EXPECT_EQ(append_report(*store, first), ReportOutcome::kStored);
    }
    if (!is_compacted) {
      EXPECT_EQ(append_report(*store, report_of(20, {{"loss", 0.4}})), ReportOutcome::kStored);
    }
    if (is_compacted) {
      ASSERT_TRUE(store->compact(100).value());
    }
    EXPECT_EQ(append_report(*store, first), ReportOutcome::kRepeated);
    MetricReport part = report_of(10, {{"lr", 0.1}});
    part.report_time = TimePoint::from_seconds(9'999);
    EXPECT_EQ(append_report(*store, part), ReportOutcome::kRepeated)
        << "when a repeat was sent does not matter";
    MetricReport other = first;
    other.metrics[0].value = 0.25;
    EXPECT_EQ(append_report(*store, other), ReportOutcome::kConflict);
    other.metrics[0].value = JsonText{"0.5"};
    EXPECT_EQ(append_report(*store, other), ReportOutcome::kConflict);
    if (!is_compacted) continue;
    other.key = "again";
    EXPECT_EQ(append_report(*store, other), ReportOutcome::kStored)
        << "another key is another report";
    EXPECT_EQ(append_report(*store, report_of(30, {{"loss", 0.1}}, "training", 2)),
              ReportOutcome::kStored);
    EXPECT_EQ(append_report(*store, report_of(40, {{"loss", 0.1}})), ReportOutcome::kStale);
    EXPECT_EQ(append_report(*store, first), ReportOutcome::kStale);
  }
}

TEST(MetricStore, RepeatsWithinABatchAreSeen) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  const MetricReport report = report_of(1, {{"loss", 1.0}});
  MetricReport other = report;
  other.metrics[0].value = 2.0;
  EXPECT_EQ(
      store->append({report, report, other}).value(),
      (std::vector{ReportOutcome::kStored, ReportOutcome::kRepeated, ReportOutcome::kConflict}));
  EXPECT_EQ(all_points(*store, loss(), 10).size(), 1U);
}

TEST(MetricStore, RefusesWhatIsAgainstTheRules) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  EXPECT_EQ(append_report(*store, report_of(-1, {{"loss", 1.0}})), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, {{"loss", 1.0}}, "a.b")), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, {{"loss", 1.0}}, "")), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, {{"loss", 1.0}}, "a", 0)), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, {{"loss", 1.0}, {"loss", 1.0}})),
            ReportOutcome::kInvalid);
  std::vector<Metric> many(20, {"m", 1.0});
  EXPECT_EQ(append_report(*store, report_of(1, many)), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, {{"", 1.0}})), ReportOutcome::kInvalid);
  for (const char* name : {"x\x1b[31m", "l\tm", "lo\xc2\x9bss", "a\xff"}) {
    EXPECT_EQ(append_report(*store, report_of(1, {{name, 1.0}})), ReportOutcome::kInvalid)
        << "it would reach others' terminals";
  }
  EXPECT_TRUE(store->groups(kReportingTrial).value().empty());
}

TEST(MetricStore, ARunHasSoManyDifferentMetricsAndNoMore) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  const auto named = [](const char* prefix, int count) {
    std::vector<Metric> metrics;
    for (int i = 0; i < count; ++i) metrics.push_back({prefix + std::to_string(i), 1.0});
    return metrics;
  };
  EXPECT_EQ(append_report(*store, report_of(1, named("a", 10'001), "wide")),
            ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(1, named("a", 6'000), "wide")), ReportOutcome::kStored);
  EXPECT_EQ(append_report(*store, report_of(2, named("a", 6'000), "wide")), ReportOutcome::kStored)
      << "the same ones again";
  EXPECT_EQ(append_report(*store, report_of(1, named("b", 4'001), "other")),
            ReportOutcome::kInvalid)
      << "all groups count together";
  EXPECT_EQ(append_report(*store, report_of(1, named("b", 4'000), "other")),
            ReportOutcome::kStored);
  EXPECT_EQ(append_report(*store, report_of(3, named("c", 1), "third")), ReportOutcome::kInvalid);
  EXPECT_EQ(append_report(*store, report_of(4, named("a", 6'000), "wide")), ReportOutcome::kStored);
}

TEST(MetricStore, ReportsOfOneIdentityAddNamesToEachOther) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  EXPECT_EQ(append_report(*store, report_of(5, {{"loss", 1.0}})), ReportOutcome::kStored);
  EXPECT_EQ(append_report(*store, report_of(5, {{"accuracy", 0.5}, {"loss", 1.0}})),
            ReportOutcome::kStored);
  EXPECT_EQ(append_report(*store, report_of(5, {{"loss", 1.0}, {"accuracy", 0.5}})),
            ReportOutcome::kRepeated);
  const auto reports = all_reports(*store, {.trial = kReportingTrial, .group = "training"}, 10);
  EXPECT_EQ(texts_of(reports), std::vector<std::string>{text_of(StoredReport{
                                   1, report_of(5, {{"loss", 1.0}, {"accuracy", 0.5}})})});
  EXPECT_EQ(all_points(*store, loss(), 10).size(), 1U) << "what was there is not stored again";
}

// ---- runs ----

TEST(MetricStore, WhatARunDidNotResumeFromIsArchived) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  EXPECT_EQ(store->begin_run(kReportingTrial, 1, 0).value(), ReportOutcome::kStored);
  for (std::int64_t steps = 10; steps <= 50; steps += 10)
    append_report(*store, report_of(steps, {{"loss", 1.0}}));
  append_report(*store, report_of(50, {{"loss", 9.0}}, "validation"));
  EXPECT_EQ(store->begin_run(kReportingTrial, 2, 30).value(), ReportOutcome::kStored);
  EXPECT_EQ(store->begin_run(kReportingTrial, 2, 30).value(), ReportOutcome::kRepeated);
  EXPECT_EQ(store->begin_run(kReportingTrial, 2, 20).value(), ReportOutcome::kConflict);
  EXPECT_EQ(store->begin_run(kReportingTrial, 1, 0).value(), ReportOutcome::kStale);
  append_report(*store, report_of(40, {{"loss", 2.0}}, "training", 2));
  store = nullptr;
  store = opened_metrics();
  std::vector<std::pair<std::uint32_t, std::int64_t>> shown;
  for (const MetricPoint& point : all_points(*store, loss(), 2))
    shown.emplace_back(point.run, point.steps_completed);
  EXPECT_EQ(shown, (std::vector<std::pair<std::uint32_t, std::int64_t>>{
                       {1, 10}, {1, 20}, {1, 30}, {2, 40}}));
  SeriesQuery raw = loss();
  raw.run = 1;
  EXPECT_EQ(all_points(*store, raw, 2).size(), 5U);
  EXPECT_EQ(store->latest_report(kReportingTrial, "validation").value(), std::nullopt);
  EXPECT_EQ(store->latest_report(kReportingTrial, "training").value()->report.steps_completed, 40);
  const auto reports = all_reports(
      *store, {.trial = kReportingTrial, .group = "training", .is_archived_included = true}, 2);
  EXPECT_EQ(std::ranges::count(reports, true, &StoredReport::is_archived), 2);
}

TEST(MetricStore, ARunThatWasNotAnnouncedReplacesWhatItReportsAgain) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  for (std::int64_t steps = 10; steps <= 50; steps += 10)
    append_report(*store, report_of(steps, {{"loss", 1.0}}));
  append_report(*store, report_of(30, {{"loss", 2.0}}, "training", 3));
  std::vector<std::pair<std::uint32_t, std::int64_t>> shown;
  for (const MetricPoint& point : all_points(*store, loss(), 100))
    shown.emplace_back(point.run, point.steps_completed);
  EXPECT_EQ(shown,
            (std::vector<std::pair<std::uint32_t, std::int64_t>>{{1, 10}, {1, 20}, {3, 30}}));
  EXPECT_EQ(store->begin_run(kReportingTrial, 3, 10).value(), ReportOutcome::kStored)
      << "its start may be told later";
  EXPECT_EQ(all_points(*store, loss(), 100).size(), 2U);
}

// ---- answers ----

TEST(MetricStore, SummariesTellEveryKindOfValue) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  append_report(*store, report_of(1, {{"loss", 4.0},
                                      {"text", JsonText{"\"a\""}},
                                      {"mixed", 1.0},
                                      {"day", JsonText{"\"2024-05-06T07:08:09Z\""}}}));
  append_report(
      *store,
      report_of(2, {{"loss", kNan}, {"text", JsonText{"\"b\""}}, {"mixed", JsonText{"{}"}}}));
  append_report(
      *store,
      report_of(3, {{"loss", -kInfinity}, {"list", JsonText{"[1]"}}, {"flag", JsonText{"true"}}}));
  append_report(*store, report_of(4, {{"loss", 1.0}}));
  std::map<std::string, MetricSummary> found;
  const std::vector<NamedSummary> summaries = store->summaries(kReportingTrial).value();
  for (const NamedSummary& one : summaries) found[one.metric] = one.summary;
  const MetricSummary& loss = found.at("loss");
  EXPECT_EQ(loss.count, 4U);
  EXPECT_EQ(loss.finite_count, 2U);
  EXPECT_EQ(loss.nan_count, 1U);
  EXPECT_EQ(loss.negative_infinity_count, 1U);
  EXPECT_EQ(loss.finite_sum, 5.0);
  EXPECT_EQ(loss.finite_min, 1.0);
  EXPECT_EQ(loss.finite_max, 4.0);
  EXPECT_EQ(loss.min(), -kInfinity);
  EXPECT_EQ(loss.max(), 4.0);
  EXPECT_TRUE(std::isnan(*loss.mean()));
  EXPECT_TRUE(is_same(loss.last, 1.0));
  EXPECT_STREQ(metric_type_name(loss.type), "number");
  EXPECT_EQ(found.at("text").type, MetricType::kString);
  EXPECT_TRUE(is_same(found.at("text").last, JsonText{"\"b\""}));
  EXPECT_EQ(found.at("text").mean(), std::nullopt);
  EXPECT_EQ(found.at("mixed").type, MetricType::kMixed);
  EXPECT_EQ(found.at("day").type, MetricType::kDate);
  EXPECT_EQ(found.at("list").type, MetricType::kArray);
  EXPECT_EQ(found.at("flag").type, MetricType::kBoolean);
}

TEST(MetricStore, TheBestReportPassesOverNanAndTheWrongInfinity) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  const double values[] = {kNan, kInfinity, 3, 2, 2, 5};
  std::int64_t steps = 0;
  for (const double value : values) {
    ++steps;
    append_report(*store, report_of(steps, {{"loss", value}, {"epoch", static_cast<double>(steps)}},
                                    "validation"));
  }
  const auto least = store->best_report(kReportingTrial, "validation", "loss", true).value();
  EXPECT_EQ(least->report.steps_completed, 4);
  EXPECT_EQ(least->report.metrics.size(), 2U);
  EXPECT_EQ(store->best_report(kReportingTrial, "validation", "loss", false)
                .value()
                ->report.steps_completed,
            2);
  EXPECT_EQ(store->best_report(kReportingTrial, "validation", "other", false).value(),
            std::nullopt);
}

TEST(MetricStore, ASpikeIsInEverySample) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  constexpr std::int64_t kCount = 20'000;
  std::vector<MetricReport> batch;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double value = i == 7'777 ? 1e9 : i == 12'345 ? -1e9 : i == 15'000 ? kNan : 0.5;
    batch.push_back(report_of(i, {{"loss", value}}));
  }
  ASSERT_TRUE(store->append(batch).has_value());
  for (const std::size_t points_max : {5U, 23U, 100U, 1'000U, 30'000U}) {
    const SampledSeries sampled = store->sample_series(loss(), points_max).value();
    EXPECT_LE(sampled.points.size(), points_max);
    EXPECT_EQ(sampled.stretches.empty(), points_max > kCount);
    std::set<std::int64_t> steps;
    for (const SampledPoint& point : sampled.points) steps.insert(point.steps_completed);
    for (const std::int64_t needed : {std::int64_t{0}, std::int64_t{7'777}, std::int64_t{12'345},
                                      std::int64_t{15'000}, kCount - 1}) {
      EXPECT_TRUE(steps.contains(needed)) << needed << " of " << points_max;
    }
    if (points_max == 1'000U) {
      EXPECT_GT(sampled.points.size(), 200U);
    }
  }
  EXPECT_EQ(store->sample_series(loss(), 4).error().code, ErrorCode::kInvalidArgument);
}

TEST(MetricStore, ADeletedTrialIsGoneAndItsRoomIsGivenBack) {
  FaultyDisk disk(1);
  auto store = opened_metrics();
  for (std::int64_t i = 0; i < 3'000; ++i) append_report(*store, report_of(i, {{"loss", 1.0}}));
  MetricReport other = report_of(1, {{"loss", 3.0}});
  other.trial = TrialId(8);
  append_report(*store, other);
  ASSERT_TRUE(store->delete_trial(kReportingTrial).has_value());
  store = nullptr;
  store = opened_metrics();
  EXPECT_TRUE(store->groups(kReportingTrial).value().empty());
  EXPECT_TRUE(all_points(*store, loss(), 100).empty());
  int slices = 0;
  while (!store->sweep(2).value()) ++slices;
  EXPECT_GT(slices, 2);
  ASSERT_TRUE(store->compact(100).value());
  SeriesQuery rest = loss();
  rest.trial = TrialId(8);
  EXPECT_EQ(all_points(*store, rest, 100).size(), 1U);
  store = nullptr;
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(kMetricPath, &raw), SQLITE_OK);
  for (const std::string table : {"columns", "cells", "directory", "report_rows", "segments"}) {
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(
        sqlite3_prepare_v2(raw, ("SELECT COUNT(*) FROM " + table).c_str(), -1, &statement, nullptr),
        SQLITE_OK);
    ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
    EXPECT_EQ(sqlite3_column_int(statement, 0), 1) << table;
    sqlite3_finalize(statement);
  }
  sqlite3_close(raw);
}

TEST(MetricStore, NamesANewerFormatAndDamage) {
  FaultyDisk disk(1);
  opened_metrics() = nullptr;
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(kMetricPath, &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "UPDATE meta SET value = 2 WHERE name = 'format'", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(raw);
  const auto newer = open_sqlite_metrics({.path = kMetricPath});
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(newer.error().message, "metric store has format 2");
  disk.rot(kMetricPath, 0, std::string(100, '\xee'));
  EXPECT_EQ(open_sqlite_metrics({.path = kMetricPath}).error().code, ErrorCode::kCorruption);
}

// ---- a property: the store answers as the model, whatever the disk does ----

class MetricStory : public testing::DiskStory {
 public:
  MetricStory(std::uint64_t seed, bool is_faulty) : DiskStory(seed, is_faulty) {}

  void run() {
    for (int session = 0; session < 4; ++session) {
      maybe_arm();
      reopen();
      for (std::uint64_t turn = 1 + rng_.below(12);
           turn > 0 && !disk_.is_gone() && store_ != nullptr; --turn) {
        ASSERT_NO_FATAL_FAILURE(act());
        maybe_arm();
      }
      store_ = nullptr;
      end_session();
      reopen();
      ASSERT_NE(store_, nullptr);
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
  std::uint64_t stored() const { return model_.size(); }

 private:
  void reopen() {
    store_ = nullptr;
    SqliteMetricOptions options;
    options.path = kMetricPath;
    options.tail_bytes_max = rng_.chance(0.5) ? 4'000 : 100'000;
    options.log_bytes_max = rng_.chance(0.5) ? 3'000 : 100'000;
    options.cached_metrics_max = 40;
    auto store = open_sqlite_metrics(options);
    if (store.has_value()) {
      store_ = std::move(store).value();
    } else {
      refuse(store.error());
    }
  }

  void act() {
    switch (rng_.below(12)) {
      case 0: return begin_run();
      case 1: return compact();
      case 2: return rng_.chance(0.2) ? delete_trial() : sweep();
      case 3: return check_if_sound();
      default: return append();
    }
  }
  MetricReport random_report() {
    constexpr const char* kGroups[] = {"training", "validation", "gpu"};
    constexpr const char* kNames[] = {"loss", "acc", "note", "x", "y"};
    MetricReport report;
    report.trial = TrialId(1 + static_cast<std::uint32_t>(rng_.below(3)));
    report.run = 1 + static_cast<std::uint32_t>(
                         run_[report.trial.value()] -
                         (rng_.chance(0.05) && run_[report.trial.value()] > 0 ? 1 : 0));
    report.group = kGroups[rng_.below(3)];
    std::int64_t& steps = steps_[report.trial.value()];
    steps += rng_.between(0, 3);
    report.steps_completed = rng_.chance(disorder_) ? rng_.between(0, steps) : steps;
    if (report.group == "gpu") report.steps_completed = 0;
    if (report.group == "gpu" || rng_.chance(0.1))
      report.key = "k" + std::to_string(rng_.below(2'000));
    report.report_time = TimePoint::from_microseconds(rng_.between(0, 1'000'000'000));
    for (const char* name : kNames) {
      if (rng_.chance(0.5)) report.metrics.push_back({name, random_value(name)});
    }
    return report;
  }
  MetricValue random_value(std::string_view name) {
    if (name == "note") return JsonText{"\"t" + std::to_string(rng_.below(50)) + "\""};
    if (name == "x" && rng_.chance(0.01)) return JsonText{"{\"a\":1}"};
    if (rng_.chance(0.02)) return kNan;
    if (rng_.chance(0.02)) return rng_.chance(0.5) ? kInfinity : -kInfinity;
    if (rng_.chance(0.2)) return static_cast<double>(rng_.below(4));
    return rng_.unit() * 100 - 50;
  }
  void append() {
    std::vector<MetricReport> batch;
    for (std::uint64_t count = 1 + rng_.below(rng_.chance(0.1) ? 400 : 40); count > 0; --count) {
      if (!sent_.empty() && rng_.chance(0.1)) {
        batch.push_back(sent_[rng_.below(sent_.size())]);
        if (rng_.chance(0.3) && !batch.back().metrics.empty()) batch.back().metrics[0].value = -1.5;
      } else {
        batch.push_back(random_report());
      }
    }
    sent_.insert(sent_.end(), batch.begin(), batch.end());
    MetricModel after = model_;
    std::vector<ReportOutcome> expected;
    for (const MetricReport& report : batch) expected.push_back(after.append(report));
    const auto outcomes = store_->append(batch);
    if (!outcomes.has_value()) return unsettled(outcomes.error(), std::move(after));
    decide_late(expected != *outcomes);
    if (expected != *outcomes) {  // only where a refused change is there all the same
      MetricModel again = model_;
      expected.clear();
      for (const MetricReport& report : batch) expected.push_back(again.append(report));
      after = std::move(again);
    }
    ASSERT_EQ(expected, *outcomes);
    model_ = std::move(after);
  }
  void begin_run() {
    const std::uint32_t trial = 1 + static_cast<std::uint32_t>(rng_.below(3));
    const std::int64_t resumed_from = rng_.between(0, steps_[trial]);
    const std::uint32_t run = ++run_[trial] + 1;
    steps_[trial] = resumed_from;
    MetricModel after = model_;
    after.begin_run(TrialId(trial), run, resumed_from);
    const auto outcome = store_->begin_run(TrialId(trial), run, resumed_from);
    if (!outcome.has_value()) return unsettled(outcome.error(), std::move(after));
    ASSERT_EQ(*outcome, ReportOutcome::kStored);
    ASSERT_NO_FATAL_FAILURE(decide_by_check());
    model_.begin_run(TrialId(trial), run, resumed_from);
  }
  void delete_trial() {
    const TrialId trial(1 + static_cast<std::uint32_t>(rng_.below(3)));
    MetricModel after = model_;
    after.delete_trial(trial);
    const Status status = store_->delete_trial(trial);
    if (!status.has_value()) return unsettled(status.error(), std::move(after));
    if (late_) late_->delete_trial(trial);
    model_ = std::move(after);
    ASSERT_NO_FATAL_FAILURE(decide_by_check());
  }
  void sweep() {
    const auto done = store_->sweep(1 + static_cast<std::uint32_t>(rng_.below(20)));
    if (!done.has_value()) refuse(done.error());
  }
  void compact() {
    const auto done = store_->compact(1 + rng_.below(200));
    if (!done.has_value()) refuse(done.error());
  }
  void check_if_sound() {
    if (!is_faulty_) check();
  }

  /// A refused change is there whole or not at all; which of them shows in the next answer.
  void unsettled(const Error& error, MetricModel after) {
    refuse(error);
    if (!disk_.is_gone()) {
      disk_.heal();
      if (rng_.chance(0.5)) reopen();
      if (store_ == nullptr) return;
    }
    late_ = std::move(after);
    if (!disk_.is_gone()) decide_by_check();
  }
  void decide_late(bool is_late) {
    if (is_late && late_) model_ = std::move(*late_);
    late_.reset();
  }
  void decide_by_check() {
    if (!late_) return;
    const bool is_late = fingerprint_of_store() == fingerprint_of(*late_) &&
                         fingerprint_of(*late_) != fingerprint_of(model_);
    decide_late(is_late);
  }
  std::vector<std::string> fingerprint_of(const MetricModel& model) {
    std::vector<std::string> all;
    for (std::uint32_t trial = 1; trial <= 3; ++trial) {
      for (const char* group : {"training", "validation", "gpu"}) {
        for (const std::string& text : texts_of(model.reports(TrialId(trial), group, true)))
          all.push_back(text);
      }
    }
    return all;
  }
  std::vector<std::string> fingerprint_of_store() {
    std::vector<std::string> all;
    for (std::uint32_t trial = 1; trial <= 3; ++trial) {
      for (const char* group : {"training", "validation", "gpu"}) {
        const auto reports = all_reports(
            *store_, {.trial = TrialId(trial), .group = group, .is_archived_included = true},
            100'000);
        for (const std::string& text : texts_of(reports)) all.push_back(text);
      }
    }
    return all;
  }

  void check() {
    decide_by_check();
    ASSERT_EQ(fingerprint_of_store(), fingerprint_of(model_));
    const TrialId trial(1 + static_cast<std::uint32_t>(rng_.below(3)));
    const auto summaries = store_->summaries(trial).value();
    std::map<std::pair<std::string, std::string>, MetricSummary> by_name;
    for (const NamedSummary& one : summaries) by_name[{one.group, one.metric}] = one.summary;
    for (const std::string group : {"training", "validation", "gpu"}) {
      ASSERT_NO_FATAL_FAILURE(check_group(trial, group));
      for (const std::string metric : {"loss", "acc", "note", "x", "y"}) {
        SCOPED_TRACE(fmt::format("trial {} {} {}", trial.value(), group, metric));
        ASSERT_NO_FATAL_FAILURE(check_series({.trial = trial, .group = group, .metric = metric}));
        const auto points = model_.series({.trial = trial, .group = group, .metric = metric});
        ASSERT_EQ(by_name.contains({group, metric}), !points.empty());
        if (!points.empty()) {
          ASSERT_NO_FATAL_FAILURE(check_summary(points, by_name[{group, metric}]));
        }
        ASSERT_NO_FATAL_FAILURE(check_best(trial, group, metric, points));
      }
    }
  }
  void check_group(TrialId trial, const std::string& group) {
    const auto expected = model_.reports(trial, group, false);
    const auto latest = store_->latest_report(trial, group).value();
    ASSERT_EQ(latest.has_value(), !expected.empty());
    if (group == "training") {  // one identity a step, mostly; pages may cut it nowhere else
      ASSERT_EQ(texts_of(all_reports(*store_, {.trial = trial, .group = group}, 2'000)),
                texts_of(expected));
    }
    if (!latest) return;
    EXPECT_EQ(latest->report.steps_completed, expected.back().report.steps_completed);
    const auto texts = texts_of(expected);
    EXPECT_NE(std::ranges::find(texts, text_of(*latest)), texts.end()) << text_of(*latest);
  }
  void check_series(SeriesQuery query) {
    if (rng_.chance(0.5)) {
      query.first_steps = rng_.between(0, 60);
      query.last_steps = query.first_steps + rng_.between(0, 200);
    }
    if (rng_.chance(0.2)) query.run = 1 + static_cast<std::uint32_t>(rng_.below(3));
    const auto expected = model_.series(query);
    ASSERT_EQ(texts_of(all_points(*store_, query, 1 + rng_.below(500))), texts_of(expected));
    ASSERT_NO_FATAL_FAILURE(check_sample(query, expected));
  }
  void check_sample(const SeriesQuery& query, const std::vector<MetricPoint>& expected) {
    std::vector<MetricPoint> numbers;
    for (const MetricPoint& point : expected) {
      if (std::holds_alternative<double>(point.value)) numbers.push_back(point);
    }
    const std::size_t points_max = 5 + rng_.below(200);
    const SampledSeries sampled = store_->sample_series(query, points_max).value();
    ASSERT_LE(sampled.points.size(), points_max);
    std::vector<std::string> shown;
    for (const SampledPoint& point : sampled.points) {
      shown.push_back(
          text_of(MetricPoint{point.run, point.steps_completed, point.report_time, point.value}));
    }
    const std::vector<std::string> all = texts_of(numbers);
    if (numbers.size() <= points_max) {
      ASSERT_EQ(shown, all);
      return;
    }
    // Each is a point of the series, in its order, and none of the extremes is missing.
    auto at = all.begin();
    for (const std::string& text : shown) {
      at = std::find(at, all.end(), text);
      ASSERT_NE(at, all.end()) << text;
      ++at;
    }
    ASSERT_EQ(shown.front(), all.front());
    ASSERT_EQ(shown.back(), all.back());
    std::uint64_t counted = 0;
    std::uint64_t not_finite = 0;
    for (const SampledStretch& stretch : sampled.stretches) {
      counted += stretch.count;
      not_finite +=
          stretch.nan_count + stretch.positive_infinity_count + stretch.negative_infinity_count;
    }
    ASSERT_EQ(counted, numbers.size());
    double least = kInfinity;
    double most = -kInfinity;
    std::uint64_t odd = 0;
    for (const MetricPoint& point : numbers) {
      const double value = std::get<double>(point.value);
      odd += std::isfinite(value) ? 0 : 1;
      if (std::isfinite(value)) least = std::min(least, value), most = std::max(most, value);
    }
    ASSERT_EQ(not_finite, odd);
    const auto has = [&](double value) {
      return least > most || std::ranges::any_of(sampled.points, [&](const SampledPoint& point) {
               return point.value == value;
             });
    };
    ASSERT_TRUE(has(least) && has(most));
  }
  void check_summary(const std::vector<MetricPoint>& points, const MetricSummary& summary) {
    ASSERT_EQ(summary.count, points.size());
    ASSERT_TRUE(is_same(summary.last, points.back().value));
    double sum = 0;
    std::uint64_t finite = 0;
    std::uint64_t nan = 0;
    for (const MetricPoint& point : points) {
      const double* value = std::get_if<double>(&point.value);
      if (value == nullptr) continue;
      nan += std::isnan(*value) ? 1 : 0;
      if (!std::isfinite(*value)) continue;
      ++finite;
      sum += *value;
      ASSERT_LE(summary.finite_min, *value);
      ASSERT_GE(summary.finite_max, *value);
    }
    ASSERT_EQ(summary.finite_count, finite);
    ASSERT_EQ(summary.nan_count, nan);
    ASSERT_NEAR(summary.finite_sum, sum, 1e-6);
  }
  void check_best(TrialId trial, const std::string& group, const std::string& metric,
                  const std::vector<MetricPoint>& points) {
    const bool is_smaller_better = rng_.chance(0.5);
    std::optional<MetricPoint> best;
    const auto rank = [&](const MetricPoint& point) {
      const double value = std::get<double>(point.value);
      return std::pair(std::isnan(value), std::isnan(value)   ? 0
                                          : is_smaller_better ? value
                                                              : -value);
    };
    for (const MetricPoint& point : points) {
      if (std::holds_alternative<double>(point.value) && (!best || rank(point) < rank(*best)))
        best = point;
    }
    const auto found = store_->best_report(trial, group, metric, is_smaller_better).value();
    ASSERT_EQ(found.has_value(), best.has_value());
    if (!best) return;
    EXPECT_EQ(found->report.steps_completed, best->steps_completed);
    EXPECT_EQ(found->report.run, best->run);
  }

  double disorder_ = rng_.chance(0.3) ? 0.5 : 0.05;
  std::unique_ptr<MetricStore> store_;
  MetricModel model_;
  std::optional<MetricModel>
      late_;  ///< what holds if the change refused last is there all the same
  std::vector<MetricReport> sent_;
  std::map<std::uint32_t, std::uint32_t> run_;
  std::map<std::uint32_t, std::int64_t> steps_;
};

TEST(MetricStoreProperty, AnswersAsTheModel) {
  const testing::StorySum sum = testing::run_stories<MetricStory>(40, false);
  EXPECT_GT(sum.stored, 10'000U);
}

TEST(MetricStoreProperty, NothingAcknowledgedIsLostOrDoubledWhateverTheDiskDoes) {
  const testing::StorySum sum = testing::run_stories<MetricStory>(100, true);
  EXPECT_GT(sum.stored, 10'000U);
  EXPECT_GT(sum.refused, 100U);
}

}  // namespace
}  // namespace muster
