#include "search/custom_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/searcher.h"
#include "search/testing.h"

namespace muster::search {
namespace {

using namespace testing;

SearchOperation create(const std::string& request) {
  return {SearchVerb::kCreate, request, R"({"lr": 1})"};
}
SearchOperation train(const std::string& request, std::uint64_t length) {
  return {SearchVerb::kValidateAfter, request, "", "", length};
}
SearchOperation close(const std::string& request) { return {SearchVerb::kClose, request}; }
SearchOperation shut_down(SearchOutcome outcome = SearchOutcome::kCompleted) {
  return {SearchVerb::kShutDown, "", "", "", 0, outcome};
}

/// A search and its client.
class Custom : public ::testing::Test {
 protected:
  Searcher searcher_ = Searcher(config_of(CustomSearch{}, 2), one_real(), 1);
  std::vector<SearchAction> actions_ = searcher_.begin();

  const CustomMethod& method() const {
    return dynamic_cast<const CustomMethod&>(searcher_.method());
  }
  const std::vector<CustomEvent>& events() const { return method().events(); }
  /// Answers all events there are.
  const std::vector<SearchAction>& operate(std::vector<SearchOperation> operations) {
    return answer({method().last_event(), std::move(operations)});
  }
  const std::vector<SearchAction>& answer(const OperationsInput& input) {
    const std::vector<Json> hparams(input.operations.size(), Json(Json::Object{{"lr", 1}}));
    return actions_ = searcher_.operate(input, hparams);
  }
  const std::vector<SearchAction>& report(std::uint32_t of, double metric, double time) {
    return actions_ = searcher_.reported(trial(of), {metric, time});
  }
  std::vector<CustomEventKind> kinds() const {
    std::vector<CustomEventKind> all;
    for (const CustomEvent& event : events()) all.push_back(event.kind);
    return all;
  }
  Status check(std::vector<SearchOperation> operations) const {
    return method().check({method().last_event(), std::move(operations)});
  }
};

TEST_F(Custom, ItWaitsForItsClient) {
  EXPECT_TRUE(actions_.empty());
  EXPECT_FALSE(searcher_.is_finished());
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0], (CustomEvent{1, CustomEventKind::kInitialOperations}));
}

TEST_F(Custom, ATrialBeginsWhenItIsToldHowFarToTrain) {
  EXPECT_TRUE(operate({create("a")}).empty());
  ASSERT_EQ(kinds(), std::vector{CustomEventKind::kTrialCreated});
  EXPECT_EQ(events()[0].request, "a");
  const auto created = only<CreateTrial>(operate({train("a", 5)}));
  ASSERT_EQ(created.size(), 1U);
  EXPECT_EQ(created[0].target, 5U);
  EXPECT_EQ(*created[0].hparams.find("lr")->whole(), 1);
  EXPECT_EQ(searcher_.awaits(trial(0)), 5.0);
}

TEST_F(Custom, ValidationsAreToldAsTheyWereReported) {
  operate({create("a"), train("a", 5)});
  EXPECT_TRUE(report(0, 0.25, 4).empty());
  report(0, std::numeric_limits<double>::quiet_NaN(), 6);
  ASSERT_EQ(kinds(),
            (std::vector{CustomEventKind::kTrialCreated, CustomEventKind::kValidationCompleted}));
  EXPECT_TRUE(std::isnan(events()[1].metric));
  EXPECT_EQ(events()[1].length, 5U);
  EXPECT_EQ(only<ContinueTrial>(operate({train("a", 8)})),
            (std::vector<ContinueTrial>{{trial(0), 8}}));
}

TEST_F(Custom, AReportPastSeveralTargetsReachesThemAll) {
  operate({create("a"), train("a", 8), train("a", 5), train("a", 20)});
  report(0, 1, 9);
  ASSERT_EQ(events().size(), 3U);
  EXPECT_EQ(events()[1].length, 5U);
  EXPECT_EQ(events()[2].length, 8U);
  EXPECT_EQ(only<ContinueTrial>(actions_), (std::vector<ContinueTrial>{{trial(0), 20}}));
}

