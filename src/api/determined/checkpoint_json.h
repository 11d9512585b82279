// Checkpoints in Determined's shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "access/experiment_access.h"
#include "api/http/api_port.h"
#include "model/json.h"

namespace muster::api {

/// A checkpoint with the values that are shown beside it.
struct CheckpointDetails {
  Checkpoint checkpoint;
  ExperimentId experiment;
  ExperimentSpecRef spec;
  std::string hparams;
  access::Readers readers;
  std::optional<StoredReport> validation = {};  ///< of the same steps
};

Result<CheckpointDetails> details_of(const ClusterState& state, const std::string& uuid);
CheckpointDetails details_of(const ClusterState& state, const Checkpoint& checkpoint);
/// Adds the questions to the metric store about it; fill_in() reads their answers (measured.h).
void add_questions(const CheckpointDetails& details, std::vector<MetricQuestion>& questions);
void fill_in(CheckpointDetails& details, MetricAnswers& answers);
/// Returns a metric of the validation at the checkpoint; nullopt: none was reported there, or no
/// number.
std::optional<double> validation_metric(const CheckpointDetails& details,
                                        const std::string& metric);
/// Returns the searcher's metric.
std::optional<double> searcher_metric(const CheckpointDetails& details);
Json checkpoint_json(const ApiPort& port, const CheckpointDetails& details);

/// Returns the sizes of its files as texts, as JSON has 64 bits, and its metadata; never empty.
Json resources_json(const Checkpoint& checkpoint);
Json metadata_json(const Checkpoint& checkpoint);

/// Removes what the reader may not see: of others' experiments the configuration and the names of
/// files.
void show_to(const Identity& reader, CheckpointDetails& details);
/// Returns the checkpoints measured, ready to be shown to the caller.
kj::Promise<Result<std::vector<CheckpointDetails>>> measured(ApiPort& port, const Caller& caller,
                                                             std::vector<CheckpointDetails> all);

}  // namespace muster::api
