// Checkpoint slices as bytes. A checkpoint is the state at one sequence number, cut into slices so
// that none is large; restored in their order they make that state again (engine/recovery.h). See
// docs/internals/journal.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/catalog.h"
#include "model/checkpoint.h"
#include "model/cluster_config.h"
#include "model/job.h"
#include "model/request.h"

namespace muster::records {

/// A blob of the state, as in state/blob_table.h.
struct BlobEntry {
  BlobId id;
  std::string digest;
  std::uint64_t size = 0;
  std::uint32_t references = 0;
};
/// An answer of the state, as in state/answer_table.h.
struct AnswerEntry {
  RequestId id;
  UserId user;
  TimePoint time;
  std::vector<Reply> replies;
};
/// What the state has beside its tables.
struct ClusterEntry {
  ClusterSettings settings;
  std::vector<PartitionConfig> partitions;
  Epoch epoch;
  JobId next_job;
  BlobId next_blob;
  TimePoint time;
  ExperimentId next_experiment = ExperimentId(1);
  TrialId next_trial = TrialId(1);
  std::vector<std::uint32_t> next_documents;  ///< by kind; 1 for kinds beyond its end
  std::string cluster_id;
  std::uint32_t rules = 0;  ///< EpochStarted::rules
};

/// What one slice holds; any part may be empty. Jobs, experiments and trials are borrowed when
/// encoding (Requires: none is null; Lifetime: until encode_slice returns) and owned when decoding.
/// The hashes that objects store of their parts are not recorded: whoever restores computes them.
struct SliceToWrite {
  std::optional<ClusterEntry> cluster;
  std::vector<std::pair<NodeConfig, NodeStatus>> nodes;
  std::vector<BlobEntry> blobs;
  std::vector<const Experiment*> experiments;
  std::vector<const Trial*> trials;
  std::vector<const Job*> jobs;
  std::vector<CheckpointRef> checkpoints;
  std::vector<DocumentRef> documents;
  std::vector<Collection> collections;
  std::vector<AnswerEntry> answers;
};
struct Slice {
  std::optional<ClusterEntry> cluster;
  std::vector<std::pair<NodeConfig, NodeStatus>> nodes;
  std::vector<BlobEntry> blobs;
  std::vector<Experiment> experiments;
  std::vector<Trial> trials;
  std::vector<Job> jobs;
  std::vector<CheckpointRef> checkpoints;
  std::vector<DocumentRef> documents;
  std::vector<Collection> collections;
  std::vector<AnswerEntry> answers;
};

std::string encode_slice(const SliceToWrite& slice);
/// Returns the slice. Errors: kCorruption when the bytes are no slice, or one of a newer version.
Result<Slice> decode_slice(std::string_view bytes);

}  // namespace muster::records
