// Reads the sections in an order in which each finds what it depends on: slots come before
// variables, hyperparameters before the searcher. Every section marks what it has read, and
// finish() refuses the rest, so that a misspelt field cannot be lost.

#include "trials/experiment_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/user_pattern.h"
#include "text/words.h"
#include "trials/hyperparameter_form.h"
#include "trials/metric_direction.h"
#include "trials/output_metrics.h"
#include "trials/searcher_form.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

/// Each is another look at every line.
constexpr std::size_t kLogPoliciesMax = 32;
constexpr std::string_view kNoCgroups = "trials run without containers; take it out";

/// True for what a file may say without asking for anything: null, false, 0, empty.
/// A configuration that was printed with all its defaults must be accepted again.
bool asks_for_nothing(const Json& value) {
  if (const bool* flag = value.boolean()) return !*flag;
  if (const auto number = value.number()) return *number == 0;
  if (const std::string* text = value.text()) return text->empty();
  if (const auto* items = value.array()) return items->empty();
  if (const auto* members = value.object()) return members->empty();
  return true;
}

/// Refuses a field by name when it asks for something; its default, written out, asks for nothing.
void refuse_field(FormReader& reader, std::string_view name, std::string_view why,
                  const Json& usual = {}) {
  const Json* value = reader.field(name);
  if (value != nullptr && !asks_for_nothing(*value) && *value != usual)
    reader.refuse(name, std::string(why));
}

/// A list of texts; a single text counts as a list of one where that is allowed.
void read_texts(FormReader& reader, std::string_view name, std::vector<std::string>& out) {
  const Json* value = reader.field(name);
  if (value == nullptr) return;
  if (value->array() == nullptr)
    return reader.refuse(name, fmt::format("{} is not a list of texts", shown_value(*value)));
  // A label such as 2024 is a number to YAML, hence the advice to quote.
  for (const Json& item : *value->array()) {
    if (item.text() == nullptr)
      return reader.refuse(name,
                           fmt::format("{} is not a text; put it in quotes", shown_value(item)));
    out.push_back(*item.text());
  }
}

void read_entrypoint(FormReader& top, EntryPoint& out) {
  if (!top.require("entrypoint", "the command that trains, such as python3 train.py")) return;
  const Json* value = top.field("entrypoint");
  // Determined's two forms: a text is a line for the shell, a list is quoted word by word.
  out.is_shell_line = value->text() != nullptr;
  if (out.is_shell_line) {
    out.words = {*value->text()};
  } else if (value->array() != nullptr) {
    read_texts(top, "entrypoint", out.words);
  } else {
    return top.refuse("entrypoint", fmt::format("{} is no command; give a text, or a list of words",
                                                shown_value(*value)));
  }
  if (out.words.empty() || out.words[0].empty())
    top.refuse("entrypoint", "it is empty; give the command that trains");
  // The command is handed to the shell in a variable, which ends at NUL.
  const auto has_nul = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  if (std::ranges::any_of(out.words, has_nul))
    top.refuse("entrypoint", "a command cannot hold a NUL character");
}

/// A number, or {min, max} for a trial that may be resized between its runs.
void read_slots(FormReader& reader, TrialResources& out) {
  if (!reader.has("slots_per_trial") || reader.field("slots_per_trial")->object() == nullptr) {
    // 0 is allowed: such a trial runs on CPUs alone.
    reader.whole("slots_per_trial", out.slots_per_trial, 0);
    return;
  }
  FormReader range = reader.section("slots_per_trial");
  if (range.require("min", "the fewest slots that a trial runs on"))
    range.whole("min", out.min_slots_per_trial, 1);
  if (range.require("max", "the most slots that a trial runs on"))
    range.whole("max", out.slots_per_trial, 1);
  if (out.slots_per_trial < out.min_slots_per_trial)
    range.refuse("min", fmt::format("{} are more than max {}", out.min_slots_per_trial,
                                    out.slots_per_trial));
  // Equal bounds describe a trial that is not elastic.
  if (out.slots_per_trial == out.min_slots_per_trial) out.min_slots_per_trial = 0;
  range.finish();
}

