// Questions to the metric store as values, for threads that do not own it: they send questions and
// get answers, never a function that runs elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/variant.h"
#include "store/metrics/metric_store.h"

namespace muster {

// Each question means what the method of MetricStore of its name means; `Answer` is its value.
struct LatestReportQuestion {
  using Answer = std::optional<StoredReport>;
  TrialId trial;
  std::string group;
};
struct BestReportQuestion {
  using Answer = std::optional<StoredReport>;
  TrialId trial;
  std::string group;
  std::string metric;
  bool is_smaller_better = true;
};
struct SummariesQuestion {
  using Answer = std::vector<NamedSummary>;
  TrialId trial;
};
struct GroupsQuestion {
  using Answer = std::vector<GroupMetrics>;
  TrialId trial;
};
struct SampleQuestion {
  using Answer = SampledSeries;
  SeriesQuery query;
  std::size_t points_max = 0;  ///< at least 5
};
struct ReportsQuestion {
  using Answer = ReportPage;
  MetricStore::ReportsQuery query;
  std::optional<MetricCursor> after;
  std::size_t reports_max = 1;  ///< at least 1
};
/// Means the same as metric_at().
struct MetricAtQuestion {
  using Answer = std::optional<double>;
  TrialId trial;
  std::string group;
  std::int64_t steps = 0;
  std::string metric;
};

struct MetricQuestionKinds
    : TypeList<LatestReportQuestion, BestReportQuestion, SummariesQuestion, GroupsQuestion,
               SampleQuestion, ReportsQuestion, MetricAtQuestion> {};
using MetricQuestion = Variant<MetricQuestionKinds>;
struct MetricAnswerKinds
    : TypeList<std::optional<StoredReport>, std::vector<NamedSummary>, std::vector<GroupMetrics>,
               SampledSeries, ReportPage, std::optional<double>> {};
using MetricAnswer = Variant<MetricAnswerKinds>;

/// The answers to a list of questions, in its order.
class MetricAnswers {
 public:
  explicit MetricAnswers(std::vector<MetricAnswer> answers = {}) : answers_(std::move(answers)) {}
  /// Returns the answer to the next question. Requires: that is a `Question`.
  template <class Question>
  typename Question::Answer next() {
    CHECK(next_ < answers_.size(), "more answers are taken than questions were asked");
    auto* answer = get_if<typename Question::Answer>(&answers_[next_++]);
    CHECK(answer != nullptr, "answer {} is another question's", next_ - 1);
    return std::move(*answer);
  }
  std::size_t size() const { return answers_.size(); }

 private:
  std::vector<MetricAnswer> answers_;
  std::size_t next_ = 0;
};

/// Returns all answers, or the first error of the store's.
Result<MetricAnswers> answer(MetricStore& store, const std::vector<MetricQuestion>& questions);

}  // namespace muster
