// Determined's harness reads its surroundings twice: DET_ variables for its shell scripts and
// launcher, JSON files below /run/determined/info for its Python package. Both are written from
// one TrialLocation, so that they agree.

#include "trials/determined_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/hash.h"
#include "text/json_text.h"
#include "text/yaml_text.h"
#include "trials/experiment_text.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

// The package has this path built in: each trial needs a mount namespace of its own.
constexpr std::string_view kFolder = "/run/determined";
/// Ports of a run are this many apart; two runs on one host have different ones as long as fewer
/// trials than places run there. None lies where Linux takes the ports of outgoing connections from
/// (32768 and up): one of those may have it when a rank wants to listen.
constexpr std::uint32_t kPortFirst = 28'000;
constexpr std::uint32_t kPortStep = 4;
constexpr std::uint32_t kPortSlots = 1000;
constexpr std::array<std::string_view, 5> kS3Settings{"bucket", "access_key", "secret_key",
                                                      "endpoint_url", "prefix"};

Json parsed(const std::string& text) {
  // A configuration or hyperparameters that cannot be read count as empty: the run starts, and its
  // script reports what it misses.
  Json json = stored_json(text);
  return json.object() != nullptr ? std::move(json) : Json(Json::Object{});
}

Json numbers(const std::vector<std::uint32_t>& values) {
  Json::Array out;
  for (const std::uint32_t value : values) out.emplace_back(value);
  return out;
}

Json texts(const std::vector<std::string>& values) {
  Json::Array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::string uuid_text(std::uint64_t high, std::uint64_t low) {
  // Version 4 and variant 8 stand where RFC 4122 has them, for clients that check a uuid's form.
  return fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, low >> 48 & 0xfff, low & 0xffffffffffffULL);
}

std::string task_name(std::string_view cluster, ExperimentId experiment, TrialId trial) {
  // The trial's number is the last group, so that a name can be read back; the rest is a hash of
  // the cluster, so that names of two clusters differ.
  const std::uint64_t place = Hasher().add(cluster).digest();
  return fmt::format("{}.{}", experiment.value(), uuid_text(place, place << 48 | trial.value()));
}

std::string allocation_name(std::string_view cluster, ExperimentId experiment, TrialId trial,
                            std::uint32_t run) {
  return fmt::format("{}.{}", task_name(cluster, experiment, trial), run);
}

std::optional<TrialRun> parse_task_name(std::string_view name) {
  // The experiment's number in front is not needed: trials are numbered over the whole cluster.
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return std::nullopt;
  std::string_view rest = name.substr(dot + 1);
  constexpr std::size_t kUuid = 36;
  constexpr std::size_t kTail = 24;  // where the last group begins
  if (rest.size() < kUuid) return std::nullopt;
  std::uint64_t trial = 0;
  const std::string_view tail = rest.substr(kTail, kUuid - kTail);
  // A client may send any text: digits must fill the group to its end.
  if (std::from_chars(tail.data(), tail.data() + tail.size(), trial, 16).ptr !=
      tail.data() + tail.size())
    return std::nullopt;
  // The group holds 48 bits, a trial's number 32.
  if (trial > UINT32_MAX) return std::nullopt;
  TrialRun run{TrialId(static_cast<std::uint32_t>(trial)), 0};
  rest.remove_prefix(kUuid);
  if (rest.empty()) return run;
  if (rest.front() != '.') return std::nullopt;
  rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), run.run);
  if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return run;
}

std::string storage_folder(const ExperimentSpec& spec) {
  const Json config = parsed(spec.config);
  const std::vector<std::string> path{"checkpoint_storage", "host_path"};
  // Otherwise the parent of the run folder, where Muster's own checkpoints lie.
  if (const Json* host = config.find(path); host != nullptr && host->text() != nullptr)
    return *host->text();
  return spec.run_folder.substr(0, spec.run_folder.rfind('/'));
}

Json determined_config(const ExperimentSpec& spec) {
  // The configuration was accepted: an empty one is the answer to a damaged store alone.
  Json config = config_with_seed(spec).value_or(Json(Json::Object{}));
  Json& storage = config.member("checkpoint_storage");
  // An explicit null counts as absent, as in a file.
  const auto kept = [&](std::string_view name, Json otherwise = Json()) {
    const Json* value = storage.find(name);
    if (value == nullptr || value->is_null()) return otherwise;
    return *value;
  };
  // host_path is a name on the host: the package itself writes to /determined_shared_fs, where
  // stepd binds that folder.
  Json whole = Json::Object{{"type", "shared_fs"},
                            {"host_path", storage_folder(spec)},
                            {"storage_path", kept("storage_path")},
                            {"propagation", "rprivate"}};
  if (kept("type") == Json("directory")) {
    whole = Json::Object{{"type", "directory"}, {"container_path", checkpoint_root(spec)}};
  }
  if (kept("type") == Json("s3")) {
    whole = Json::Object{{"type", "s3"}};
    for (const std::string_view name : kS3Settings) whole.member(name) = kept(name);
  }
  // 0, 1 and 1 are Determined's defaults.
  whole.member("save_experiment_best") = kept("save_experiment_best", 0);
  whole.member("save_trial_best") = kept("save_trial_best", 1);
  whole.member("save_trial_latest") = kept("save_trial_latest", 1);
  storage = std::move(whole);
  return config;
}