void read_resources(FormReader& top, TrialResources& out) {
  FormReader reader = top.section("resources");
  read_slots(reader, out);
  std::uint32_t max_slots = 0;
  // Read into a local first, since 0 stands for "not given" there.
  reader.whole("max_slots", max_slots, 1);
  if (max_slots > 0) out.max_slots = max_slots;
  reader.number("weight", out.weight, 1e-6, 1e6);
  std::uint32_t priority = 0;
  // Determined's scale: the lower number is the more important one.
  reader.whole("priority", priority, 1, 99);
  if (priority > 0) out.priority = priority;
  reader.text("resource_pool", out.resource_pool);
  reader.flag("is_single_node", out.is_single_node);
  // Without containers a trial has all of the node's shared memory.
  if (const Json* size = reader.field("shm_size");
      size != nullptr && !size->number() && size->text() == nullptr) {
    reader.refuse("shm_size", fmt::format("{} is not a size; give bytes, or a text such as 16g",
                                          shown_value(*size)));
  }
  refuse_field(reader, "devices", kNoCgroups);
  refuse_field(reader, "native_parallel", "it was of use to Horovod alone; take it out");
  refuse_field(reader, "slots", "it means nothing to an experiment; give slots_per_trial");
  refuse_field(reader, "agent_label",
               "labels of agents were dropped; give resource_pool, a partition");
  if (out.max_slots && *out.max_slots < out.slots_per_trial) {
    reader.refuse("max_slots", fmt::format("{} are fewer than one trial's {}; nothing could run",
                                           *out.max_slots, out.slots_per_trial));
  }
  reader.finish();
}

/// A list, or a map from kinds of slots to lists: ours are then those for GPUs where the trial has
/// slots, else those for CPUs.
void read_variables(FormReader& environment, bool has_slots, std::vector<std::string>& out) {
  const Json* value = environment.field("environment_variables");
  if (value == nullptr) return;
  if (value->object() == nullptr) {
    read_texts(environment, "environment_variables", out);
  } else {
    FormReader kinds = environment.section("environment_variables");
    std::vector<std::string> gpu;
    std::vector<std::string> cpu;
    read_texts(kinds, "cuda", gpu);
    read_texts(kinds, "rocm", gpu);
    read_texts(kinds, "cpu", cpu);
    kinds.finish();
    out = has_slots ? gpu : cpu;
  }
  for (const std::string& variable : out) {
    if (variable.empty() || variable.front() == '=') {
      environment.refuse("environment_variables",
                         fmt::format("\"{}\" names no variable; write NAME=VALUE", variable));
    }
  }
  // A mistake is found here and not in the trial's runs.
  const auto wish = output_metrics_wish(out);
  if (wish && *wish != "0" && *wish != "1") {
    environment.refuse("environment_variables",
                       fmt::format("{}={} is neither 0 nor 1", kOutputMetricsVariable, *wish));
  }
}

void read_environment(FormReader& top, ExperimentConfig& out) {
  FormReader reader = top.section("environment");
  read_variables(reader, out.resources.slots_per_trial > 0, out.environment_variables);
  for (const std::string_view name : {"image", "force_pull_image", "registry_auth",
                                      "add_capabilities", "drop_capabilities", "pod_spec"}) {
    refuse_field(reader, name, kNoCgroups);
  }
  refuse_field(reader, "ports", "ports of trials are not forwarded yet; take it out");
  refuse_field(reader, "proxy_ports", "ports of trials are not forwarded yet; take it out");
  reader.finish();
}

SharedFolderStorage read_shared_folder(FormReader& reader) {
  SharedFolderStorage storage;
  if (reader.require("host_path", "the shared folder")) reader.text("host_path", storage.host_path);
  reader.text("storage_path", storage.storage_path);
  reader.field("propagation");  // of a mount into a container
  if (!storage.host_path.empty() && storage.host_path.front() != '/') {
    reader.refuse("host_path",
                  fmt::format("\"{}\" is not absolute; begin it with /", storage.host_path));
  }
  const auto parts = split(storage.storage_path, '/');
  const bool is_above = std::ranges::find(parts, "..") != parts.end();
  const bool is_below = storage.storage_path == storage.host_path ||
                        storage.storage_path.starts_with(storage.host_path + "/");
  if (is_above || (storage.storage_path.starts_with('/') && !is_below))
    reader.refuse("storage_path", "it leads out of host_path; give a folder below it");
  return storage;
}

/// Without containers a path in one is the node's own.
LocalFolderStorage read_local_folder(FormReader& reader) {
  LocalFolderStorage storage;
  if (reader.require("container_path", "the folder, the same on all nodes"))
    reader.text("container_path", storage.container_path);
  const std::string& path = storage.container_path;
  const auto parts = split(path, '/');
  if (!path.empty() && (path.front() != '/' || path.find_first_not_of('/') == path.npos)) {
    reader.refuse("container_path", fmt::format("\"{}\" is no folder's absolute path; trials run "
                                                "without containers: give one of the nodes'",
                                                path));
  }
  if (std::ranges::find(parts, "..") != parts.end())
    reader.refuse("container_path", "it holds \"..\"; name the folder itself");
  return storage;
}

