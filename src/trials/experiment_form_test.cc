// Whole experiment files: Determined's own fields, each honoured or refused by name.
#include "trials/experiment_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trials/config_layers.h"

namespace muster {
namespace {

using Problems = std::vector<std::string>;

struct Read {
  ExperimentConfig config;
  Problems problems;
};

Read read(std::string_view text) {
  const auto document = parse_yaml(text);
  EXPECT_TRUE(document.has_value()) << document.error().text();
  if (!document.has_value()) return {};
  ExperimentForm form =
      read_experiment(merge_layers(document->root, experiment_defaults()), document->lines);
  Problems problems;
  for (const FormProblem& problem : form.problems) problems.push_back(problem.text());
  return {std::move(form.config), std::move(problems)};
}

/// A file that is right, with lines added at its end.
Read with(const std::string& lines) {
  return read("entrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\n" + lines);
}

TEST(ExperimentForm, TheShortestFileHasDeterminedsDefaults) {
  const auto [config, problems] = with("");
  EXPECT_EQ(problems, Problems{});
  EXPECT_EQ(config.entrypoint, (EntryPoint{{"python3 train.py"}, true}));
  EXPECT_EQ(config.resources, TrialResources{});
  EXPECT_EQ(config.max_restarts, 5U);
  EXPECT_EQ(config.preemption_timeout, Duration::seconds(3600));
  EXPECT_EQ(config.retention, (CheckpointRetention{0, 1, 1}));
  EXPECT_EQ(config.checkpoint_policy, CheckpointPolicy::kBest);
  ASSERT_EQ(config.log_policies.size(), 3U);
  EXPECT_EQ(config.log_policies[0],
            (LogPolicy{"CUDA OOM", ".*CUDA out of memory.*", LogAction::kLabel}));
}

TEST(ExperimentForm, SlotsAreANumberOrARange) {
  const auto [elastic, none] = with("resources: {slots_per_trial: {min: 2, max: 8}}");
  EXPECT_EQ(none, Problems{});
  EXPECT_EQ(elastic.resources.min_slots_per_trial, 2U);
  EXPECT_EQ(elastic.resources.slots_per_trial, 8U);
  EXPECT_EQ(
      with("resources: {slots_per_trial: {min: 4, max: 4}}").config.resources.min_slots_per_trial,
      0U)
      << "nothing to choose from";
  EXPECT_EQ(with("resources: {slots_per_trial: {min: 4, max: 2}}").problems,
            (Problems{"line 3: resources.slots_per_trial.min: 4 are more than max 2"}));
  EXPECT_EQ(with("resources: {slots_per_trial: {max: 2}}").problems,
            (Problems{"line 3: resources.slots_per_trial: 'min' is missing; give the fewest slots "
                      "that a trial runs on"}));
  EXPECT_EQ(with("resources: {slots_per_trial: two}").problems.size(), 1U);
}

TEST(ExperimentForm, AReferenceRun) {
  const auto [config, problems] = read(R"(
name: cifar-baseline
description: reference run
labels: [baseline]
workspace: Vision
project: Cifar
hyperparameters: {learning_rate: 0.05, batch_size: 128, dropout: 0.1}
searcher: {name: single, metric: validation_loss, smaller_is_better: true}
resources: {slots_per_trial: 1, resource_pool: gpu, shm_size: 16g}
checkpoint_storage: {type: shared_fs, host_path: /data/ckpt, save_trial_latest: 2, save_trial_best: 3, save_experiment_best: 1}
max_restarts: 2
entrypoint: python3 train.py --epochs 10
)");
  EXPECT_EQ(problems, Problems{});
  EXPECT_EQ(config.name, "cifar-baseline");
  EXPECT_EQ(config.labels, (std::vector<std::string>{"baseline"}));
  EXPECT_EQ(config.hyperparameters.size(), 3U);
  EXPECT_EQ(config.resources.resource_pool, "gpu");
  EXPECT_EQ(config.checkpoint_storage, CheckpointStorage(SharedFolderStorage{"/data/ckpt", ""}));
  EXPECT_EQ(config.retention, (CheckpointRetention{1, 3, 2}));
  EXPECT_EQ(config.max_restarts, 2U);
}

TEST(ExperimentForm, ADistributedRunWithLogPolicies) {
  const auto [config, problems] = read(R"(
name: gpt-small-ddp
hyperparameters: {global_batch_size: 512, lr: 3.0e-4}
searcher: {name: single, metric: eval_loss}
resources: {slots_per_trial: 16, is_single_node: false, priority: 60, max_slots: 16}
environment:
  environment_variables: [NCCL_DEBUG=WARN, TOKENIZERS_PARALLELISM=false]
profiling: {enabled: true}
log_policies:
  - {name: bad-node, pattern: "NCCL.*unhandled system error", action: exclude_node}
  - {name: CUDA OOM, pattern: "CUDA out of memory", action: {type: cancel_retries}}
  - {name: ECC Error}
reproducibility: {experiment_seed: 7, trial_seed: 9}
retention_policy: {log_retention_days: -1}
entrypoint: [python3, -m, determined.launch.torch_distributed, python3, train.py]
)");
  EXPECT_EQ(problems, Problems{});
  EXPECT_EQ(config.entrypoint.words.size(), 5U);
  EXPECT_FALSE(config.entrypoint.is_shell_line);
  EXPECT_EQ(config.environment_variables,
            (std::vector<std::string>{"NCCL_DEBUG=WARN", "TOKENIZERS_PARALLELISM=false"}));
  EXPECT_EQ(config.log_policies,
            (std::vector<LogPolicy>{
                {"bad-node", "NCCL.*unhandled system error", LogAction::kExcludeNode},
                {"CUDA OOM", "CUDA out of memory", LogAction::kCancelRetries},
                {"ECC Error", "", LogAction::kLabel},
                {"Storage misconfigured",
                 R"(An error occurred \((NoSuchBucket|InvalidAccessKeyId|SignatureDoesNotMatch)\))",
                 LogAction::kCancelRetries}}));
  EXPECT_EQ(config.experiment_seed, 7U);
  EXPECT_EQ(config.search.trial_seed, 9U);
  EXPECT_EQ(config.log_retention_days, -1);
  EXPECT_TRUE(config.profiling.is_enabled);
}

TEST(ExperimentForm, VariablesPerKindOfSlot) {
  const std::string lines = "environment: {environment_variables: {cuda: [A=1], cpu: [B=2]}}\n";
  EXPECT_EQ(with(lines).config.environment_variables, (std::vector<std::string>{"A=1"}));
  EXPECT_EQ(with(lines + "resources: {slots_per_trial: 0}\n").config.environment_variables,
            (std::vector<std::string>{"B=2"}));
}

TEST(ExperimentForm, WhatIsNotThereIsRefusedByNameWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"environment: {image: my/image}",
       "line 3: environment.image: trials run without containers; take it out"},
      {"environment: {pod_spec: {spec: 1}}",
       "line 3: environment.pod_spec: trials run without containers; take it out"},
      {"bind_mounts: [{host_path: /d, container_path: /d}]",
       "line 3: bind_mounts: trials run without containers; take it out"},
      {"checkpoint_storage: {type: gcs, bucket: b}",
       "line 3: checkpoint_storage.type: storage of type gcs is not there yet; use shared_fs, "
       "directory or s3"},
      {"slurm: {sbatch_args: [-A x]}",
       "line 3: slurm: trials are jobs here: give resources and a resource_pool instead"},
      {"min_validation_period: {batches: 100}",
       "line 3: min_validation_period.batches: periods are given to the Trainer now: "
       "Trainer.fit(validation_period=..., "
       "checkpoint_period=...)"},
      {"max_restart: 3", "line 3: max_restart: there is no such field here; is it 'max_restarts'?"},
      {"workspace: W", "line 1: workspace and project belong together; give both or neither"},
      {"resources: {slots_per_trial: 8, max_slots: 4}",
       "line 3: resources.max_slots: 4 are fewer than one trial's 8; nothing could run"},
      {"resources: {priority: 100}",
       "line 3: resources.priority: 100 is not possible; give a whole number from 1 to 99"},
      {"checkpoint_storage: {type: shared_fs, host_path: data}",
       "line 3: checkpoint_storage.host_path: \"data\" is not absolute; begin it with /"},
      {"checkpoint_storage: {type: shared_fs, host_path: /data, storage_path: ../../etc}",
       "line 3: checkpoint_storage.storage_path: it leads out of host_path; give a folder below "
       "it"},
      {"checkpoint_storage: {type: shared_fs, host_path: /data, storage_path: /database/x}",
       "line 3: checkpoint_storage.storage_path: it leads out of host_path; give a folder below "
       "it"},
      {"checkpoint_storage: {type: directory, container_path: ckpt}",
       "line 3: checkpoint_storage.container_path: \"ckpt\" is no folder's absolute path; trials "
       "run without containers: give one of the nodes'"},
      {"checkpoint_storage: {type: directory, container_path: //}",
       "line 3: checkpoint_storage.container_path: \"//\" is no folder's absolute path; trials run "
       "without containers: give one of the nodes'"},
      {"checkpoint_storage: {type: directory, container_path: /data/../etc}",
       "line 3: checkpoint_storage.container_path: it holds \"..\"; name the folder itself"},
      {"checkpoint_storage: {type: directory}",
       "line 3: checkpoint_storage: 'container_path' is missing; give the folder, the same on all "
       "nodes"},
      {"checkpoint_storage: {save_trial_best: 3, bucket: b}",
       "line 3: checkpoint_storage.bucket: of which storage? give 'type': shared_fs, directory or "
       "s3"},
      {"log_policies: [{name: a, patern: x}]",
       "line 3: log_policies.0.patern: there is no such field here; is it 'pattern'?"},
      {"optimizations: {aggregation_frequency: 4}",
       "line 3: optimizations.aggregation_frequency: it was of use to Horovod alone; give the "
       "Trainer these settings"},
      {"resources: {shm_size: [1]}",
       "line 3: resources.shm_size: a list is not a size; give bytes, or a text such as 16g"},
      {"checkpoint_storage: {type: s3, bucket: b, access_key: k}",
       "line 3: checkpoint_storage: access_key and secret_key belong together; give both or "
       "neither"},
      {"checkpoint_storage: {type: s3, bucket: b, prefix: a/../../b}",
       "line 3: checkpoint_storage.prefix: it holds \"..\"; name the folder itself"},
      {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'minio:9000'}",
       "line 3: checkpoint_storage.endpoint_url: \"minio:9000\" is no URL; begin it with http:// "
       "or https://"},
  };
  for (const auto& [line, message] : cases)
    EXPECT_EQ(with(line + "\n").problems, (Problems{message})) << line;
}

