// An experiment as its file describes it: what to train, how often, how far, with what, and what to
// keep. Field names and defaults are Determined 0.38's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/checkpoint.h"
#include "model/experiment.h"
#include "model/hyperparameter.h"
#include "model/json.h"
#include "model/log_policy.h"
#include "model/search_config.h"

namespace muster {

/// What a trial runs: a line for /bin/sh, or words to execute.
struct EntryPoint {
  std::vector<std::string> words;
  bool is_shell_line = false;
  friend bool operator==(const EntryPoint&, const EntryPoint&) = default;
};

struct TrialResources {
  std::uint32_t slots_per_trial =
      1;  ///< 0: no slot, only what the partition gives a task; of elastic trials the most
  std::uint32_t min_slots_per_trial = 0;  ///< of elastic trials the least; 0: slots are fixed
  std::optional<std::uint32_t> max_slots;
  double weight = 1;
  std::optional<std::uint32_t> priority;  ///< 1..99, less is more important
  std::string resource_pool;              ///< a partition; empty: the default one
  bool is_single_node = false;
  friend bool operator==(const TrialResources&, const TrialResources&) = default;
};

struct SharedFolderStorage {
  std::string host_path;
  std::string storage_path;  ///< below host_path; empty: host_path itself
  friend bool operator==(const SharedFolderStorage&, const SharedFolderStorage&) = default;
};
struct LocalFolderStorage {
  std::string container_path;
  friend bool operator==(const LocalFolderStorage&, const LocalFolderStorage&) = default;
};
struct S3Storage {
  std::string bucket;
  std::string access_key;
  std::string secret_key;
  std::string endpoint_url;
  std::string prefix;
  friend bool operator==(const S3Storage&, const S3Storage&) = default;
};
/// Where checkpoints are stored; nothing: in the cluster's own storage.
using CheckpointStorage =
    std::variant<std::monostate, SharedFolderStorage, LocalFolderStorage, S3Storage>;

struct Profiling {
  bool is_enabled = false;
  std::uint64_t begin_on_batch = 0;
  std::optional<std::uint64_t> end_after_batch;
  friend bool operator==(const Profiling&, const Profiling&) = default;
};

enum class CheckpointPolicy : std::uint8_t { kBest = 0, kAll = 1, kNone = 2 };

struct ExperimentConfig {
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  Visibility visibility = Visibility::kPrivate;  ///< who else may read it
  std::string workspace;
  std::string project;
  EntryPoint entrypoint;
  HyperSpace hyperparameters;
  SearchConfig search;
  std::uint64_t trial_length =
      0;  ///< units of training of a trial without rungs; 0: the script decides
  std::optional<std::uint64_t> source_trial_id;  ///< warm start
  std::string source_checkpoint_uuid;
  TrialResources resources;
  std::vector<std::string>
      environment_variables;  ///< NAME=VALUE, or NAME for the submitter's value
  CheckpointStorage checkpoint_storage;
  CheckpointRetention retention;
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::kBest;
  std::uint32_t max_restarts = 5;
  Duration preemption_timeout = Duration::seconds(3600);
  bool does_initial_validation = false;
  Profiling profiling;
  std::optional<std::uint32_t> experiment_seed;
  std::vector<LogPolicy> log_policies;
  ExperimentBudget budget;
  std::optional<std::int32_t> log_retention_days;  ///< -1: for ever; nothing: as the cluster says
  bool is_debugged = false;
  Json data;  ///< the script's own
  friend bool operator==(const ExperimentConfig&, const ExperimentConfig&) = default;
};

}  // namespace muster
