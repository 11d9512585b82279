// The environment contract: what whoever starts a script tells it, in variables. Pure.
// python/README.md lists them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "muster/core.hpp"

namespace muster::core {

using Variables = std::map<std::string, std::string>;

/// The controller that runs this trial, and what this run is to it.
struct Controller {
  std::string host;
  int port = 80;
  std::string prefix;  ///< of every path: "" or "/somewhere"
  std::string url;     ///< all of that, for people
  std::string token;
  std::int64_t trial = 0;
  std::int64_t run = 0;
  std::string allocation;
  std::string task;
  std::optional<std::string> latest_checkpoint;
  double retry_timeout_s = 600;  ///< how long a request is repeated while nobody answers
};

struct Environment {
  Value hparams = Value::Map{};
  std::optional<std::string> resume_from;
  std::optional<std::filesystem::path> stop_file;
  std::optional<double> deadline;  ///< seconds since the epoch
  double deadline_margin_s = 60;
  int stop_signal = 0;
  std::optional<std::filesystem::path> run_dir;
  std::optional<std::int64_t> run_id;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> restart_count;
  std::optional<std::int64_t> job_id;
  std::optional<std::string> cluster_id;  ///< Muster's: job ids begin anew with each cluster
  std::optional<MaxLength> max_length;
  std::string searcher_metric;
  std::optional<std::filesystem::path> checkpoint_storage;
  std::optional<std::string> source_checkpoint;
  std::optional<Controller> controller;
};

/// Errors: std::invalid_argument that names the variable. An empty variable is one that is not set.
Environment read_environment(const Variables& variables);
/// A folder as people say it: its path, or Determined's checkpoint_storage as JSON. Errors:
/// std::invalid_argument; storage that is no folder is refused by name.
std::filesystem::path read_storage(const std::string& what, const std::string& text);
/// Errors: std::invalid_argument that names the variable.
Distributed read_placement(const Variables& variables);
/// Those of this process.
Variables own_variables();

}  // namespace muster::core
