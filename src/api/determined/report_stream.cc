// All reports of trials as they are taken by the client, trial by trial and group by group, so
// that the store is read in order and nothing is held but a page.

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

// So many are formatted in one turn of HTTP's thread.
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
struct Cursor {
  std::size_t trial = 0;
  std::size_t group = 0;  ///< of the trial's groups
  std::optional<MetricCursor> after = std::nullopt;
};

struct Page {
  Json::Array reports;
  bool is_end = false;  ///< there is nothing more
};

class ReportStream {
 public:
  ReportStream(ApiPort& port, std::vector<TrialId> trials, std::string group)
      : port_(port), trials_(std::move(trials)), group_(std::move(group)) {}

  /// A group for each page that has reports.
  kj::Promise<void> write_lines(kj::AsyncOutputStream& out) {
    // Each page is a line of its own: a client that stops reading stops the reading.
    return next().then([this, &out](Result<Page> page) -> kj::Promise<void> {
      if (!page.has_value()) return write(out, error_reply(page.error()).body + "\n");
      if (page->is_end) return kj::READY_NOW;
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
      // A broken list must not look like a whole one: the exception ends the connection.
      if (!page.has_value())
        return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                             kj::str(page.error().text().c_str()));
      if (page->is_end) return write(out, "]}");
      std::string text;
      for (const Json& report : page->reports) {
        if (std::exchange(has_items_, true)) text += ',';
        text += json_text(report);
      }
      return write(out, text).then([this, &out] { return write_items(out); });
    });
  }

  kj::Promise<Result<Page>> next() {
    if (at_.trial == trials_.size()) return Result<Page>(Page{{}, true});
    // The groups of one trial are asked for once.
    if (groups_) return next_reports();
    if (!group_.empty()) {
      groups_.emplace({group_});
      return next_reports();
    }
    return port_.measure({GroupsQuestion{trials_[at_.trial]}})
        .then([this](Result<MetricAnswers> answers) -> kj::Promise<Result<Page>> {
          if (!answers.has_value()) return Result<Page>(fail(answers.error()));
          groups_.emplace();
          // What has no reports has no group.
          for (GroupMetrics& one : answers->next<GroupsQuestion>())
            groups_->push_back(std::move(one.group));
          return next_reports();
        });
  }

  /// Requires: the groups of the present trial are known.
  kj::Promise<Result<Page>> next_reports() {
    if (at_.group >= groups_->size()) {
      // The next trial, whose groups are not known.
      at_ = Cursor{at_.trial + 1};
      groups_.reset();
      return Result<Page>(Page());
    }
    return port_
        .measure({ReportsQuestion{
            {trials_[at_.trial], (*groups_)[at_.group]}, at_.after, kReportsPerPage}})
        .then([this](Result<MetricAnswers> answers) -> Result<Page> {
          if (!answers.has_value()) return fail(answers.error());
          return page_of(answers->next<ReportsQuestion>());
        });
  }

  Page page_of(const ReportPage& read) {
    Page page;
    for (const StoredReport& report : read.reports) {
      // Reports of the machine have a key: they are asked for by group and not in a list of all.
      if (!group_.empty() || report.report.key.empty())
        page.reports.push_back(report_json(report, group_.empty()));
    }
    at_.after = read.next;
    if (!at_.after) ++at_.group;
    return page;
  }

  kj::Promise<void> write(kj::AsyncOutputStream& out, std::string text) {
    // Kept: the write is under way when this returns.
    text_ = std::move(text);
    if (text_.empty()) return kj::READY_NOW;
    return out.write(text_.data(), text_.size());
  }

  ApiPort& port_;
  const std::vector<TrialId> trials_;
  const std::string group_;
  Cursor at_;
  std::optional<std::vector<std::string>> groups_;  ///< of the present trial, once they are known
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
