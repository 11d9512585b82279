// Tables of experiments and trials.
#include "cli/muster/experiment_tables.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/lib/text_table.h"
#include "text/json_reader.h"

namespace muster::cli {
namespace {

TEST(TrialTable, ShowsAsManyDigitsAsTellTrialsApartAndWhyEachEnded) {
  TrialView trial;
  trial.id = TrialId(7);
  trial.state = TrialState::kCompleted;
  trial.hparams = R"({"lr": 0.44887241081072447, "depth": 123456789, "net": {"act": "relu"}})";
  trial.metric = 0.25;
  trial.units = 60;
  trial.target = 180;
  const std::string table = trial_table({trial});
  EXPECT_NE(table.find("lr: 0.44887, depth: 123456789, net: {act: relu}"), std::string::npos)
      << table;
  EXPECT_NE(table.find("ended at 60 of 180"), std::string::npos) << table;
}

TEST(TrialTable, SaysWhyATrialIsInTheQueue) {
  TrialView trial;
  trial.id = TrialId(7);
  trial.job_reason = PendingReason::kResources;
  EXPECT_NE(trial_table({trial}).find("(Resources)"), std::string::npos);
  trial.job_reason = PendingReason::kNone;
  EXPECT_NE(trial_table({trial}).find("(None)"), std::string::npos);
}

TrialView measured(std::uint32_t id, std::optional<double> metric, double units = 0) {
  TrialView trial;
  trial.id = TrialId(id);
  trial.metric = trial.best_metric = metric;
  trial.units = units;
  return trial;
}

std::string order_of(TrialOrder order, bool smaller_is_better, std::size_t top = 0) {
  std::string ids;
  const std::vector<TrialView> all{measured(1, 0.5, 3), measured(2, std::nullopt),
                                   measured(3, 0.25, 9), measured(4, std::nan(""), 1),
                                   measured(5, 0.5, 3)};
  for (const TrialView& trial : ordered_trials(all, order, smaller_is_better, top))
    ids += std::to_string(trial.id.value());
  return ids;
}

TEST(TrialTable, IsOrderedByWhatIsAskedFor) {
  EXPECT_EQ(order_of(TrialOrder::kId, true), "12345");
  EXPECT_EQ(order_of(TrialOrder::kMetric, true), "31524")
      << "without a number last, equal ones by id";
  EXPECT_EQ(order_of(TrialOrder::kMetric, false), "15324");
  EXPECT_EQ(order_of(TrialOrder::kUnits, true), "31542");
  EXPECT_EQ(order_of(TrialOrder::kMetric, true, 2), "31");
}

TEST(TrialTable, TheBestIsTheBestOfAllReports) {
  TrialView early = measured(1, 0.5);
  early.best_metric = 0.9;
  const std::vector<TrialView> all{early, measured(2, 0.6)};
  EXPECT_EQ(ordered_trials(all, TrialOrder::kMetric, false, 1).at(0).id, TrialId(1));
  EXPECT_NE(trial_table(all).find("BEST"), std::string::npos);
  EXPECT_NE(trial_table(all).find("0.9"), std::string::npos);
}

TEST(TrialTable, NothingThatAUserWroteReachesATerminalAsACommand) {
  TrialView trial = measured(1, 0.5);
  trial.hparams = "{\"x\": \"a\x1b[31mb\xc2\x9bq\"}";
  trial.detail = "told \x1b]0;t\a";
  for (const std::string& shown : {trial_table({trial}), trial_text(trial, ShowContext{}, {})}) {
    EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
    EXPECT_EQ(shown.find("\xc2\x9b"), std::string::npos) << shown;
  }
}

TEST(TrialTable, HasTheCourseOfTheMetricWhereThereIsATerminal) {
  EXPECT_EQ(trial_table({measured(1, 0.5)}).find("CURVE"), std::string::npos);
  const auto series = parse_json(R"({"trials": [
      {"trial": {"id": 1}, "metrics": [{"group": "validation", "data": [{"batches": 1, "values": {"loss": 8}}, {"batches": 2, "values": {"loss": "NaN"}},
                                                                          {"batches": 3, "values": {"loss": 4}}, {"batches": 4, "values": {"loss": 1}}]}]},
      {"trial": {"id": 2}, "metrics": [{"group": "validation", "data": [{"batches": 1, "values": {"loss": 8}}]}]},
      {"trial": {"id": 3}, "metrics": []}]})");
  ASSERT_TRUE(series.has_value());
  const MetricCurves curves = curves_of(*series);
  EXPECT_EQ(curves, (MetricCurves{{TrialId(1), "█▄▁"}}));
  const std::string table = trial_table({measured(1, 0.5, 3), measured(2, 0.25, 9)}, curves);
  EXPECT_NE(table.find("METRIC  AT  BEST  CURVE  HYPERPARAMETERS"), std::string::npos) << table;
  EXPECT_NE(table.find("0.5     3   0.5   █▄▁    "), std::string::npos) << table;
  EXPECT_NE(trial_text(measured(1, 0.5, 3), ShowContext(), curves).find("Metric: 0.5 at 3  █▄▁\n"),
            std::string::npos);
}

TEST(Table, ColoursStatesAndKeepsItsColumns) {
  const std::vector<Row> rows{{"1", "COMPLETED", "x"}, {"22", "ERROR", "y"}};
  EXPECT_EQ(table_text({"ID", "STATE", "Z"}, rows),
            "ID  STATE      Z\n1   COMPLETED  x\n22  ERROR      y\n");
  EXPECT_EQ(table_text({"ID", "STATE", "Z"}, rows, state_colour),
            "ID  STATE      Z\n1   \x1b[32mCOMPLETED\x1b[0m  x\n22  \x1b[31mERROR    \x1b[0m  y\n");
  EXPECT_EQ(state_colour("completely"), "");
}

}  // namespace
}  // namespace muster::cli