TEST_F(Custom, WhereATrialHasBeenItHasValidated) {
  operate({create("a"), train("a", 5)});
  report(0, 0.5, 7);
  EXPECT_TRUE(only<ContinueTrial>(operate({train("a", 6)})).empty())
      << "it need not train for that";
  ASSERT_EQ(kinds(), std::vector{CustomEventKind::kValidationCompleted});
  EXPECT_EQ(events()[0].length, 6U);
  EXPECT_EQ(events()[0].metric, 0.5);
  EXPECT_EQ(only<ContinueTrial>(operate({train("a", 8)})).size(), 1U);
}

TEST_F(Custom, AnswersAfterTheEndAreTakenAndDoNothing) {
  operate({create("a"), train("a", 5)});
  operate({shut_down()});
  ASSERT_EQ(kinds(), std::vector{CustomEventKind::kTrialClosed});
  EXPECT_TRUE(operate({create("b")}).empty());
  EXPECT_TRUE(events().empty());
}

TEST_F(Custom, WhatATrialWillBeginWithIsKnown) {
  SearchOperation warm = create("a");
  warm.source = "aaa";
  operate({warm});
  EXPECT_EQ(method().sources(), std::vector<std::string>{"aaa"});
  operate({train("a", 1)});
  EXPECT_TRUE(method().sources().empty()) << "the trial itself says so now";
}

TEST_F(Custom, ATrialIsClosedWhenItHasDoneWhatItWasToldTo) {
  operate({create("a"), train("a", 5), close("a")});
  EXPECT_TRUE(only<StopTrial>(actions_).empty());
  report(0, 1, 5);
  EXPECT_EQ(only<StopTrial>(actions_), (std::vector<StopTrial>{{trial(0), {StopCause::kClosed}}}));
  EXPECT_EQ(kinds().back(), CustomEventKind::kTrialClosed);
}

TEST_F(Custom, NoMoreTrainAtOnceThanMay) {
  operate({create("a"), train("a", 5), create("b"), train("b", 5), create("c"), train("c", 5)});
  EXPECT_EQ(only<CreateTrial>(actions_).size(), 2U);
  EXPECT_EQ(only<CreateTrial>(report(1, 1, 5)).size(), 1U);
}

TEST_F(Custom, ATrialThatEndsByItselfIsToldAndClosed) {
  operate({create("a"), train("a", 5)});
  operate({});
  searcher_.exited(trial(0), TrialExit::kErrored, {});
  ASSERT_EQ(kinds(),
            (std::vector{CustomEventKind::kTrialExitedEarly, CustomEventKind::kTrialClosed}));
  EXPECT_EQ(events()[0].exit, TrialExit::kErrored);
  EXPECT_FALSE(searcher_.is_finished()) << "its client may want another";
}

TEST_F(Custom, ItEndsWhenItsClientSaysSo) {
  operate({create("a"), train("a", 5), create("b")});
  operate({shut_down(SearchOutcome::kFailed)});
  EXPECT_EQ(only<StopTrial>(actions_),
            (std::vector<StopTrial>{{trial(0), {StopCause::kSearchOver}}}));
  EXPECT_TRUE(only<FinishSearch>(actions_).empty()) << "a trial is still stopping";
  const auto last = searcher_.exited(trial(0), TrialExit::kCompleted, {});
  EXPECT_EQ(only<FinishSearch>(last), (std::vector<FinishSearch>{{SearchOutcome::kFailed}}));
}

TEST_F(Custom, ShutDownWithoutATrialEndsItAtOnce) {
  EXPECT_EQ(only<FinishSearch>(operate({shut_down()})),
            (std::vector<FinishSearch>{{SearchOutcome::kCompleted}}));
}

