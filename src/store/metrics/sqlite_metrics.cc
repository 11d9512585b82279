// As the log store: an append is one record in the log and one sync; blocks are written a bounded
// part at a time; what lies in memory follows from the file.
#include "store/metrics/metric_store.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "store/metrics/report_log.h"
#include "store/metrics/store_state.h"
#include "text/printable_text.h"

namespace muster {

using metrics::MetricTables;
using metrics::ReportBatchWriter;
using metrics::RowPosition;
using metrics::Segment;
using metrics::Trial;

namespace {

/// Waiting reports that one append moves into blocks at least, when there are so many: what keeps
/// up with small batches.
constexpr std::size_t kSliceBytesMin = std::size_t{128} << 10;

bool has_unique_names(const std::vector<Metric>& metrics) {
  // Few names, as is usual, are compared in pairs without an allocation.
  if (metrics.size() <= 8) {
    for (std::size_t i = 1; i < metrics.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (metrics[i].name == metrics[j].name) return false;
      }
    }
    return true;
  }
  std::unordered_set<std::string_view> names;
  return std::ranges::all_of(
      metrics, [&](const Metric& metric) { return names.insert(metric.name).second; });
}

bool is_valid(const MetricReport& report) {
  if (report.trial == TrialId() || report.run == 0 || report.steps_completed < 0) return false;
  // A full stop divides group and metric in Determined's names.
  if (report.group.empty() || report.group.find('.') != std::string::npos ||
      !is_printable(report.group))
    return false;
  const bool has_names = std::ranges::all_of(report.metrics, [](const Metric& metric) {
    return !metric.name.empty() && is_printable(metric.name);
  });
  return has_names && has_unique_names(report.metrics);
}

/// Whether what the report would add finds room: different metrics of its run, in all groups
/// together, and reports.
bool has_room(const Trial& trial, const Segment* segment, const MetricReport& report) {
  std::size_t series = 0;
  for (const auto& one : trial.segments)
    series += one->run() == report.run ? one->series().size() : 0;
  if (series + report.metrics.size() >
      kRunMetricsMax) {  // seldom, so that names are looked for then alone
    series +=
        static_cast<std::size_t>(std::ranges::count_if(report.metrics, [&](const Metric& metric) {
          return segment == nullptr || !segment->find_series(metric.name);
        }));
    if (series > kRunMetricsMax) return false;
  }
  return segment == nullptr || segment->directory().size() + 64 <
                                   metrics::kBlocksMax;  // beyond what a run reports in years
}

/// A report beside what is stored under its identity.
struct Comparison {
  bool is_known = false;
  bool is_conflict = false;
  std::vector<Metric> added;  ///< what is not there yet
};

Result<Comparison> compare(MetricTables& tables, const Segment& segment,
                           const MetricReport& report) {
  Comparison result;
  const std::vector<RowPosition> positions =
      TRY(segment.find(tables, report.steps_completed, report.key));
  // Nothing is stored under the steps and key: a new report.
  if (positions.empty()) return result;
  result.is_known = true;
  for (const Metric& metric : report.metrics) {
    bool is_there = false;
    const std::optional<std::uint32_t> series = segment.find_series(metric.name);
    for (std::size_t i = 0; series && !is_there && i < positions.size(); ++i) {
      const std::optional<MetricValue> stored = TRY(segment.value(tables, *series, positions[i]));
      is_there = stored.has_value();
      // The same value again is no conflict: NaN equals NaN here.
      result.is_conflict = result.is_conflict || (stored && !is_same(*stored, metric.value));
    }
    if (!is_there) result.added.push_back(metric);
  }
  return result;
}

}  // namespace

// ---- what lies in memory ----

void SqliteMetricStore::State::add(Trial& trial, std::uint64_t id, const MetricReport& report) {
  Segment* segment = trial.find(report.run, report.group);
  if (segment == nullptr) {
    const metrics::SegmentId next(counters.next_segment++);
    trial.segments.push_back(std::make_unique<Segment>(next, trial.id, report.run, report.group));
    segment = trial.segments.back().get();
  }
  const std::size_t before = segment->tail_bytes();
  segment->add(id, report, counters.next_series);
  waiting_bytes += segment->tail_bytes() - before;
  // The id under which it waits: that of its oldest report.
  const std::uint64_t first = segment->tail().ids.front();
  if (segment->tail().size() == 1) waiting.emplace(first, segment);
  // Exactly once, when the block is full.
  if (segment->tail().size() == metrics::kBlockReports) full.emplace(first, segment);
}

Status SqliteMetricStore::State::flush(Segment& segment) {
  const std::uint64_t first = segment.tail().ids.front();
  waiting.erase(first);
  full.erase(first);
  waiting_bytes -= segment.tail_bytes();
  // It has grown: its weight in the cache is taken anew.
  trials.weigh(segment.trial());
  return segment.flush(*tables);
}