TEST(ExperimentForm, WhatAsksForNothingMayStand) {
  EXPECT_EQ(with("bind_mounts: []\nenvironment: {image: '', proxy_ports: []}\nresources: {devices: "
                 "[]}\ndata: {url: x}\n")
                .problems,
            Problems{});
  EXPECT_EQ(with("scheduling_unit: 100\nrecords_per_epoch: 0\noptimizations: "
                 "{aggregation_frequency: 1, mixed_precision: O0}\n")
                .problems,
            Problems{});
  EXPECT_EQ(with("checkpoint_storage: {type: shared_fs, host_path: /data, storage_path: ..cache}\n")
                .problems,
            Problems{});
}

TEST(ExperimentForm, AFolderOfTheNodesIsStorage) {
  const auto form = with(
      "checkpoint_storage: {type: directory, container_path: /data/ckpt, save_trial_latest: 2}\n");
  EXPECT_EQ(form.problems, Problems{});
  EXPECT_EQ(form.config.checkpoint_storage, CheckpointStorage(LocalFolderStorage{"/data/ckpt"}));
  EXPECT_EQ(form.config.retention.trial_latest, 2U);
}

TEST(ExperimentForm, WhatIsReadInLogsCanBeRead) {
  EXPECT_EQ(with("log_policies: [{name: a, pattern: '.*(x|y).*'}, {name: b, pattern: '.*'}, {name: "
                 "CUDA OOM}]\n")
                .problems,
            Problems{});
  EXPECT_EQ(
      with("log_policies: [{name: a, pattern: x}, {name: b, pattern: '.*('}]\n").problems,
      (Problems{
          "line 3: log_policies.1.pattern: the regular expression is refused: missing ): .*("}));
  EXPECT_EQ(with("log_policies: [{name: a, pattern: " + std::string(4097, 'x') + "}]\n").problems,
            (Problems{"line 3: log_policies.0.pattern: the text to search for is too long: at most "
                      "4096 bytes"}));
  std::string many = "log_policies: [";
  for (int i = 0; i < 33; ++i) many += "{name: p" + std::to_string(i) + ", pattern: x},";
  ASSERT_EQ(with(many + "]\n").problems.size(), 1U);
  EXPECT_TRUE(
      with(many + "]\n").problems[0].ends_with("are too many; at most 32: join patterns with |"));
  for (const char* wrong : {"MUSTER_OUTPUT_METRICS=no", "MUSTER_OUTPUT_METRICS"}) {
    EXPECT_EQ(
        with(fmt::format("environment: {{environment_variables: [{}]}}\n", wrong)).problems.size(),
        1U)
        << wrong;
  }
  EXPECT_EQ(with("environment: {environment_variables: [MUSTER_OUTPUT_METRICS=no, "
                 "MUSTER_OUTPUT_METRICS=0]}\n")
                .problems,
            Problems{});
}

