#include "trials/trial_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/json_text.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

Json object_of(const char* text) { return parse_yaml(text)->root; }

TEST(TrialScript, FindsTheArchiveBehindItself) {
  const std::string archive = "\x1f\x8b\nrest\nof it";
  const std::string script = trial_script(archive);
  ASSERT_TRUE(script.ends_with(archive));
  EXPECT_NE(script.find("tar -xzf -"), std::string::npos);
  const std::string text = script.substr(0, script.size() - archive.size());
  const auto line = std::ranges::count(text, '\n') + 1;
  EXPECT_NE(text.find("tail -n +" + std::to_string(line) + " "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("exit $?\n"));
}

TEST(TrialScript, WithoutCodeRunsWhereItIs) {
  const std::string script = trial_script("");
  EXPECT_EQ(script.find("tar -x"), std::string::npos);
  EXPECT_NE(script.find("eval \"$MUSTER_ENTRYPOINT\""), std::string::npos);
  EXPECT_NE(trial_script("plain tar").find("tar -xf -"), std::string::npos);
}

TEST(TrialScript, FindsTheArchiveOfAnOlderScript) {
  const std::string now = trial_script("an archive\nof two lines");
  std::string old = now;
  const std::size_t run = old.find("  srun=");
  old.erase(run, old.find("else\n", run) - run);
  old.insert(run, "  srun x >> y 2>&1\n");
  const std::size_t number = old.find("tail -n +") + 9;
  old.replace(number, old.find(' ', number) - number,
              std::to_string(std::ranges::count(old.substr(0, old.rfind("an archive")), '\n') + 1));
  EXPECT_EQ(archive_in(old), "an archive\nof two lines");
  EXPECT_EQ(archive_in(now), "an archive\nof two lines");
}

TEST(TrialScript, SeveralNodesAreReachedBySrunOfTheNodesOwnPrograms) {
  const std::string script = trial_script("");
  EXPECT_NE(script.find("${MUSTER_PROGRAMS:+$MUSTER_PROGRAMS/}srun"), std::string::npos);
  EXPECT_EQ(script.find("2>&1"), std::string::npos)
      << "what the shell and srun say themselves is the script's own";
}

TEST(Entrypoint, WordsAreQuotedAndALineIsNot) {
  EXPECT_EQ(entrypoint_line({{"cd x && python3 train.py"}, true}), "cd x && python3 train.py");
  EXPECT_EQ(entrypoint_line({{"python3", "train.py", "a b", "it's", ""}, false}),
            "python3 train.py 'a b' 'it'\\''s' ''");
}

TEST(Entrypoint, TakesHyperparametersByName) {
  const Json hparams = object_of("{lr: 0.1, net: {depth: 3, act: relu}, sizes: [1, 2]}");
  EXPECT_EQ(
      with_hparams("x --lr {{hp.lr}} --d={{hp.net.depth}} {{hp.net.act}} {{hp.sizes}}", hparams),
      "x --lr 0.1 --d=3 relu [1, 2]");
  EXPECT_EQ(with_hparams("{{hp.gone}} {{hp.lr", hparams), "{{hp.gone}} {{hp.lr");
  const HyperSpace space{{{"lr"}, ConstDomain{0.1}}, {{"net", "depth"}, ConstDomain{3}}};
  EXPECT_TRUE(unknown_hparams("{{hp.lr}} {{hp.net.depth}} {{hp.net}}", space).empty());
  EXPECT_EQ(unknown_hparams("{{hp.lrr}} {{hp.net.d}}", space),
            (std::vector<std::string>{"lrr", "net.d"}));
}

TEST(TrialVariables, SayAllThatAScriptNeeds) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->metric = "accuracy";
  spec->time_metric = "epochs";
  spec->entrypoint = "python3 train.py --lr {{hp.lr}}";
  spec->run_folder = "/home/a/runs/experiment-3";
  Experiment experiment;
  experiment.id = ExperimentId(3);
  experiment.spec = spec;
  Trial trial;
  trial.id = TrialId(7);
  trial.seed = 5;
  trial.hparams = R"({"lr": 0.01, "net": {"act-fn": "re lu"}})";
  trial.target = 16;
  trial.source = "abc";
  const auto variables = trial_variables(experiment, trial, 2, {}).value();
  const auto has = [&](const char* variable) {
    return std::ranges::find(variables, variable) != variables.end();
  };
  for (const char* variable :
       {"MUSTER_EXPERIMENT_ID=3", "MUSTER_TRIAL_ID=7", "MUSTER_RUN_ID=2",
        "MUSTER_RUN_DIR=/home/a/runs/experiment-3/trial-7", "MUSTER_SEED=5",
        "MUSTER_VISIBILITY=private", "MUSTER_SEARCHER_METRIC=accuracy",
        "MUSTER_MAX_LENGTH={\"epochs\": 16}", "MUSTER_HP_LR=0.01", "MUSTER_HP_NET__ACT_FN=re lu",
        "MUSTER_ENTRYPOINT=python3 train.py --lr 0.01",
        "MUSTER_HPARAMS={\"lr\": 0.01, \"net\": {\"act-fn\": \"re lu\"}}",
        "WANDB_RUN_ID=muster-3-7", "MUSTER_CHECKPOINT_STORAGE=/home/a/runs",
        "MUSTER_SOURCE_CHECKPOINT=abc"}) {
    EXPECT_TRUE(has(variable)) << variable;
  }
}