S3Storage read_s3(FormReader& reader) {
  S3Storage storage;
  if (reader.require("bucket", "the bucket's name")) reader.text("bucket", storage.bucket);
  reader.text("access_key", storage.access_key);
  reader.text("secret_key", storage.secret_key);
  reader.text("endpoint_url", storage.endpoint_url);
  reader.text("prefix", storage.prefix);
  if (storage.access_key.empty() != storage.secret_key.empty()) {
    reader.refuse("", "access_key and secret_key belong together; give both or neither");
  }
  const auto parts = split(storage.prefix, '/');
  if (std::ranges::find(parts, "..") != parts.end())
    reader.refuse("prefix", "it holds \"..\"; name the folder itself");
  const bool is_url =
      storage.endpoint_url.starts_with("http://") || storage.endpoint_url.starts_with("https://");
  if (!storage.endpoint_url.empty() && !is_url) {
    reader.refuse("endpoint_url", fmt::format("\"{}\" is no URL; begin it with http:// or https://",
                                              storage.endpoint_url));
  }
  return storage;
}

void read_checkpoint_storage(FormReader& top, ExperimentConfig& out) {
  constexpr std::array<std::string_view, 5> kTypes{"shared_fs", "directory", "s3", "gcs", "azure"};
  FormReader reader = top.section("checkpoint_storage");
  reader.whole("save_experiment_best", out.retention.experiment_best, 0);
  reader.whole("save_trial_best", out.retention.trial_best, 0);
  reader.whole("save_trial_latest", out.retention.trial_latest, 0);
  const auto type = reader.choice("type", kTypes);
  if (type == 0U) out.checkpoint_storage = read_shared_folder(reader);
  if (type == 1U) {
    out.checkpoint_storage = read_local_folder(reader);
  }
  if (type == 2U) out.checkpoint_storage = read_s3(reader);
  if (type == 3U || type == 4U) {
    // Returns before finish(): the fields of such a storage would each be refused as unknown too.
    return reader.refuse(
        "type", fmt::format("storage of type {} is not there yet; use shared_fs, directory or s3",
                            kTypes[*type]));
  }
  if (!type && !reader.has("type")) {
    for (const std::string_view name :
         {"host_path", "storage_path", "container_path", "bucket", "endpoint_url", "prefix"}) {
      refuse_field(reader, name, "of which storage? give 'type': shared_fs, directory or s3");
    }
  }
  // Where the type is wrong, the fields of the storage that was meant would be refused as unknown.
  if (type || !reader.has("type")) reader.finish();
}

/// Ours: Determined has no budgets.
void read_budget(FormReader& top, ExperimentBudget& out) {
  // A million hours in microseconds is 3.6e15, far inside 63 bits.
  constexpr double kMost = 1e6;
  FormReader reader = top.section("budget");
  double gpu_hours = 0;
  double wall_hours = 0;
  reader.number("gpu_hours", gpu_hours, 1e-6, kMost);
  reader.number("wall_hours", wall_hours, 1e-6, kMost);
  constexpr double kMicroseconds = 3600e6;
  out.slot_time = Duration::microseconds(static_cast<std::int64_t>(gpu_hours * kMicroseconds));
  out.wall_time = Duration::microseconds(static_cast<std::int64_t>(wall_hours * kMicroseconds));
  reader.finish();
}

