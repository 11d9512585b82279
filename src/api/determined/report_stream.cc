#include "api/determined/report_stream.h"

#include <kj/exception.h>

#include <optional>
#include <utility>

#include "api/determined/names.h"
#include "api/determined/trial_json.h"
#include "api/http/replies.h"
#include "text/json_text.h"

namespace muster::api {
namespace {

constexpr std::size_t kReportsPerPage = 500;

/// `is_of_any_group`: clients that ask for no group look for averages under one name.
Json report_json(const StoredReport& stored, bool is_of_any_group) {
  const MetricReport& report = stored.report;
  const Json metrics = metrics_json(stored, true);
  Json values = Json::Object{{"batch_metrics", *metrics.find("batchMetrics")}};
  const bool is_validation = report.group == "validation";
  if (is_validation) values.member("validation_metrics") = *metrics.find("avgMetrics");
  if (!is_validation || is_of_any_group) values.member("avg_metrics") = *metrics.find("avgMetrics");
  return Json::Object{{"trialId", report.trial.value()},
                      {"trialRunId", report.run},
                      {"group", report.group},
                      {"id", stored.id},
                      {"endTime", time_json(report.report_time)},
                      {"totalBatches", report.steps_completed},
                      {"archived", stored.is_archived},
                      {"metrics", std::move(values)}};
}

/// Where reading goes on.
struct Place {
  std::size_t trial = 0;
  std::size_t group = 0;
  std::optional<MetricCursor> after = std::nullopt;
};

struct Page {
  Json::Array reports;
  std::optional<Place> next = std::nullopt;  ///< nullopt: there is nothing more
};

Result<Page> read_page(MetricStore& store, TrialId trial, const std::string& group, Place at) {
  Page page;
  std::vector<std::string> groups{group};
  if (group.empty()) {
    groups.clear();
    for (GroupMetrics& one : TRY(store.groups(trial))) groups.push_back(std::move(one.group));
  }
  if (at.group < groups.size()) {
    const ReportPage read =
        TRY(store.read_reports({trial, groups[at.group]}, at.after, kReportsPerPage));
    for (const StoredReport& report : read.reports) {
      if (!group.empty() || report.report.key.empty())
        page.reports.push_back(report_json(report, group.empty()));
    }
    at.after = read.next;
    if (!at.after) ++at.group;
  }
  const bool is_trial_done = at.group >= groups.size();
  page.next = is_trial_done ? Place{at.trial + 1} : at;
  return page;
}

class ReportStream {
 public:
  ReportStream(ApiPort& port, std::vector<TrialId> trials, std::string group)
      : port_(port), trials_(std::move(trials)), group_(std::move(group)) {}

  /// A group for each page that has reports.
  kj::Promise<void> write_lines(kj::AsyncOutputStream& out) {
    return next().then([this, &out](Result<Page> page) -> kj::Promise<void> {
      if (!page.has_value()) return write(out, error_reply(page.error()).body + "\n");
      if (!page->next) return kj::READY_NOW;
      const std::string line =
          page->reports.empty()
              ? ""
              : json_text(
                    Json::Object{{"result", Json::Object{{"metrics", std::move(page->reports)}}}}) +
                    "\n";
      return write(out, line).then([this, &out] { return write_lines(out); });
    });
  }

  kj::Promise<void> write_list(kj::AsyncOutputStream& out) {
    return write(out, R"({"metrics":[)").then([this, &out] { return write_items(out); });
  }

 private:
  kj::Promise<void> write_items(kj::AsyncOutputStream& out) {
    return next().then([this, &out](Result<Page> page) -> kj::Promise<void> {
      if (!page.has_value())
        return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                             kj::str(page.error().text().c_str()));
      if (!page->next) return write(out, "]}");
      std::string text;
      for (const Json& report : page->reports) {
        if (std::exchange(has_items_, true)) text += ',';
        text += json_text(report);
      }
      return write(out, text).then([this, &out] { return write_items(out); });
    });
  }

  /// What is read elsewhere may outlive this.
  kj::Promise<Result<Page>> next() {
    if (at_.trial == trials_.size()) return Result<Page>(Page());
    return measure<Page>(
               port_, [trial = trials_[at_.trial], group = group_,
                       at = at_](MetricStore& store) { return read_page(store, trial, group, at); })
        .then([this](Result<Page> page) {
          if (page.has_value()) at_ = *page->next;
          return page;
        });
  }

  kj::Promise<void> write(kj::AsyncOutputStream& out, std::string text) {
    text_ = std::move(text);
    if (text_.empty()) return kj::READY_NOW;
    return out.write(text_.data(), text_.size());
  }

  ApiPort& port_;
  const std::vector<TrialId> trials_;
  const std::string group_;
  Place at_;
  bool has_items_ = false;
  std::string text_;  ///< on its way
};

}  // namespace

StreamBody report_lines(ApiPort& port, std::vector<TrialId> trials, std::string group) {
  auto stream = std::make_shared<ReportStream>(port, std::move(trials), std::move(group));
  return [stream](kj::AsyncOutputStream& out) { return stream->write_lines(out); };
}

StreamBody report_list(ApiPort& port, std::vector<TrialId> trials, std::string group) {
  auto stream = std::make_shared<ReportStream>(port, std::move(trials), std::move(group));
  return [stream](kj::AsyncOutputStream& out) { return stream->write_list(out); };
}

}  // namespace muster::api
