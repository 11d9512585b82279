// What Determined's clients call the things that we have, and what a task of a trial finds to read:
// variables and files. Source: Determined 0.38, its harness.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/experiment.h"
#include "model/json.h"

namespace muster {

/// Returns "<experiment>.<uuid>": the uuid names the cluster and the trial. `cluster`: a uuid.
std::string task_name(std::string_view cluster, ExperimentId experiment, TrialId trial);
/// Returns "<task>.<run>", runs from 1.
std::string allocation_name(std::string_view cluster, ExperimentId experiment, TrialId trial,
                            std::uint32_t run);

/// One run of one trial.
struct TrialRun {
  TrialId trial;
  std::uint32_t run = 0;  ///< from 1; 0: a task's name says none
};
/// Reads a task's or an allocation's name. Nullopt: it is neither.
std::optional<TrialRun> parse_task_name(std::string_view name);

/// Returns two numbers in a uuid's form.
std::string uuid_text(std::uint64_t high, std::uint64_t low);

/// Where a run finds what it needs. Per node: `node_name`, `slots`, `node_rank`.
struct TrialLocation {
  std::string cluster;                ///< a uuid
  std::string master;                 ///< "http://host:port"
  std::string session_token;          ///< to speak for the run
  std::string user_token;             ///< to act as its owner
  std::string latest_checkpoint;      ///< uuid; empty: none
  std::uint64_t steps_completed = 0;  ///< of that
  std::string node_name;
  std::uint32_t node_rank = 0;
  std::vector<std::uint32_t>
      slots;  ///< numbers of this node's slots: its GPUs, else counted from 0
  std::vector<std::string> addresses;      ///< of all nodes, by rank
  std::vector<std::uint32_t> slot_counts;  ///< of all nodes, by rank
  std::vector<std::string> gpus;           ///< uuids of this node's
};

struct NamedText {
  std::string name;
  std::string text;
};

/// Returns the variables, each as NAME=VALUE.
std::vector<std::string> determined_variables(const Experiment& experiment, const Trial& trial,
                                              std::uint32_t run, const TrialLocation& place);
/// Returns the files below /run/determined by their absolute names.
std::vector<NamedText> determined_files(const Experiment& experiment, const Trial& trial,
                                        std::uint32_t run, const TrialLocation& place);

/// Returns the configuration as the harness reads it: its checkpoint_storage is whole, a shared
/// folder unless the user's is S3.
Json determined_config(const ExperimentSpec& spec);
/// Returns the folder on the host in which checkpoints of such scripts lie: tasks see it as
/// /determined_shared_fs.
std::string storage_folder(const ExperimentSpec& spec);

}  // namespace muster
