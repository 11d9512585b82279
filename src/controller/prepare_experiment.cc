#include "controller/prepare_experiment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "codec/config_layers.h"
#include "codec/digest.h"
#include "codec/experiment_form.h"
#include "codec/json_text.h"
#include "codec/trial_text.h"
#include "codec/yaml_text.h"

namespace muster {
namespace {

Error wrong(std::string detail) {
  return Error{ErrorCode::kInvalidArgument, "The experiment's configuration is wrong", std::move(detail)};
}

/// What is understood and cannot be done yet is refused by name.
std::vector<std::string> missing_abilities(const ExperimentConfig& config) {
  std::vector<std::string> missing;
  const auto refuse_if = [&](bool is_asked, std::string_view what) {
    if (is_asked) missing.emplace_back(what);
  };
  refuse_if(config.resources.weight != 1, "resources.weight: experiments are not weighed against each other yet; take it out");
  refuse_if(config.resources.priority.has_value(), "resources.priority: it does not order trials yet; take it out");
  refuse_if(config.source_trial_id.has_value() || !config.source_checkpoint_uuid.empty(),
            "searcher: trials cannot begin with another trial's checkpoint yet; take source_trial_id or source_checkpoint_uuid out");
  refuse_if(std::holds_alternative<PopulationTraining>(config.search.method),
            "searcher.name: pbt needs checkpoints that trials share, which are not there yet");
  refuse_if(config.log_retention_days.value_or(-1) != -1, "retention_policy.log_retention_days: logs are kept for ever yet; take it out");
  refuse_if(!std::holds_alternative<std::monostate>(config.checkpoint_storage) &&
                !std::holds_alternative<SharedFolderStorage>(config.checkpoint_storage),
            "checkpoint_storage.type: checkpoints lie in a shared folder yet; give shared_fs");
  for (const LogPolicy& policy : config.log_policies) {
    refuse_if(policy.action != LogAction::kLabel,
              fmt::format("log_policies: \"{}\" cannot act yet; take it out", policy.name.empty() ? policy.pattern : policy.name));
  }
  return missing;
}

std::string joined_lines(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

Result<ExperimentForm> read_form(std::string_view text) {
  const YamlDocument document = TRY(parse_yaml(text));
  if (document.root.object() == nullptr) return fail(wrong("it is not a map; give fields such as entrypoint: python3 train.py"));
  return read_experiment(merge_layers(document.root, experiment_defaults()), document.lines);
}

Status check(const ExperimentForm& form) {
  std::vector<std::string> lines;
  for (const FormProblem& problem : form.problems) lines.push_back(problem.text());
  if (lines.empty()) {
    lines = missing_abilities(form.config);
    for (const std::string& name : unknown_hparams(entrypoint_line(form.config.entrypoint), form.config.hyperparameters)) {
      lines.push_back(fmt::format("entrypoint: {{{{hp.{}}}}} is no hyperparameter; see 'hyperparameters'", name));
    }
  }
  if (lines.empty()) return {};
  return fail(wrong(joined_lines(lines)));
}

/// Trials have folders below the storage, or else below where the experiment was submitted.
std::string run_root(const ExperimentConfig& config, std::string_view work_dir) {
  if (const auto* shared = std::get_if<SharedFolderStorage>(&config.checkpoint_storage)) {
    if (shared->storage_path.starts_with('/')) return shared->storage_path;
    return shared->storage_path.empty() ? shared->host_path : shared->host_path + "/" + shared->storage_path;
  }
  return std::string(work_dir) + "/muster-runs";
}

/// NAME=VALUE of the file over the submitter's; a name alone keeps the submitter's.
Bytes with_variables(Bytes environment, const std::vector<std::string>& variables) {
  std::string all = environment == nullptr ? "" : *environment;
  for (const std::string& variable : variables) {
    if (variable.find('=') == std::string::npos) continue;
    if (!all.empty() && all.back() != '\0') all += '\0';
    all += variable;
  }
  return std::make_shared<const std::string>(std::move(all));
}

/// What every trial's job has in common. Slots become CPUs or GPUs where the partition is known.
std::shared_ptr<JobSpec> job_of(const CreateExperiment& create, const ExperimentConfig& config, const Identity& identity,
                                const CallerNames& names) {
  auto job = std::make_shared<JobSpec>(*create.job);
  job->kind = JobKind::kBatch;
  job->user = identity.user;
  job->group = identity.group;
  job->text.set(JobText::kUserName, names.user);
  job->text.set(JobText::kGroupName, names.group);
  if (!config.resources.resource_pool.empty()) job->text.set(JobText::kPartition, config.resources.resource_pool);
  for (const JobText key : {JobText::kArray, JobText::kDependency, JobText::kStdOut, JobText::kStdErr}) job->text.set(key, "");
  job->script = job->environment = BlobId();
  job->is_requeue = true;
  job->given |= given_option::kRequeue;
  job->is_held = false;
  job->open_mode = 2;  // all runs of a trial write one file
  return job;
}

std::string searcher_name(const Json& config) {
  const Json* searcher = config.find("searcher");
  const Json* name = searcher == nullptr ? nullptr : searcher->find("name");
  return name == nullptr || name->text() == nullptr ? "" : *name->text();
}

}  // namespace

Result<PreparedExperiment> prepare_experiment(CreateExperiment create, const Identity& identity, const CallerNames& names,
                                              LastBlob& environments) {
  if (create.job == nullptr || !create.job->get(JobText::kWorkDir).starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument, "Invalid working directory", "an experiment is submitted from a folder, by its absolute path");
  }
  const YamlDocument document = TRY(parse_yaml(create.config));
  const ExperimentForm form = TRY(read_form(create.config));
  TRY(check(form));
  const ExperimentConfig& config = form.config;
  const Json merged = merge_layers(document.root, experiment_defaults());

  PreparedExperiment prepared;
  prepared.is_paused = create.is_paused;
  prepared.slots_per_trial = config.resources.slots_per_trial;
  prepared.is_single_node = config.resources.is_single_node;
  prepared.job = job_of(create, config, identity, names);
  const std::string script = trial_script(create.context == nullptr ? "" : *create.context);
  prepared.script = PreparedBlob{sha256(script), std::make_shared<const std::string>(script)};
  prepared.environment = environments.prepared(with_variables(create.environment, config.environment_variables));
  prepared.labels = ExperimentLabels{config.name, config.description, "", config.labels, config.workspace, config.project, false};

  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = identity.user;
  spec->user_name = names.user;
  spec->config = json_text(merged);
  spec->original = create.original.empty() ? create.config : create.original;
  spec->searcher = searcher_name(merged);
  spec->metric = config.search.metric;
  spec->smaller_is_better = config.search.smaller_is_better;
  spec->time_metric = config.search.time_metric;
  spec->slots_per_trial = config.resources.slots_per_trial;
  spec->max_restarts = config.max_restarts;
  spec->preemption_timeout = config.preemption_timeout;
  spec->trial_length = config.trial_length;
  spec->entrypoint = entrypoint_line(config.entrypoint);
  spec->run_folder = run_root(config, prepared.job->get(JobText::kWorkDir));
  prepared.seed = config.experiment_seed;
  prepared.spec = std::move(spec);
  return prepared;
}

ExperimentConfig config_of(const ExperimentSpec& spec) {
  auto form = read_form(spec.config);
  CHECK(form.has_value() && form->problems.empty(), "an experiment's configuration was accepted and cannot be read");
  return std::move(form->config);
}

}  // namespace muster