TEST_F(Custom, RepeatedOperationsChangeNothing) {
  const OperationsInput first{1, {create("a"), train("a", 5)}};
  EXPECT_EQ(only<CreateTrial>(answer(first)).size(), 1U);
  const std::string before = searcher_.save();
  EXPECT_TRUE(answer(first).empty());
  EXPECT_TRUE(answer({99, {create("b")}}).empty()) << "there is no such event";
  EXPECT_EQ(searcher_.save(), before);
}

TEST_F(Custom, EventsStayUntilTheyAreAnswered) {
  operate({create("a"), create("b")});
  ASSERT_EQ(events().size(), 2U);
  answer({events()[0].id, {}});
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].request, "b");
}

TEST_F(Custom, WhatCannotBeDoneIsRefusedByName) {
  const auto code = [&](std::vector<SearchOperation> operations) {
    return check(std::move(operations)).error().code;
  };
  EXPECT_TRUE(check({create("a"), train("a", 1), close("a")}).has_value());
  EXPECT_EQ(code({create("a"), create("a")}), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code({train("a", 1)}), ErrorCode::kNotFound);
  EXPECT_EQ(code({create("a"), train("a", 0)}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({create("a"), train("a", 1), close("a"), train("a", 2)}),
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(code({{SearchVerb::kSetProgress, "", "", "", 0, SearchOutcome::kCompleted, 1.5}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({create("")}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(method().check({7, {}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(events().size(), 1U) << "a check changes nothing";
}

TEST_F(Custom, ItsClientCannotMakeItGrowWithoutBound) {
  std::vector<SearchOperation> validations(kCustomTargetsMax + 1, train("a", 2));
  validations.insert(validations.begin(), create("a"));
  EXPECT_EQ(check(validations).error().code, ErrorCode::kFailedPrecondition);
  std::vector<SearchOperation> trials;
  for (std::uint32_t i = 0; i <= kCustomTrialMax; ++i) trials.push_back(create(std::to_string(i)));
  EXPECT_EQ(check(trials).error().code, ErrorCode::kFailedPrecondition);

  SearchOperation large = create("large");
  large.hparams.assign(kCustomWaitingMax - 5, 'x');
  operate({large, create("small")});
  EXPECT_EQ(events().size(), 1U) << "the second is too much";
  EXPECT_EQ(check({create("other")}).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(check({train("large", 1), create("other")}).error().code ==
              ErrorCode::kFailedPrecondition)
      << "it has not begun yet";
  operate({train("large", 1)});
  report(0, 1, 1);
  EXPECT_TRUE(check({create("other")}).has_value()) << "what has begun is the trial's to remember";
  EXPECT_LT(searcher_.save().size(), 1000U);
}

/// A search that is saved and loaded after every input goes on as one that never stopped.
TEST_F(Custom, NothingIsForgottenBetweenInputs) {
  const auto run = [](bool is_loaded_each_time) {
    const SearchConfig config = config_of(CustomSearch{}, 2);
    Searcher searcher(config, one_real(), 7);
    std::string trace;
    const auto step = [&](auto&& input) {
      for (const SearchAction& action : input(searcher)) trace += std::to_string(action.index());
      trace += '|' + searcher.save() + '|';
      if (is_loaded_each_time)
        searcher = std::move(Searcher::load(config, one_real(), searcher.save())).value();
    };
    const std::vector<Json> hparams(4, Json(Json::Object{}));
    step([](Searcher& it) { return it.begin(); });
    step([&](Searcher& it) {
      return it.operate({1, {create("a"), train("a", 2), create("b"), train("b", 2)}}, hparams);
    });
    step([](Searcher& it) { return it.reported(trial(0), {0.5, 2}); });
    step([&](Searcher& it) {
      return it.operate({4, {train("a", 4), close("b"), create("c"), train("c", 1)}}, hparams);
    });
    step([](Searcher& it) { return it.reported(trial(1), {0.25, 2}); });
    step([](Searcher& it) { return it.exited(trial(1), TrialExit::kCompleted, 0.25); });
    step([](Searcher& it) { return it.exited(trial(0), TrialExit::kCanceled, 0.5); });
    return trace;
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace muster::search
