// From text to what every later start reads: YAML is parsed, merged over the defaults, checked as a
// form, and stored as JSON, which must read the same again (stored_config). Nothing here needs the
// state; what does (partitions, checkpoints that are named) is drafted by requests/experiment.cc.
#include "platform/config/prepare_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/job_numbers.h"
#include "admission/job_texts.h"
#include "base/check.h"
#include "slurm/environment_text.h"
#include "slurm/request_text.h"
#include "text/digest.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/launch_size.h"
#include "text/printable_text.h"
#include "text/yaml_text.h"
#include "trials/config_layers.h"
#include "trials/experiment_form.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

Error wrong(std::string detail) {
  return Error{ErrorCode::kInvalidArgument, "The experiment's configuration is wrong",
               std::move(detail)};
}

std::string joined_lines(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// A configuration over the defaults, and what it says.
struct ReadConfig {
  Json merged;
  ExperimentForm form;
};

/// Nothing that a configuration says can be told a program with a NUL in it: it would end there.
// Variables, paths and script texts are handed over as C strings.
Status check_no_nul(const Json& value, const std::string& path) {
  const auto refuse = [&](std::string_view what) {
    return fail(wrong(fmt::format("{}: there is a NUL in {}", printable(path), what)));
  };
  if (const std::string* text = value.text(); text != nullptr && text->find('\0') != text->npos)
    return refuse("the text");
  if (value.array() != nullptr) {
    for (const Json& one : *value.array()) TRY(check_no_nul(one, path));
  }
  if (value.object() == nullptr) return {};
  for (const Json::Member& member : *value.object()) {
    const std::string inner = path.empty() ? member.name : path + "." + member.name;
    if (member.name.find('\0') != member.name.npos)
      return fail(wrong(fmt::format("{}: there is a NUL in the name", printable(inner))));
    TRY(check_no_nul(member.value, inner));
  }
  return {};
}

Result<ReadConfig> read_config(const Json& config, const LineMap& lines, bool is_stored = false) {
  if (config.object() == nullptr)
    return fail(wrong("it is not a map; give fields such as entrypoint: python3 train.py"));
  TRY(check_no_nul(config, ""));
  ReadConfig read;
  read.merged = merge_layers(config, experiment_defaults());
  // A stored one was accepted once, perhaps under other bounds on sizes.
  read.form = read_experiment(read.merged, lines, is_stored);
  return read;
}

Status check(const ExperimentForm& form) {
  std::vector<std::string> lines;
  for (const FormProblem& problem : form.problems) lines.push_back(problem.text());
  if (lines.empty()) return {};
  return fail(wrong(joined_lines(lines)));
}

/// As json_text wrote it; as YAML in journals of the first versions.
Result<ReadConfig> read_stored(std::string_view text) {
  auto json = parse_json(text);
  if (json.has_value()) return read_config(*json, {}, true);
  const YamlDocument document = TRY(parse_yaml(text));
  return read_config(document.root, document.lines, true);
}

/// What is stored of a configuration: the text that every later start reads. Errors:
/// kInvalidArgument: it could not be read again, because it has grown by what anchors repeat, by
/// quotes or by the defaults, or for a reason that nobody has thought of.
// Read back at once: an experiment whose text the controller cannot read could never be started
// again.
Result<std::string> stored_config(const Json& merged) {
  std::string text = json_text(merged);
  if (const Status sized = check_config_size(text); !sized.has_value()) {
    return fail(wrong(fmt::format("as JSON, with its defaults and all that anchors repeat, {}",
                                  sized.error().detail)));
  }
  const auto again = read_stored(text);
  if (!again.has_value()) return fail(wrong("it cannot be stored: " + again.error().text()));
  TRY(check(again->form));
  return text;
}

Result<ReadConfig> read_config(std::string_view text) {
  TRY(check_config_size(text));
  const YamlDocument document = TRY(parse_yaml(text));
  return read_config(document.root, document.lines);
}

/// Trials have folders below the storage, or else below where the experiment was submitted.
std::string run_root(const ExperimentConfig& config, std::string_view work_dir) {
  // An absolute storage_path replaces host_path; a relative one lies below it.
  if (const auto* shared = std::get_if<SharedFolderStorage>(&config.checkpoint_storage)) {
    if (shared->storage_path.starts_with('/')) return shared->storage_path;
    return shared->storage_path.empty() ? shared->host_path
                                        : shared->host_path + "/" + shared->storage_path;
  }
  if (const auto* local = std::get_if<LocalFolderStorage>(&config.checkpoint_storage)) {
    const std::string& path = local->container_path;
    return path.substr(0, path.find_last_not_of('/') + 1);
  }
  return std::string(work_dir) + "/muster-runs";
}

/// NAME=VALUE of the file over the submitter's; a name alone keeps the submitter's. What Python
/// prints is seen as it is printed.
Result<Bytes> with_variables(const Bytes& block, const std::vector<std::string>& variables) {
  Environment environment = parse_environment(block == nullptr ? "" : *block);
  TRY(set_variables(environment, variables));
  constexpr std::string_view kUnbuffered = "PYTHONUNBUFFERED";
  if (!get_variable(environment, kUnbuffered)) set_variable(environment, kUnbuffered, "1");
  return std::make_shared<const std::string>(environment_block(environment));
}

/// What every trial's job has in common. Slots become CPUs or GPUs where the partition is known.
std::shared_ptr<JobSpec> job_of(const CreateExperiment& create, const ExperimentConfig& config,
                                const Identity& identity, const CallerNames& names) {
  auto job = std::make_shared<JobSpec>(*create.job);
  job->kind = JobKind::kBatch;
  job->user = identity.user;
  job->group = identity.group;
  job->text.set(JobText::kUserName, names.user);
  job->text.set(JobText::kGroupName, names.group);
  if (!config.resources.resource_pool.empty())
    job->text.set(JobText::kPartition, config.resources.resource_pool);
  // What a trial's job has otherwise: an output file in its folder, no array, no dependencies.
  for (const JobText key : {JobText::kArray, JobText::kDependency, JobText::kStdOut,
                            JobText::kStdErr, JobText::kAdminComment})
    job->text.set(key, "");
  job->script = job->environment = BlobId();
  job->trial = TrialId();
  job->runs_before = 0;
  // Whether a run comes back is for its trial to say (trial_rules.cc), not for --no-requeue.
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

Result<CheckedExperiment> check_experiment(const Json& config, const LineMap& lines) {
  ReadConfig read = TRY(read_config(config, lines));
  TRY(check(read.form));
  // What creating would refuse, although nothing is stored here.
  TRY(stored_config(read.merged));
  Environment trial;
  TRY(set_variables(trial, read.form.config.environment_variables));
  TRY(check_environment(environment_block(trial)));
  CheckedExperiment checked{std::move(read.merged), {}};
  for (const FormProblem& warning : read.form.warnings) checked.warnings.push_back(warning.text());
  return checked;
}

Result<CheckedExperiment> check_experiment(std::string_view config) {
  TRY(check_config_size(config));
  const YamlDocument document = TRY(parse_yaml(config));
  return check_experiment(document.root, document.lines);
}

Result<PreparedExperiment> prepare_experiment(CreateExperiment create, const Identity& identity,
                                              const CallerNames& names, LastBlob& environments) {
  if (create.job == nullptr || !create.job->get(JobText::kWorkDir).starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument, "Invalid working directory",
                "an experiment is submitted from a folder, by its absolute path");
  }
  const ReadConfig read = TRY(read_config(create.config));
  TRY(check(read.form));
  const ExperimentConfig& config = read.form.config;

  PreparedExperiment prepared;
  prepared.is_paused = create.is_paused;
  prepared.is_single_node = config.resources.is_single_node;
  prepared.job = job_of(create, config, identity, names);
  TRY(admission::check_texts(*prepared.job));
  TRY(admission::check_numbers(*prepared.job));
  TRY(parse_request(*prepared.job));
  const std::string_view code = create.context == nullptr ? std::string_view() : *create.context;
  TRY(check_code_size(code.size()));
  const bool is_fork =
      create.parent.value() != 0 && code.empty();  // its parent's script is there already
  if (!is_fork) {
    const std::string script = trial_script(code);
    prepared.script = PreparedBlob{sha256(script), std::make_shared<const std::string>(script)};
  }
  Bytes environment = TRY(with_variables(create.environment, config.environment_variables));
  TRY(check_environment(*environment));
  // The last environment is remembered: a user's experiments mostly have the same.
  prepared.environment = environments.prepared(std::move(environment));
  prepared.labels =
      ExperimentLabels{config.name,      config.description, "",    config.labels,
                       config.workspace, config.project,     false, config.visibility};

  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = identity.user;
  spec->user_name = names.user;
  spec->config = TRY(stored_config(read.merged));
  spec->original = create.original.empty() ? create.config : create.original;
  spec->searcher = searcher_name(read.merged);
  spec->metric = config.search.metric;
  spec->smaller_is_better = config.search.smaller_is_better;
  spec->time_metric = config.search.time_metric;
  spec->slots_per_trial = config.resources.slots_per_trial;
  spec->min_slots_per_trial = config.resources.min_slots_per_trial;
  spec->max_restarts = config.max_restarts;
  spec->preemption_timeout = config.preemption_timeout;
  spec->trial_length = config.trial_length;
  spec->log_retention_days = config.log_retention_days;
  spec->entrypoint = entrypoint_line(config.entrypoint);
  spec->run_folder = run_root(config, prepared.job->get(JobText::kWorkDir));
  spec->parent = create.parent;
  spec->source_checkpoint = config.source_checkpoint_uuid;
  spec->retention = config.retention;
  spec->share = {config.resources.priority.value_or(ExperimentShare().priority),
                 config.resources.weight};
  spec->budget = config.budget;
  if (config.source_trial_id)
    prepared.source_trial = TrialId(static_cast<std::uint32_t>(*config.source_trial_id));
  prepared.seed = config.experiment_seed;
  prepared.spec = std::move(spec);
  return prepared;
}

namespace {

/// What continuing may change, and nothing else: the search and what lies on disk are as they are.
constexpr std::array<std::string_view, 9> kOverridable{
    "max_restarts", "resources", "preemption_timeout", "entrypoint",  "profiling",
    "debug",        "data",      "checkpoint_policy",  "log_policies"};

/// The values that `overrides` gives hyperparameters: those of the one trial of a single search may
/// change. Errors: kInvalidArgument: one that it does not have, or a range, which no trial can
/// have.
Result<std::string> new_hparams(const Json& overrides, const ExperimentSpec& spec,
                                const HyperSpace& space) {
  const Json* wanted = overrides.find("hyperparameters");
  if (wanted == nullptr || wanted->object() == nullptr) return std::string();
  if (spec.searcher != "single") {
    return fail(wrong(fmt::format(
        "hyperparameters: a search by {} draws them itself; fork the experiment instead",
        spec.searcher)));
  }
  Json values{Json::Object{}};
  for (const Hyperparameter& one : space) {
    if (wanted->find(one.path) == nullptr) continue;
    const auto* value = std::get_if<ConstDomain>(&one.domain);
    if (value == nullptr)
      // A range could not be drawn from: the trial exists.
      return fail(
          wrong(fmt::format("hyperparameters.{}: give the value that the trial goes on with",
                            fmt::join(one.path, "."))));
    values.at(one.path) = value->val;
  }
  return json_text(values);
}

Status check_overrides(const Json& overrides) {
  if (overrides.is_null()) return {};
  if (overrides.object() == nullptr) return fail(wrong("the overrides are not a map"));
  for (const Json::Member& member : *overrides.object()) {
    // Of the searcher its length alone, and nothing beside it.
    const bool is_length = member.name == "searcher" && member.value.object() != nullptr &&
                           std::ranges::all_of(*member.value.object(), [](const Json::Member& one) {
                             return one.name == "max_length";
                           });
    if (is_length || member.name == "hyperparameters" ||
        std::ranges::find(kOverridable, member.name) != kOverridable.end())
      continue;
    return fail(
        wrong(fmt::format("{}: continuing an experiment cannot change it; fork the experiment "
                          "instead, or change one of: "
                          "searcher.max_length, hyperparameters of a single search, {}",
                          member.name, fmt::join(kOverridable, ", "))));
  }
  return {};
}

}  // namespace

Result<PreparedRequest> prepare_continuation(const ContinueExperiment& asked,
                                             const ClusterState& state) {
  const Experiment* experiment = state.experiments().find(asked.experiment);
  if (experiment == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no experiment {}", asked.experiment.value()),
                "see muster experiment list");
  }
  TRY(check_config_size(asked.overrides));
  const YamlDocument overrides = TRY(parse_yaml(asked.overrides));
  TRY(check_overrides(overrides.root));
  const Json before = TRY(read_stored(experiment->spec->config)).merged;
  // Sizes of what these two name are checked anew; other overrides leave a stored text as
  // acceptable as it was.
  const auto concerns_sizes = [&](std::string_view name) {
    return overrides.root.object() != nullptr && overrides.root.find(std::string(name)) != nullptr;
  };
  const bool is_as_stored = !concerns_sizes("hyperparameters") && !concerns_sizes("entrypoint");
  const ReadConfig read =
      TRY(read_config(overrides.root.is_null() ? before : merge_layers(overrides.root, before),
                      overrides.lines, is_as_stored));
  TRY(check(read.form));
  const ExperimentConfig& config = read.form.config;
  auto spec = std::make_shared<ExperimentSpec>(*experiment->spec);
  spec->config = TRY(stored_config(read.merged));
  spec->max_restarts = config.max_restarts;
  spec->preemption_timeout = config.preemption_timeout;
  spec->slots_per_trial = config.resources.slots_per_trial;
  spec->min_slots_per_trial = config.resources.min_slots_per_trial;
  spec->trial_length = config.trial_length;
  spec->entrypoint = entrypoint_line(config.entrypoint);
  if (!config.resources.resource_pool.empty()) {
    auto job = std::make_shared<JobSpec>(*spec->job);
    job->text.set(JobText::kPartition, config.resources.resource_pool);
    spec->job = std::move(job);
  }
  PreparedContinuation prepared;
  prepared.experiment = asked.experiment;
  prepared.hparams = TRY(new_hparams(overrides.root, *experiment->spec, config.hyperparameters));
  prepared.spec = std::move(spec);
  // Whether the experiment still is what was read here, says the core (check in continuation.cc).
  prepared.basis = experiment->spec_hash;
  prepared.is_single_node = config.resources.is_single_node;
  return PreparedRequest(std::move(prepared));
}

