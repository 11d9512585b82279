// Checkpoints in Determined's shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "access/experiment_access.h"
#include "api/http/api_port.h"
#include "model/json.h"

namespace muster::api {

/// A checkpoint with what is shown beside it.
struct CheckpointFacts {
  Checkpoint checkpoint;
  ExperimentId experiment;
  ExperimentSpecRef spec;
  std::string hparams;
  access::Readers readers;
  std::optional<StoredReport> validation = {};  ///< of the same steps
};

Result<CheckpointFacts> facts_of(const ClusterState& state, const std::string& uuid);
CheckpointFacts facts_of(const ClusterState& state, const Checkpoint& checkpoint);
Status measure_checkpoint(MetricStore& store, CheckpointFacts& facts);
/// A metric of the validation at the checkpoint; nullopt: none was reported there, or no number.
std::optional<double> validation_metric(const CheckpointFacts& facts, const std::string& metric);
/// The searcher's.
std::optional<double> searcher_metric(const CheckpointFacts& facts);
Json checkpoint_json(const ApiPort& port, const CheckpointFacts& facts);

/// Sizes of its files as texts, as JSON has 64 bits; and its metadata, never empty.
Json resources_json(const Checkpoint& checkpoint);
Json metadata_json(const Checkpoint& checkpoint);

/// Takes away what the reader may not see: of others' experiments the configuration and the names
/// of files.
void show_to(const Identity& reader, CheckpointFacts& facts);
/// Measured ones, ready to be shown to the caller.
kj::Promise<Result<std::vector<CheckpointFacts>>> measured(ApiPort& port, const Caller& caller,
                                                           std::vector<CheckpointFacts> all);

}  // namespace muster::api