TEST(TrialVariables, SayWhatIsProfiled) {
  const auto told = [](const char* config) {
    auto spec = std::make_shared<ExperimentSpec>();
    spec->config = config;
    Experiment experiment;
    experiment.spec = spec;
    const auto variables = trial_variables(experiment, Trial(), 1, trial_settings(*spec)).value();
    for (const std::string& variable : variables) {
      if (variable.starts_with("MUSTER_PROFILING=")) return variable.substr(17);
    }
    return std::string("nothing");
  };
  EXPECT_EQ(told(R"({"profiling": {"enabled": false, "begin_on_batch": 3}})"), "nothing");
  EXPECT_EQ(told("{}"), "nothing");
  EXPECT_EQ(
      told(
          R"({"profiling": {"enabled": true, "begin_on_batch": 3, "end_after_batch": 9, "sync_timings": true}})"),
      R"({"begin_on_batch": 3, "end_after_batch": 9})");
  EXPECT_EQ(
      told(R"({"profiling": {"enabled": true, "begin_on_batch": 0, "end_after_batch": null}})"),
      R"({"begin_on_batch": 0})");
}

TEST(TrialVariables, NameAStorageThatIsNoFolder) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->config =
      R"({"checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "k", "secret_key": "s", "prefix": null, "save_trial_best": 1}})";
  Experiment experiment;
  experiment.spec = spec;
  Trial trial;
  const auto variables = trial_variables(experiment, trial, 1, trial_settings(*spec)).value();
  const std::string expected =
      R"(MUSTER_CHECKPOINT_STORAGE={"type": "s3", "bucket": "b", "access_key": "k", "secret_key": "s"})";
  EXPECT_EQ(std::ranges::count(variables, expected), 1);
}