TEST(ExperimentForm, TheCommandNamesKnownHyperparameters) {
  EXPECT_EQ(
      read("entrypoint: train {{hp.lr}} {{hp.lrr}}\nhyperparameters: {lr: 1}\nsearcher: {name: "
           "single, metric: l}\n")
          .problems,
      (Problems{"line 1: entrypoint: {{hp.lrr}} is no hyperparameter; see 'hyperparameters'"}));
}

TEST(ExperimentForm, EmptyAndBrokenTextsAreRefused) {
  EXPECT_EQ(read("entrypoint: x\nsearcher: {name: single, metric: ''}\n").problems,
            (Problems{"line 2: searcher.metric: it is empty; give the validation metric that "
                      "trials are ranked by"}));
  EXPECT_EQ(read("entrypoint: \"a\\0b\"\nsearcher: {name: single, metric: l}\n").problems,
            (Problems{"line 1: entrypoint: a command cannot hold a NUL character"}));
}

TEST(ExperimentForm, MissingPartsAreNamed) {
  EXPECT_EQ(
      read("name: x\n").problems,
      (Problems{
          "line 1: 'entrypoint' is missing; give the command that trains, such as python3 train.py",
          "line 1: 'searcher' is missing; give the search method and its settings, such as {name: "
          "single, metric: loss}"}));
}