Status check_import(const ImportedExperiment& experiment) {
  if (experiment.spec == nullptr || experiment.spec->job == nullptr ||
      experiment.spec->imported_from.empty()) {
    return fail(ErrorCode::kInvalidArgument, "an imported experiment names where it comes from",
                "");
  }
  if (!is_final(experiment.state) || experiment.state >= ExperimentState::kDeleting) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("experiment {} has not ended there", experiment.spec->imported_from),
                "import it when it has");
  }
  return check_config_size(experiment.spec->config);
}

Status check_operations(const OperationsInput& input) {
  // Bounds of one request; a custom search sends further ones upon further events.
  constexpr std::size_t kMost = 10'000;
  constexpr std::size_t kRequestMax = 128;
  if (input.operations.size() > kMost) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} operations at once are too many", input.operations.size()),
                fmt::format("give {} or fewer upon each event", kMost));
  }
  for (const SearchOperation& one : input.operations) {
    if (one.request.size() > kRequestMax)
      return fail(ErrorCode::kInvalidArgument, "requestId: it is too long", "give a uuid");
    if (one.verb != SearchVerb::kCreate) {
      // Only creation brings hyperparameters and a source.
      if (one.hparams.empty() && one.source.empty()) continue;
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("trial {} has its hyperparameters from its creation", one.request),
                  "");
    }
    TRY(check_config_size(one.hparams));
    const auto hparams = parse_json(one.hparams);
    if (!hparams.has_value() || hparams->object() == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("hyperparams of trial {}: a JSON object is expected", one.request),
                  hparams.has_value() ? "" : hparams.error().text());
    }
    TRY(check_no_nul(*hparams, "hyperparams"));
    TRY(check_hparams_size("", *hparams));
  }
  return {};
}

Result<ExperimentConfig> config_of(const ExperimentSpec& spec) {
  ReadConfig read = TRY(read_stored(spec.config));
  TRY(check(read.form));
  return std::move(read.form.config);
}

}  // namespace muster