Status SqliteMetricStore::State::trim() {
  TRY(tables->put_counters(counters));
  // As trim_log of the log store.
  const std::uint64_t oldest = waiting.empty() ? counters.next_report : waiting.begin()->first;
  if (!log.empty() && log.front().last_id < oldest) TRY(tables->trim_log(oldest));
  for (; !log.empty() && log.front().last_id < oldest; log.pop_front())
    log_bytes -= log.front().bytes;
  if (has_tombstones) TRY(tables->drop_tombstones(log.empty() ? counters.next_report : oldest));
  return {};
}

void SqliteMetricStore::State::forget(const Trial& trial) {
  for (const auto& segment : trial.segments) {
    if (segment->tail().size() == 0) continue;
    waiting.erase(segment->tail().ids.front());
    full.erase(segment->tail().ids.front());
    waiting_bytes -= segment->tail_bytes();
  }
  trials.forget(trial.id);
}

// ---- opening ----

SqliteMetricStore::SqliteMetricStore(SqliteMetricOptions options) : options_(std::move(options)) {}
SqliteMetricStore::~SqliteMetricStore() = default;

Result<std::unique_ptr<MetricStore>> open_sqlite_metrics(const SqliteMetricOptions& options) {
  auto store = std::make_unique<SqliteMetricStore>(options);
  TRY(store->ready());
  return store;
}

Status SqliteMetricStore::ready() {
  if (!needs_reload_) {
    state_->trials.trim();
    return {};
  }
  state_ = nullptr;
  auto tables = TRY(MetricTables::open(options_.path));
  state_ = std::make_unique<State>(std::move(tables), options_);
  Status replayed = replay();
  if (!replayed.has_value()) state_ = nullptr;
  needs_reload_ = !replayed.has_value();
  return replayed;
}

Status SqliteMetricStore::replay() {
  State& state = *state_;
  state.counters = TRY(state.tables->counters());
  std::unordered_map<TrialId, std::uint64_t> deleted;
  const std::vector<metrics::Tombstone> tombstones = TRY(state.tables->tombstones());
  for (const metrics::Tombstone& one : tombstones) {
    deleted[one.trial] = one.last_report;
    state.counters.next_report = std::max(state.counters.next_report, one.last_report + 1);
  }
  state.has_tombstones = !deleted.empty();
  TRY(state.tables->each_log([&](std::uint64_t last_id, const std::string& record) -> Status {
    const std::vector<StoredReport> reports = TRY(metrics::decode_report_batch(record));
    for (const StoredReport& stored : reports) {
      // A deleted trial's, from before that.
      const auto grave = deleted.find(stored.report.trial);
      if (grave != deleted.end() && stored.id <= grave->second) continue;
      Trial* trial = TRY(state.trials.find(stored.report.trial));
      const Segment* segment = trial->find(stored.report.run, stored.report.group);
      // What lies in blocks is there already.
      if (segment == nullptr || stored.id > segment->flushed_id())
        state.add(*trial, stored.id, stored.report);
    }
    state.log.push_back({last_id, record.size()});
    state.log_bytes += record.size();
    return {};
  }));
  return {};
}

// ---- writing ----

Result<std::vector<ReportOutcome>> SqliteMetricStore::append(
    const std::vector<MetricReport>& reports) {
  TRY(ready());
  needs_reload_ = true;  // whatever is refused from here on may have left half of itself in memory
  State& state = *state_;
  SqlTransaction transaction(state.tables->session());
  TRY(transaction.begin());
  std::vector<ReportOutcome> outcomes;
  outcomes.reserve(reports.size());
  // Ids are given in order, so that a record has a range of them.
  const std::uint64_t first_id = state.counters.next_report;
  const std::size_t waited = state.waiting_bytes;
  state.batch = std::make_unique<ReportBatchWriter>();
  for (const MetricReport& report : reports) {
    const ReportOutcome outcome = TRY(accept(report));
    outcomes.push_back(outcome);
  }
  if (!state.batch->is_empty()) {
    const std::string record = state.batch->finish();
    TRY(state.tables->add_log(first_id, state.counters.next_report - 1, record));
    state.log.push_back({state.counters.next_report - 1, record.size()});
    state.log_bytes += record.size();
    // As much again as came in, so that what waits cannot grow without end.
    TRY(flush_some(std::max(kSliceBytesMin, 2 * (state.waiting_bytes - waited))));
    TRY(transaction.commit());
  }
  needs_reload_ = false;
  return outcomes;
}