/// The kernel starts no program with a longer variable, and a line may grow a thousandfold.
TEST(TrialVariables, AreNoLongerThanAProgramMayBeToldThem) {
  const std::string large(100'000, 'x');
  const Json hparams{Json::Object{{"a", large}}};
  EXPECT_TRUE(check_hparams_size("python3 train.py {{hp.a}}", hparams).has_value());
  std::string often;
  for (int i = 0; i < 7000; ++i) often += "{{hp.a}}";
  const Status grown = check_hparams_size(often, hparams);
  ASSERT_FALSE(grown.has_value());
  EXPECT_NE(grown.error().message.find("the entrypoint, with hyperparameters put in"),
            std::string::npos);
  const Status both = check_hparams_size("true", Json{Json::Object{{"a", large}, {"b", large}}});
  ASSERT_FALSE(both.has_value());
  EXPECT_NE(both.error().message.find("come to 200018 bytes"), std::string::npos)
      << both.error().text();

  Json::Object leaves;
  for (int i = 0; i < 1000; ++i) leaves.push_back({std::to_string(i), Json(1)});
  const Status nested =
      check_hparams_size("true", Json{Json::Object{{std::string(64'000, 'n'), Json(leaves)}}});
  ASSERT_FALSE(nested.has_value());
  EXPECT_NE(nested.error().message.find("each told in a variable of its own"), std::string::npos);
  EXPECT_TRUE(check_hparams_size("true", Json(leaves)).has_value());

  auto spec = std::make_shared<ExperimentSpec>();
  spec->entrypoint = often;
  Experiment experiment;
  experiment.spec = spec;
  Trial trial;
  trial.hparams = json_text(hparams);
  EXPECT_FALSE(trial_variables(experiment, trial, 1, {}).has_value());
}

/// Also among as many as a configuration holds.
TEST(TrialVariables, TheChoiceOfWhichMostIsPutInIsTheLongest) {
  std::vector<Json> values;
  for (int i = 0; i < 24'000; ++i) values.emplace_back(std::int64_t{i});
  values.emplace_back(Json::Object{{"y", std::string(50, 'v')}});
  std::string often;
  for (int i = 0; i < 6'000; ++i) often += "{{hp.x}}{{hp.x.y}}";
  const HyperSpace space{{{"x"}, CategoricalDomain{values}}};
  const auto longest = longest_hparams(space, often);
  EXPECT_EQ(*longest.back().find("x"), values.back());
  const Status sized = check_hparams_size(often, longest.back());
  EXPECT_FALSE(sized.has_value());
}

/// Also beside members that nobody names, whose names may be long and whose number large.
TEST(TrialVariables, OnlyWhatTheEntrypointUsesIsPutIn) {
  Json::Object members;
  for (int i = 0; i < 5'000; ++i) members.push_back({std::to_string(i), Json(Json::Object{})});
  const std::string name(65'000, 'n');
  const Json hparams{Json::Object{{name, Json(members)}, {"lr", Json(1)}}};
  EXPECT_TRUE(check_hparams_size("train {{hp.lr}}", hparams).has_value());
  EXPECT_EQ(with_hparams("train {{hp.lr}} {{hp.n}} {{hp.lr.x}}", hparams),
            "train 1 {{hp.n}} {{hp.lr.x}}");
  EXPECT_EQ(with_hparams("{{hp." + name + ".7}}", hparams), "{}");
}

TEST(TrialVariables, UnknownNamesAreFoundAmongNestedOnes) {
  const HyperSpace space{{{"a", "b"}, ConstDomain{Json(1)}},
                         {{"a", "bb"}, ConstDomain{Json(1)}},
                         {{"c"}, ConstDomain{Json(1)}}};
  EXPECT_EQ(unknown_hparams("{{hp.a}} {{hp.a.b}} {{hp.a.bb}} {{hp.c}}", space),
            std::vector<std::string>());
  EXPECT_EQ(unknown_hparams("{{hp.b}} {{hp.a.c}} {{hp.a.b.x}} {{hp.c.d}} {{hp.}}", space),
            (std::vector<std::string>{"b", "a.c", "a.b.x", "c.d", ""}));
}

TEST(TrialVariables, NestedNamesArePutInByTheirPaths) {
  const Json hparams{Json::Object{{"a", Json(Json::Object{{"b", Json(1)}, {"c", Json("x y")}})},
                                  {"d.e", Json(2)}}};
  EXPECT_EQ(with_hparams("run {{hp.a.b}} {{hp.a.c}} {{hp.a.d}} {{hp.a}}", hparams),
            R"(run 1 x y {{hp.a.d}} {"b": 1, "c": "x y"})");
}

TEST(TrialVariables, TheLongestHyperparametersOfASpace) {
  const HyperSpace space{
      {{"a"}, ConstDomain{Json("constant")}},
      {{"b", "c"}, CategoricalDomain{{Json("x"), Json("longest"), Json("long")}}},
      {{"b", "d"}, DoubleDomain{0, 1, {}}},
      {{"e"}, IntDomain{-1000, 9, {}}},
      {{"f"}, CategoricalDomain{{Json("aaaa"), Json("\x7f\x01")}}}};
  const Json longest = longest_hparams(space, "train").front();
  EXPECT_EQ(*longest.find("a"), Json("constant"));
  EXPECT_EQ(*longest.find("b")->find("c"), Json("longest"));
  EXPECT_GE(json_text(*longest.find("b")->find("d")).size(), 23U);
  EXPECT_EQ(*longest.find("e"), Json(std::int64_t{-1000}));
  EXPECT_EQ(*longest.find("f"), Json("\x7f\x01")) << "as JSON";
}

/// A nested choice has its name in each of its variables, and parts of it may stand in the
/// entrypoint.
TEST(TrialVariables, TheLongestChoiceIsNotTheLongestInEachForm) {
  const Json text(std::string(2000, 'x'));
  Json::Object leaves;
  for (int i = 0; i < 20; ++i) leaves.push_back({std::to_string(i), Json(1)});
  const Json nested{Json::Object{{std::string(500, 'n'), Json(leaves)}}};
  const Json named{Json::Object{{"b", std::string(900, 'y')}}};
  const HyperSpace space{{{"a"}, CategoricalDomain{{text, nested, named}}}};
  const auto longest = longest_hparams(space, "train {{hp.a.b}} {{hp.a.b}} {{hp.a.b}}");
  ASSERT_EQ(longest.size(), 3U);
  EXPECT_EQ(*longest[0].find("a"), text);
  EXPECT_EQ(*longest[1].find("a"), nested);
  EXPECT_EQ(*longest[2].find("a"), named);
}

}  // namespace
}  // namespace muster
