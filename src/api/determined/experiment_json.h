// Experiments in Determined's shape.
#pragma once

#include "api/http/api_port.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::api {

/// An experiment with its position in the catalog.
struct ExperimentDetails {
  ExperimentView view;
  std::uint32_t workspace = 1;
  std::uint32_t project = 1;
  bool is_parent_archived = false;  ///< its project, or the workspace of that
  std::string pool;                 ///< the partition that its trials run in
  std::uint64_t checkpoint_bytes =
      0;  ///< of all that are not deleted, and how many: only where a list is sorted by them
  std::uint64_t checkpoints = 0;
};

/// Returns the details of an experiment. Errors: kNotFound.
Result<ExperimentDetails> details_of(const ClusterState& state, ExperimentId id);
ExperimentDetails details_of(const ClusterState& state, const Experiment& experiment);

/// Returns the partition that was asked for, or else the default.
std::string pool_of(const ClusterState& state, const ExperimentSpec& spec);

/// Replies to a request for one experiment, or with the error. `warnings`: of its configuration,
/// for the client that creates it.
kj::Promise<HttpReply> show_experiment(ApiPort& port, const Caller& caller, ExperimentId id,
                                       std::vector<std::string> warnings = {});

/// Returns the experiment as JSON. `has_texts`: with its configuration.
Json experiment_json(const ExperimentDetails& details, bool has_texts);

}  // namespace muster::api
