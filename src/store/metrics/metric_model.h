// Answers what a metric store must answer, by the plainest means: every report is in a list, every
// question a walk over it. For tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/metric.h"

namespace muster::testing {

class MetricModel {
 public:
  struct Stored {
    std::uint64_t arrival = 0;
    MetricReport report;
  };

  ReportOutcome append(const MetricReport& report) {
    if (report.run == 0 || report.steps_completed < 0 || report.group.empty() ||
        report.group.find('.') != std::string::npos) {
      return ReportOutcome::kInvalid;
    }
    auto& runs = runs_[report.trial];
    if (!runs.empty() && report.run < runs.rbegin()->first) return ReportOutcome::kStale;
    MetricReport rest = report;
    rest.metrics.clear();
    bool is_known = false;
    for (const Metric& metric : report.metrics) {
      const MetricValue* there = nullptr;
      for (const Stored& stored : reports_) {
        if (!has_identity(stored.report, report)) continue;
        for (const Metric& known : stored.report.metrics) {
          if (known.name == metric.name) there = &known.value;
        }
      }
      if (there != nullptr && !is_same(*there, metric.value)) return ReportOutcome::kConflict;
      if (there == nullptr) rest.metrics.push_back(metric);
    }
    for (const Stored& stored : reports_)
      is_known = is_known || has_identity(stored.report, report);
    if (is_known && rest.metrics.empty()) return ReportOutcome::kRepeated;
    runs.try_emplace(report.run, std::nullopt);
    reports_.push_back({++arrivals_, std::move(rest)});
    return ReportOutcome::kStored;
  }

  ReportOutcome begin_run(TrialId trial, std::uint32_t run, std::int64_t resumed_from) {
    auto& runs = runs_[trial];
    if (!runs.empty() && run < runs.rbegin()->first) return ReportOutcome::kStale;
    std::optional<std::int64_t>& known = runs[run];
    if (known) return *known == resumed_from ? ReportOutcome::kRepeated : ReportOutcome::kConflict;
    known = resumed_from;
    return ReportOutcome::kStored;
  }

  void delete_trial(TrialId trial) {
    runs_.erase(trial);
    std::erase_if(reports_, [&](const Stored& stored) { return stored.report.trial == trial; });
  }

  bool is_valid(const MetricReport& report) const {
    for (const auto& [run, resumed_from] : runs_.at(report.trial)) {
      if (run > report.run && resumed_from && report.steps_completed > *resumed_from) return false;
    }
    return std::ranges::none_of(reports_, [&](const Stored& other) {
      return other.report.trial == report.trial && other.report.group == report.group &&
             other.report.run > report.run &&
             other.report.steps_completed <= report.steps_completed;
    });
  }

  /// Reports of a group, those of one identity joined, by run, steps and arrival.
  std::vector<StoredReport> reports(TrialId trial, const std::string& group,
                                    bool is_archived_included) const {
    std::vector<Stored> sorted;
    for (const Stored& stored : reports_) {
      if (stored.report.trial == trial && stored.report.group == group) sorted.push_back(stored);
    }
    std::ranges::stable_sort(sorted, {}, [](const Stored& stored) {
      return std::tuple(stored.report.run, stored.report.steps_completed, stored.arrival);
    });
    std::vector<StoredReport> found;
    for (const Stored& stored : sorted) {
      const bool is_archived = !is_valid(stored.report);
      if (is_archived && !is_archived_included) continue;
      const auto same = std::ranges::find_if(
          found, [&](const StoredReport& one) { return has_identity(one.report, stored.report); });
      if (same != found.end()) {
        same->report.metrics.insert(same->report.metrics.end(), stored.report.metrics.begin(),
                                    stored.report.metrics.end());
      } else {
        found.push_back({stored.arrival, stored.report, is_archived});
      }
    }
    return found;
  }

  std::vector<MetricPoint> series(const SeriesQuery& query) const {
    std::vector<Stored> sorted;
    for (const Stored& stored : reports_) {
      const MetricReport& report = stored.report;
      const bool is_meant = report.trial == query.trial && report.group == query.group &&
                            report.steps_completed >= query.first_steps &&
                            report.steps_completed <= query.last_steps;
      if (is_meant && (query.run ? report.run == *query.run : is_valid(report)))
        sorted.push_back(stored);
    }
    std::ranges::stable_sort(sorted, {}, [](const Stored& stored) {
      return std::tuple(stored.report.run, stored.report.steps_completed, stored.arrival);
    });
    std::vector<MetricPoint> points;
    for (const Stored& stored : sorted) {
      for (const Metric& metric : stored.report.metrics) {
        if (metric.name == query.metric) {
          points.push_back({stored.report.run, stored.report.steps_completed,
                            stored.report.report_time, metric.value});
        }
      }
    }
    return points;
  }

  std::size_t size() const { return reports_.size(); }

 private:
  static bool has_identity(const MetricReport& a, const MetricReport& b) {
    return a.trial == b.trial && a.run == b.run && a.group == b.group &&
           a.steps_completed == b.steps_completed && a.key == b.key;
  }

  std::map<TrialId, std::map<std::uint32_t, std::optional<std::int64_t>>> runs_;
  std::vector<Stored> reports_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace muster::testing
