// Questions to the metric store get its answers, in their order.
#include "store/metrics/metric_questions.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "store/metrics/sqlite_metrics.h"

namespace muster {
namespace {

const TrialId kTrial(7);

class MetricQuestions : public ::testing::Test {
 protected:
  MetricQuestions() {
    char name[] = "/tmp/muster-metrics.XXXXXX";
    folder_ = ::mkdtemp(name);
    auto opened = open_sqlite_metrics({folder_ + "/metrics.db"});
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(opened).value();
    report(1, "training", 4.0);
    report(2, "training", 2.0);
    report(1, "validation", 0.5);
    report(2, "validation", 0.7);
  }
  ~MetricQuestions() override { std::filesystem::remove_all(folder_); }
  void report(std::int64_t steps, const std::string& group, double loss) {
    MetricReport report;
    report.trial = kTrial;
    report.run = 1;
    report.group = group;
    report.steps_completed = steps;
    report.report_time = TimePoint::from_seconds(1'000 + steps);
    report.metrics = {{"loss", loss}};
    ASSERT_EQ(store_->append({report}).value().at(0), ReportOutcome::kStored);
  }

  std::string folder_;
  std::unique_ptr<MetricStore> store_;
};

TEST_F(MetricQuestions, EachIsAnsweredAsItsMethodWould) {
  auto answers =
      answer(*store_, {LatestReportQuestion{kTrial, "training"},
                       BestReportQuestion{kTrial, "validation", "loss", true},
                       BestReportQuestion{kTrial, "validation", "loss", false},
                       SummariesQuestion{kTrial}, GroupsQuestion{kTrial},
                       SampleQuestion{{.trial = kTrial, .group = "training", .metric = "loss"}, 5},
                       ReportsQuestion{{kTrial, "training"}, std::nullopt, 1},
                       MetricAtQuestion{kTrial, "validation", 2, "loss"},
                       MetricAtQuestion{kTrial, "validation", 3, "loss"}});
  ASSERT_TRUE(answers.has_value()) << answers.error().text();
  ASSERT_EQ(answers->size(), 9U);
  EXPECT_EQ(answers->next<LatestReportQuestion>()->report.steps_completed, 2);
  EXPECT_EQ(answers->next<BestReportQuestion>()->report.steps_completed, 1);
  EXPECT_EQ(answers->next<BestReportQuestion>()->report.steps_completed, 2);
  EXPECT_EQ(answers->next<SummariesQuestion>().size(), 2U);
  EXPECT_EQ(answers->next<GroupsQuestion>().size(), 2U);
  EXPECT_EQ(answers->next<SampleQuestion>().points.size(), 2U);
  const ReportPage page = answers->next<ReportsQuestion>();
  ASSERT_EQ(page.reports.size(), 1U);
  EXPECT_EQ(page.reports[0].report.steps_completed, 1);
  EXPECT_TRUE(page.next.has_value());
  EXPECT_EQ(answers->next<MetricAtQuestion>(), 0.7);
  EXPECT_EQ(answers->next<MetricAtQuestion>(), std::nullopt);
}

TEST_F(MetricQuestions, AnErrorOfTheStoreIsTheAnswer) {
  const auto answers =
      answer(*store_, {SampleQuestion{{.trial = kTrial, .group = "training", .metric = "loss"}, 4},
                       SummariesQuestion{kTrial}});
  ASSERT_FALSE(answers.has_value());
  EXPECT_EQ(answers.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(MetricQuestions, NoQuestionsHaveNoAnswers) {
  EXPECT_EQ(answer(*store_, {}).value().size(), 0U);
}

TEST(MetricAnswersDeathTest, AnAnswerIsTakenAsThatOfItsOwnQuestionAlone) {
  MetricAnswers answers({std::optional<double>(1.0)});
  EXPECT_DEATH(answers.next<SummariesQuestion>(), "another question's");
  EXPECT_DEATH(MetricAnswers().next<SummariesQuestion>(), "more answers are taken");
}

}  // namespace
}  // namespace muster