// Source: Determined 0.38, log_policies; patterns are RE2 there.
void read_log_policies(FormReader& top, std::vector<LogPolicy>& out) {
  constexpr std::array<std::string_view, 2> kActions{"cancel_retries", "exclude_node"};
  const Json* value = top.field("log_policies");
  if (value == nullptr) return;
  if (value->array() == nullptr)
    return top.refuse("log_policies", fmt::format("{} is not a list", shown_value(*value)));
  for (std::size_t i = 0; i < value->array()->size(); ++i) {
    FormReader reader(top.context(), &(*value->array())[i], fmt::format("log_policies.{}", i));
    LogPolicy policy;
    reader.text("name", policy.name);
    reader.text("pattern", policy.pattern);
    // An action is a word, or a map with the word as its type.
    if (const Json* action = reader.field("action");
        action != nullptr && action->object() != nullptr) {
      FormReader inner = reader.section("action");
      // 0 is kLabel, the policy without an action.
      if (const auto place = inner.choice("type", kActions))
        policy.action = static_cast<LogAction>(*place + 1);
      inner.finish();
    } else if (const auto place = reader.choice("action", kActions)) {
      policy.action = static_cast<LogAction>(*place + 1);
    }
    // The pattern is compiled once here, so that the user hears of it and not the node.
    if (const Status usable = check_pattern(policy.pattern); !usable.has_value())
      reader.refuse("pattern", usable.error().text());
    // A name alone is allowed: it switches a default off.
    if (policy.name.empty() && policy.pattern.empty())
      reader.refuse("", "neither a name nor a pattern; give the pattern to look for");
    reader.finish();
    out.push_back(std::move(policy));
  }
  if (out.size() > kLogPoliciesMax) {
    top.refuse("log_policies", fmt::format("{} are too many; at most {}: join patterns with |",
                                           out.size(), kLogPoliciesMax));
  }
}

void read_profiling(FormReader& top, Profiling& out) {
  FormReader reader = top.section("profiling");
  reader.flag("enabled", out.is_enabled);
  reader.whole("begin_on_batch", out.begin_on_batch, 0);
  std::uint64_t end = 0;
  if (reader.has("end_after_batch")) {
    reader.whole("end_after_batch", end, 0);
    out.end_after_batch = end;
  }
  // Marks the field as known also where it is null, which has() counts as left out.
  reader.field("end_after_batch");
  bool is_synchronized = true;  // the form warns of it
  reader.flag("sync_timings", is_synchronized);
  reader.finish();
}

void read_seed_and_retention(FormReader& top, ExperimentConfig& out) {
  FormReader reproducibility = top.section("reproducibility");
  if (reproducibility.has("experiment_seed"))
    reproducibility.whole("experiment_seed", out.experiment_seed.emplace(0), 0, INT32_MAX);
  reproducibility.field("experiment_seed");
  if (reproducibility.has("trial_seed"))
    reproducibility.whole("trial_seed", out.search.trial_seed.emplace(0), 0, INT32_MAX);
  reproducibility.field("trial_seed");
  reproducibility.finish();
  FormReader retention = top.section("retention_policy");
  // Both ends are Determined's; -1 keeps logs for ever.
  if (retention.has("log_retention_days"))
    retention.whole("log_retention_days", out.log_retention_days.emplace(-1), -1, 32767);
  retention.field("log_retention_days");
  retention.finish();
}

/// Fields that stand for nothing any more or for what is not there: each asks for nothing, or is
/// refused with the way out.
void read_the_rest(FormReader& top) {
  struct Row {
    std::string_view name;
    std::string_view why;
  };
  constexpr std::array kRows{
      Row{"bind_mounts", kNoCgroups},
      Row{"slurm", "trials are jobs here: give resources and a resource_pool instead"},
      Row{"pbs", "trials are jobs here: give resources and a resource_pool instead"},
      Row{"integrations", "it is not there yet; take it out"},
      Row{"tensorboard_storage", "it was dropped; event files lie beside the checkpoints"},
      Row{"security", "it was dropped; trials run as who submits them"},
      Row{"data_layer", "it was dropped; read data in the script"},
      Row{"internal", "it was never for users; take it out"},
      Row{"records_per_epoch", "it was dropped with the old Trainer; count epochs in the script"},
  };
  for (const Row& row : kRows) refuse_field(top, row.name, row.why);
  refuse_field(top, "scheduling_unit",
               "it was dropped with the old Trainer; give periods to the Trainer", 100);
  const std::array<Json::Member, 9> usual{{{"aggregation_frequency", 1},
                                           {"average_aggregated_gradients", true},
                                           {"average_training_metrics", true},
                                           {"gradient_compression", false},
                                           {"grad_updates_size_file", {}},
                                           {"mixed_precision", "O0"},
                                           {"tensor_fusion_threshold", 64},
                                           {"tensor_fusion_cycle_time", 1},
                                           {"auto_tune_tensor_fusion", false}}};
  FormReader optimizations = top.section("optimizations");
  for (const Json::Member& field : usual) {
    refuse_field(optimizations, field.name,
                 "it was of use to Horovod alone; give the Trainer these settings", field.value);
  }
  optimizations.finish();
  for (const std::string_view name : {"min_validation_period", "min_checkpoint_period"}) {
    // Both sections stand in experiment_defaults() with zero batches, as in Determined's own.
    FormReader period = top.section(name);
    for (const std::string_view unit : {"batches", "records", "epochs"}) {
      refuse_field(period, unit,
                   "periods are given to the Trainer now: Trainer.fit(validation_period=..., "
                   "checkpoint_period=...)");
    }
    period.finish();
  }
}