TEST(Layers, TheUsersWordsStandOverTheTemplates) {
  const Json user = parse_yaml(
                        "a: 1\nm: {x: 1}\nl: [1]\nn: null\nlog_policies: [{name: p, pattern: "
                        "u}]\nbind_mounts: [u]\n")
                        ->root;
  const Json under = parse_yaml(
                         "a: 2\nb: 3\nm: {x: 2, y: 3}\nl: [2, 3]\nn: 4\nlog_policies: [{name: p}, "
                         "{name: q}]\nbind_mounts: [t]\n")
                         ->root;
  EXPECT_EQ(merge_layers(user, under),
            parse_yaml("a: 1\nm: {x: 1, y: 3}\nl: [1]\nn: 4\nlog_policies: [{name: p, pattern: u}, "
                       "{name: q}]\nbind_mounts: [t, u]\nb: 3\n")
                ->root);
}

TEST(Layers, VariablesByKindOfSlotAreJoinedWithAList) {
  const auto merged = [](std::string_view over, std::string_view under) {
    const auto layer = [](std::string_view variables) {
      return parse_yaml(fmt::format("environment: {{environment_variables: {}}}", variables))->root;
    };
    return *merge_layers(layer(over), layer(under))
                .find("environment")
                ->find("environment_variables");
  };
  EXPECT_EQ(merged("{cuda: [A=1]}", "[B=2]"), parse_yaml("{cuda: [B=2, A=1], cpu: [B=2]}")->root);
  EXPECT_EQ(merged("[A=1]", "{cpu: [B=2]}"), parse_yaml("{cpu: [B=2, A=1], cuda: [A=1]}")->root);
  EXPECT_EQ(merged("{cuda: [A=1]}", "{cuda: [B=2]}"), parse_yaml("{cuda: [B=2, A=1]}")->root);
  EXPECT_EQ(merged("{cuda: [A=1]}", "[]"), parse_yaml("{cuda: [A=1]}")->root);
  EXPECT_EQ(merged("no list", "[B=2]"), Json("no list")) << "which the form refuses";
}

