// Questions and answers are values: the store lives on a thread of its own, and a batch of
// questions is answered in one turn there.
#include "store/metrics/metric_questions.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<MetricQuestionKinds>;
template class Variant<MetricAnswerKinds>;

namespace {

struct Answerer {
  MetricStore& store;

  auto operator()(const LatestReportQuestion& asked) const {
    return store.latest_report(asked.trial, asked.group);
  }
  auto operator()(const BestReportQuestion& asked) const {
    return store.best_report(asked.trial, asked.group, asked.metric, asked.is_smaller_better);
  }
  auto operator()(const SummariesQuestion& asked) const { return store.summaries(asked.trial); }
  auto operator()(const GroupsQuestion& asked) const { return store.groups(asked.trial); }
  auto operator()(const SampleQuestion& asked) const {
    return store.sample_series(asked.query, asked.points_max);
  }
  auto operator()(const ReportsQuestion& asked) const {
    return store.read_reports(asked.query, asked.after, asked.reports_max);
  }
  auto operator()(const MetricAtQuestion& asked) const {
    return metric_at(store, asked.trial, asked.group, asked.steps, asked.metric);
  }
};

}  // namespace

Result<MetricAnswers> answer(MetricStore& store, const std::vector<MetricQuestion>& questions) {
  std::vector<MetricAnswer> answers;
  answers.reserve(questions.size());
  for (const MetricQuestion& question : questions) {
    answers.push_back(TRY(visit(
        [&](const auto& asked) -> Result<MetricAnswer> {
          auto value = Answerer{store}(asked);
          if (!value.has_value()) return fail(value.error());
          return MetricAnswer(std::move(value).value());
        },
        question)));
  }
  return MetricAnswers(std::move(answers));
}

}  // namespace muster