void read_names(FormReader& top, ExperimentConfig& out) {
  top.text("name", out.name);
  top.text("description", out.description);
  read_texts(top, "labels", out.labels);
  top.text("workspace", out.workspace);
  top.text("project", out.project);
  std::string visibility(kVisibilityNames.front());
  top.text("visibility", visibility);
  const auto named = visibility_named(visibility);
  if (!named)
    top.refuse("visibility", fmt::format("'{}' is none of private, project, cluster", visibility));
  out.visibility = named.value_or(Visibility::kPrivate);
  if (out.workspace.empty() != out.project.empty())
    top.refuse("", "workspace and project belong together; give both or neither");
}

void read_search(FormReader& top, ExperimentConfig& out) {
  FormReader hyperparameters = top.section("hyperparameters");
  out.hyperparameters = read_hyperparameters(hyperparameters);
  if (!top.require("searcher",
                   "the search method and its settings, such as {name: single, metric: loss}"))
    return;
  // The reader of the hyperparameters is passed on for messages: a grid finds its faults there.
  FormReader section = top.section("searcher");
  SearcherSection searcher = read_searcher(section, out.hyperparameters, hyperparameters);
  out.search = std::move(searcher.search);
  out.trial_length = searcher.trial_length;
  out.source_trial_id = searcher.source_trial_id;
  out.source_checkpoint_uuid = std::move(searcher.source_checkpoint_uuid);
}

/// As search/hyperband.h has its brackets.
std::uint64_t hyperband_trials(const Hyperband& config) {
  std::uint64_t brackets = 1;
  // Stops at the last power that max_time holds: with s from 0 there are floor(log_d max_time) + 1
  // brackets. Source: Li et al., JMLR 18, 2018, algorithm 1.
  for (std::uint64_t power = config.divisor; power <= config.max_time; power *= config.divisor)
    ++brackets;
  std::uint64_t trials = 0;
  std::uint64_t power = 1;
  // ceil(brackets / (s + 1) · d^s), in whole numbers.
  for (std::uint64_t s = 0; s < brackets; ++s, power *= config.divisor)
    trials += (brackets * power + s) / (s + 1);
  return trials;
}

/// The first, and after each round copies of the best for as many of the worst.
std::uint64_t population_trials(const PopulationTraining& config) {
  const double copies = std::ceil(config.truncate_fraction * config.population_size);
  return config.population_size + static_cast<std::uint64_t>(copies) * config.num_rounds;
}

/// At most; 1 where that is not known beforehand: a custom search says it as it goes.
std::uint64_t trial_count(const SearchMethodConfig& method, const HyperSpace& space) {
  if (std::holds_alternative<GridSearch>(method)) {
    // In doubles, since a product of counts may be beyond 64 bits.
    double points = 1;
    for (const Hyperparameter& one : space) points *= points_of(one.domain);
    return static_cast<std::uint64_t>(points);
  }
  if (const auto* hyperband = std::get_if<Hyperband>(&method)) return hyperband_trials(*hyperband);
  return std::visit(
      [](const auto& search) -> std::uint64_t {
        if constexpr (requires { search.max_trials; }) return search.max_trials;
        if constexpr (requires { search.population_size; }) return population_trials(search);
        return 1;
      },
      method);
}

/// Each trial's are kept in memory for as long as the experiment is.
Status check_hparams_together(const ExperimentConfig& config, const Json& longest) {
  constexpr std::uint64_t kMost = std::uint64_t{128} << 20;
  const std::uint64_t trials = trial_count(config.search.method, config.hyperparameters);
  const std::uint64_t bytes = json_text(longest).size();
  // Both factors are bounded by now, 100 000 trials of 128 KiB: their product fits.
  if (trials * bytes <= kMost) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} trials with {} bytes each are more than {} MiB in all", trials, bytes,
                          kMost >> 20),
              "keep what is large in a file beside the code");
}

