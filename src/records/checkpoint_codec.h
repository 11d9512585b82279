// Checkpoint slices: part of the state at one sequence number, as bytes. See
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

struct BlobEntry {
  BlobId id;
  std::string digest;
  std::uint64_t size = 0;
  std::uint32_t references = 0;
};
struct AnswerEntry {
  RequestId id;
  UserId user;
  TimePoint time;
  std::vector<Reply> replies;
};
struct ClusterEntry {
  ClusterSettings settings;
  std::vector<PartitionConfig> partitions;
  Epoch epoch;
  JobId next_job;
  BlobId next_blob;
  TimePoint time;
  ExperimentId next_experiment = ExperimentId(1);
  TrialId next_trial = TrialId(1);
  std::vector<std::uint32_t> next_documents;  ///< by kind; of those beyond its end 1
  std::string cluster_id;
  std::uint32_t rules = 0;  ///< EpochStarted::rules
};

/// What one slice holds. Jobs, experiments and trials are borrowed when encoding and owned when
/// decoding.
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
/// Errors: kCorruption.
Result<Slice> decode_slice(std::string_view bytes);

}  // namespace muster::records