TEST(Layers, ANameOfItsOwnDoesNotShutTheTemplateOut) {
  const Json user = parse_yaml("name: mine\ndata: {name: a}\n")->root;
  const Json under = parse_yaml("name: base\nentrypoint: x\ndata: {name: b, ports: [1]}\n")->root;
  EXPECT_EQ(merge_layers(user, under),
            parse_yaml("name: mine\ndata: {name: a, ports: [1]}\nentrypoint: x\n")->root);
}

TEST(Layers, AnotherStorageIsNotCompletedByTheTemplates) {
  const Json user = parse_yaml("checkpoint_storage: {type: directory, container_path: /c}")->root;
  const Json under = parse_yaml("checkpoint_storage: {type: shared_fs, host_path: /data}")->root;
  EXPECT_EQ(merge_layers(user, under), user);
}

TEST(ExperimentFile, AnEntrypointThatIsNoCommandHasOneError) {
  const Problems problems =
      read("entrypoint: true\nsearcher: {name: single, metric: loss}\n").problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0], "line 1: entrypoint: true is no command; give a text, or a list of words");
}

TEST(ExperimentFile, AnAccuracyThatIsMinimisedIsWarnedOf) {
  const auto document =
      parse_yaml("entrypoint: x\nsearcher:\n  name: single\n  metric: accuracy\n");
  const ExperimentForm form =
      read_experiment(merge_layers(document->root, experiment_defaults()), document->lines);
  EXPECT_TRUE(form.problems.empty());
  ASSERT_EQ(form.warnings.size(), 1U);
  EXPECT_EQ(form.warnings[0].text(),
            "line 4: searcher.metric: the search looks for the smallest accuracy; if more of it is "
            "better, write "
            "searcher.smaller_is_better: false");
}

TEST(ExperimentFile, WhatChangesNothingIsWarnedOf) {
  const auto document = parse_yaml(
      "entrypoint: x\nsearcher: {name: single, metric: loss}\nprofiling:\n  sync_timings: false\n");
  const ExperimentForm form =
      read_experiment(merge_layers(document->root, experiment_defaults()), document->lines);
  EXPECT_TRUE(form.problems.empty());
  ASSERT_EQ(form.warnings.size(), 1U);
  EXPECT_EQ(form.warnings[0].text(),
            "line 4: profiling.sync_timings: it changes nothing: no timings of batches are taken. "
            "Leave it out");
}

}  // namespace
}  // namespace muster