std::vector<std::string> determined_variables(const Experiment& experiment, const Trial& trial,
                                              std::uint32_t run, const TrialLocation& place) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view name, const auto& value) {
    out.push_back(fmt::format("{}={}", name, value));
  };
  // Two clusters may use one host, and each counts its trials from 1.
  const auto first_slot =
      static_cast<std::uint32_t>(Hasher().add(place.cluster).digest() % kPortSlots);
  const std::uint32_t ports = kPortFirst + (first_slot + trial.id.value()) % kPortSlots * kPortStep;
  add("DET_MASTER", place.master);
  add("DET_CLUSTER_ID", place.cluster);
  add("DET_AGENT_ID", place.node_name);
  // JSON, as Determined's prep_container parses it.
  add("DET_SLOT_IDS", json_text(numbers(place.slots)));
  add("DET_TASK_ID", task_name(place.cluster, experiment.id, trial.id));
  add("DET_ALLOCATION_ID", allocation_name(place.cluster, experiment.id, trial.id, run));
  add("DET_SESSION_TOKEN", place.session_token);
  add("DET_USER_TOKEN", place.user_token);
  add("DET_USER", experiment.spec->user_name);
  add("DET_TASK_TYPE", "TRIAL");
  add("DET_TRIAL_ID", trial.id.value());
  add("DET_EXPERIMENT_ID", experiment.id.value());
  add("DET_TRIAL_SEED", trial.seed);
  add("DET_TRIAL_RUN_ID", run);
  add("DET_HPARAMS", trial.hparams);
  add("DET_STEPS_COMPLETED", place.steps_completed);
  // An empty value would be read as the uuid of a checkpoint.
  if (!place.latest_checkpoint.empty()) add("DET_LATEST_CHECKPOINT", place.latest_checkpoint);
  // With slurm-job Determined's exec.launch ignores SIGTERM, and requires DET_RESOURCES_ID.
  add("DET_RESOURCES_TYPE", "slurm-job");
  add("DET_RESOURCES_ID", fmt::format("{}.{}", run, place.node_rank));
  add("DET_RUN_DIR", kFolder);
  add("DET_WORKDIR", fmt::format("{}/workdir", kFolder));
  // Determined's task-setup.sh installs its own wheel otherwise: the trial has the package of its
  // environment.
  add("DET_SKIP_PIP_INSTALL", 1);
  add("DET_SEGMENT_ENABLED", "false");
  // Determined's launcher fails where two trials on one host have the same.
  add("C10D_PORT", ports);
  add("INTER_TRAIN_PROCESS_COMM_PORT_1", ports + 1);
  add("INTER_TRAIN_PROCESS_COMM_PORT_2", ports + 2);
  add("DTRAIN_SSH_PORT", ports + 3);
  return out;
}

namespace {

/// As the trial's run finds it: of an elastic trial the slots that it has, which Determined's
/// package wants as a number.
Json own_config(const Experiment& experiment, const Trial& trial) {
  Json config = determined_config(*experiment.spec);
  if (experiment.spec->is_elastic())
    config.member("resources").member("slots_per_trial") = slots_of(trial, *experiment.spec);
  return config;
}

}  // namespace

std::vector<NamedText> determined_files(const Experiment& experiment, const Trial& trial,
                                        std::uint32_t run, const TrialLocation& place) {
  // Determined's package passes each file's members as keyword arguments, and those of
  // checkpoint_storage too: an unknown key is a TypeError.
  const Json cluster =
      Json::Object{{"master_url", place.master},
                   {"cluster_id", place.cluster},
                   {"agent_id", place.node_name},
                   {"slot_ids", numbers(place.slots)},
                   {"task_id", task_name(place.cluster, experiment.id, trial.id)},
                   {"allocation_id", allocation_name(place.cluster, experiment.id, trial.id, run)},
                   {"session_token", place.session_token},
                   {"task_type", "TRIAL"},
                   {"master_cert_name", Json()},
                   {"master_cert_file", Json()},
                   {"latest_checkpoint", text_or_null(place.latest_checkpoint)}};
  const Json training = Json::Object{{"trial_id", trial.id.value()},
                                     {"experiment_id", experiment.id.value()},
                                     {"trial_seed", trial.seed},
                                     {"hparams", parsed(trial.hparams)},
                                     {"config", own_config(experiment, trial)},
                                     {"steps_completed", place.steps_completed},
                                     {"trial_run_id", run},
                                     {"debug", false},
                                     {"inter_node_network_interface", Json()}};
  // In the order of ranks: the launcher's chief is the first address.
  const Json rendezvous = Json::Object{{"container_addrs", texts(place.addresses)},
                                       {"container_rank", place.node_rank},
                                       {"container_slot_counts", numbers(place.slot_counts)}};
  const Json resources = Json::Object{{"gpu_uuids", texts(place.gpus)}};
  const auto path = [](std::string_view name) {
    return fmt::format("{}/info/{}.json", kFolder, name);
  };
  return {{path("cluster"), json_text(cluster)},
          {path("trial"), json_text(training)},
          {path("rendezvous"), json_text(rendezvous)},
          {path("resources"), json_text(resources)}};
}

}  // namespace muster