Result<ReportOutcome> SqliteMetricStore::accept(const MetricReport& report) {
  if (!is_valid(report)) return ReportOutcome::kInvalid;
  State& state = *state_;
  Trial* trial = TRY(state.trials.find(report.trial));
  // Another run has taken over: its reports would be lost among the newer ones.
  if (report.run < trial->newest_run()) return ReportOutcome::kStale;
  const Segment* segment = trial->find(report.run, report.group);
  Comparison comparison;
  if (segment != nullptr) {
    comparison = TRY(compare(*state.tables, *segment, report));
    if (comparison.is_conflict) return ReportOutcome::kConflict;
    // Repeats cost nothing, not even an id.
    if (comparison.is_known && comparison.added.empty()) return ReportOutcome::kRepeated;
  }
  if (!has_room(*trial, segment, report)) return ReportOutcome::kInvalid;
  // A run that announced itself by its first report.
  if (report.run > trial->newest_run()) {
    trial->runs.push_back({report.run, std::nullopt});
    TRY(state.tables->put_run(report.trial, trial->runs.back()));
  }
  const std::uint64_t id = state.counters.next_report++;
  if (!comparison.is_known) {
    state.batch->add(id, report);
    state.add(*trial, id, report);
    return ReportOutcome::kStored;
  }
  // Only what is new under a known identity.
  MetricReport rest = report;
  rest.metrics = std::move(comparison.added);
  state.batch->add(id, rest);
  state.add(*trial, id, rest);
  return ReportOutcome::kStored;
}

Status SqliteMetricStore::flush_some(std::size_t bytes_least) {
  State& state = *state_;
  std::size_t flushed = 0;
  const auto is_over = [&] {
    return state.waiting_bytes > options_.tail_bytes_max ||
           state.log_bytes > options_.log_bytes_max;
  };
  bool has_flushed = false;
  while (flushed < bytes_least && (!state.full.empty() || (!state.waiting.empty() && is_over()))) {
    Segment& segment = *(state.full.empty() ? state.waiting : state.full).begin()->second;
    // What waits longest holds back the log.
    const bool was_oldest = state.waiting.begin()->second == &segment;
    flushed += segment.tail_bytes();
    TRY(state.flush(segment));
    if (was_oldest) TRY(state.trim());
    has_flushed = true;
  }
  if (has_flushed) TRY(state.tables->put_counters(state.counters));
  return {};
}

Result<ReportOutcome> SqliteMetricStore::begin_run(TrialId trial_id, std::uint32_t run,
                                                   std::int64_t resumed_from_steps) {
  if (trial_id == TrialId() || run == 0 || resumed_from_steps < 0) return ReportOutcome::kInvalid;
  TRY(ready());
  State& state = *state_;
  Trial* trial = TRY(state.trials.find(trial_id));
  if (run < trial->newest_run()) return ReportOutcome::kStale;
  const bool is_known = run == trial->newest_run();
  if (is_known && trial->runs.back().resumed_from) {
    return *trial->runs.back().resumed_from == resumed_from_steps ? ReportOutcome::kRepeated
                                                                  : ReportOutcome::kConflict;
  }
  const metrics::RunStart start{run, resumed_from_steps};
  // Changed in memory only when it is stored.
  needs_reload_ = true;
  TRY(state.tables->put_run(trial_id, start));
  needs_reload_ = false;
  if (is_known) trial->runs.pop_back();
  trial->runs.push_back(start);
  return ReportOutcome::kStored;
}

Status SqliteMetricStore::delete_trial(TrialId trial_id) {
  TRY(ready());
  State& state = *state_;
  const Trial* trial = TRY(state.trials.find(trial_id));
  needs_reload_ = true;
  TRY(state.tables->bury(trial_id, state.counters.next_report - 1));
  needs_reload_ = false;
  state.has_tombstones = true;
  state.forget(*trial);
  return {};
}

Result<bool> SqliteMetricStore::sweep(std::uint32_t rows_max) {
  TRY(ready());
  return state_->tables->sweep(rows_max, Segment::series_of);
}

Result<bool> SqliteMetricStore::compact(std::size_t reports) {
  TRY(ready());
  needs_reload_ = true;
  State& state = *state_;
  SqlTransaction transaction(state.tables->session());
  TRY(transaction.begin());
  for (std::size_t moved = 0; moved < reports && !state.waiting.empty();) {
    Segment& segment = *state.waiting.begin()->second;
    moved += segment.tail().size();
    TRY(state.flush(segment));
  }
  TRY(state.trim());
  TRY(transaction.commit());
  needs_reload_ = false;
  return state.waiting.empty();
}

std::size_t SqliteMetricStore::waiting_bytes() const {
  return state_ == nullptr ? 0 : state_->waiting_bytes;
}

}  // namespace muster