/// Of what is new: what is stored goes on as it was.
void check_hparams_sizes(FormReader& top, const ExperimentConfig& config) {
  constexpr std::size_t kNamesMax = 2'000;
  if (config.hyperparameters.size() > kNamesMax) {
    return top.refuse(
        "hyperparameters",
        fmt::format(
            "{} are more than the {} that a trial may have; keep them in a file beside the code",
            config.hyperparameters.size(), kNamesMax));
  }
  const std::string entrypoint = entrypoint_line(config.entrypoint);
  Status all;
  for (const Json& longest : longest_hparams(config.hyperparameters, entrypoint)) {
    if (all.has_value()) all = check_hparams_size(entrypoint, longest);
    if (all.has_value()) all = check_hparams_together(config, longest);
  }
  if (!all.has_value()) top.refuse("hyperparameters", all.error().text());
}

/// Only where the hyperparameters themselves are right.
void check_hparams_of(FormReader& top, const ExperimentConfig& config) {
  for (const std::string& name :
       unknown_hparams(entrypoint_line(config.entrypoint), config.hyperparameters)) {
    top.refuse("entrypoint",
               fmt::format("{{{{hp.{}}}}} is no hyperparameter; see 'hyperparameters'", name));
  }
}

}  // namespace

ExperimentForm read_experiment(const Json& merged, const LineMap& lines, bool is_stored) {
  // In the order of CheckpointPolicy.
  constexpr std::array<std::string_view, 3> kPolicies{"best", "all", "none"};
  ExperimentForm form;
  FormContext context{lines, {}};
  FormReader top(context, &merged, "");
  ExperimentConfig& config = form.config;
  read_names(top, config);
  read_entrypoint(top, config.entrypoint);
  read_search(top, config);
  read_resources(top, config.resources);
  read_environment(top, config);
  read_checkpoint_storage(top, config);
  if (const auto policy = top.choice("checkpoint_policy", kPolicies))
    config.checkpoint_policy = static_cast<CheckpointPolicy>(*policy);
  top.whole("max_restarts", config.max_restarts, 0);
  std::uint32_t seconds = 3600;
  top.whole("preemption_timeout", seconds, 1, INT32_MAX);
  config.preemption_timeout = Duration::seconds(seconds);
  top.flag("perform_initial_validation", config.does_initial_validation);
  read_profiling(top, config.profiling);
  read_seed_and_retention(top, config);
  read_log_policies(top, config.log_policies);
  read_budget(top, config.budget);
  top.flag("debug", config.is_debugged);
  // `data` is the user's own: it is passed on unread.
  if (const Json* data = top.field("data")) config.data = *data;
  read_the_rest(top);
  top.finish();
  if (context.problems.empty()) check_hparams_of(top, config);
  if (context.problems.empty() && !is_stored) check_hparams_sizes(top, config);
  form.problems = std::move(context.problems);
  // The lines are those of the user's own file: the default in experiment_defaults() raises no
  // warning.
  if (const auto line = lines.find("profiling.sync_timings"); line != lines.end()) {
    form.warnings.push_back({"profiling.sync_timings",
                             "it changes nothing: no timings of batches are taken. Leave it out",
                             line->second});
  }
  if (std::string doubt = direction_warning(config.search.metric, config.search.smaller_is_better);
      !doubt.empty()) {
    const auto line = lines.find("searcher.metric");
    form.warnings.push_back(
        {"searcher.metric", std::move(doubt), line == lines.end() ? 0 : line->second});
  }
  return form;
}

Status check_config_size(std::string_view config) {
  constexpr std::size_t kMost = std::size_t{256} << 10;
  if (config.size() <= kMost) return {};
  return fail(ErrorCode::kInvalidArgument, "The experiment's configuration is wrong",
              fmt::format("it has more than {} KiB; keep what is large in a file beside the code",
                          kMost >> 10));
}

std::uint32_t trials_at_once(std::int64_t slots, const ExperimentSpec& spec) {
  // Determined's default of max_concurrent_trials.
  constexpr std::int64_t kUsual = 16;
  const auto config = parse_json(spec.config);
  const std::vector<std::string> path{"searcher", "max_concurrent_trials"};
  const Json* found = config.has_value() ? config->find(path) : nullptr;
  const std::int64_t configured =
      found == nullptr || found->whole() == nullptr ? kUsual : *found->whole();
  const std::int64_t possible =
      std::max<std::int64_t>(1, slots / std::max<std::int64_t>(1, spec.slots_per_trial));
  // 0 means as many as the slots allow.
  return static_cast<std::uint32_t>(configured == 0 ? possible : std::min(configured, possible));
}

}  // namespace muster
