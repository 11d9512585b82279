// The whole state of a cluster: a function of the journal's batches, equal in every replica that
// applied the same.
//
// `apply` is pure: it reads no clock, does no I/O, draws no chance and takes no decision. What it
// finds impossible (an unknown id, a CPU given twice) is a bug of whoever made the event, and stops
// the process before it spreads.
#pragma once

#include "model/event.h"
#include "state/answer_table.h"
#include "state/blob_table.h"
#include "state/catalog.h"
#include "state/checkpoint_table.h"
#include "state/experiment_table.h"
#include "state/job_table.h"
#include "state/node_table.h"

namespace muster {

/// Told about facts that leave or are about to leave the state: how history is filled. Called
/// inside `apply`.
class ApplyObserver {
 public:
  virtual ~ApplyObserver() = default;
  /// A job came in, started, or changed in what history shows of it before its end.
  virtual void attempt_ended(const Job& job, TimePoint now) = 0;
  virtual void step_ended(const Job& job, const StepState& step, TimePoint now) = 0;
};

class ClusterState {
 public:
  ClusterState();
  ~ClusterState();
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  /// Applies the next batch. Requires: batch.seq follows seq(). The observer may be null.
  void apply(const EventBatch& batch, ApplyObserver* observer = nullptr);
  /// Applies one event of a batch that is being put together: `seal` then closes it.
  void apply(const Event& event, ApplyObserver* observer = nullptr);
  void add_blob(const BlobWrite& blob);
  /// Closes a batch: its number becomes seq(); returns the blobs that nothing names any more.
  std::vector<BlobId> seal(Seq seq);

  const JobTable& jobs() const { return jobs_; }
  const NodeTable& nodes() const { return nodes_; }
  const std::vector<PartitionConfig>& partitions() const { return partitions_; }
  std::optional<PartitionIndex> find_partition(std::string_view name) const;
  const PartitionConfig& partition(PartitionIndex index) const;
  const ClusterSettings& settings() const { return settings_; }
  const BlobTable& blobs() const { return blobs_; }
  void do_not_share(BlobId id) { blobs_.do_not_share(id); }
  const AnswerTable& answers() const { return answers_; }
  const ExperimentTable& experiments() const { return experiments_; }
  const CheckpointTable& checkpoints() const { return checkpoints_; }
  const Catalog& catalog() const { return catalog_; }
  Epoch epoch() const { return epoch_; }
  /// What tells this cluster's state from every other's. Empty: it has not been started by a
  /// version that gives it one.
  const std::string& cluster_id() const { return cluster_id_; }
  /// By which events are applied: EpochStarted::rules of the last one.
  std::uint32_t rules() const { return rules_; }
  Seq seq() const { return seq_; }
  /// The time of the last event: the next one's is not before it.
  TimePoint time() const { return time_; }
  JobId next_job() const { return next_job_; }
  BlobId next_blob() const { return next_blob_; }
  ExperimentId next_experiment() const { return next_experiment_; }
  TrialId next_trial() const { return next_trial_; }
  bool is_configured() const { return is_configured_; }
  /// Jobs in no final state, and all in memory.
  std::size_t active_jobs() const { return active_jobs_; }

  /// Equal in every replica that applied the same events. Cost: O(1).
  std::uint64_t hash() const;

  /// Becomes like `other`, sharing its specifications. Requires: this state is fresh. Cost:
  /// O(state).
  void copy_from(const ClusterState& other);

  /// The next free numbers.
  struct NextIds {
    JobId job = JobId(1);
    BlobId blob = BlobId(1);
    ExperimentId experiment = ExperimentId(1);
    TrialId trial = TrialId(1);
  };
  NextIds next_ids() const { return {next_job_, next_blob_, next_experiment_, next_trial_}; }

  // Restoring from a checkpoint, in this order: cluster, nodes, blobs, experiments, trials,
  // checkpoints, documents, jobs, answers.
  void restore_cluster(ClusterSettings settings, std::vector<PartitionConfig> partitions,
                       Epoch epoch, const NextIds& next, TimePoint time, std::string cluster_id,
                       std::uint32_t rules);
  void restore_seq(Seq seq) { seq_ = seq; }
  void restore_nodes(const std::vector<NodeConfig>& configs, std::vector<NodeStatus> statuses);
  void restore_blob(BlobId id, const BlobRecord& facts) { blobs_.restore(id, facts); }
  void restore_job(Job job);
  void restore_answer(RequestId id, const Answer& answer) { answers_.add(id, answer); }
  void restore_experiment(Experiment experiment);
  void restore_trial(Trial trial) { experiments_.insert(std::move(trial)); }
  void restore_checkpoint(CheckpointRef checkpoint) { checkpoints_.put(std::move(checkpoint)); }
  void restore_collection(Collection collection) { checkpoints_.begin(std::move(collection)); }
  void restore_document(DocumentRef document) { catalog_.put(std::move(document)); }
  void restore_next_document(DocumentKind kind, std::uint32_t id) {
    catalog_.restore_next(kind, id);
  }

 private:
  friend struct EventApplier;
  /// To be called after every change of settings or partitions.
  void rehash_config();

  JobTable jobs_;
  NodeTable nodes_;
  std::vector<PartitionConfig> partitions_;
  ClusterSettings settings_;
  BlobTable blobs_;
  AnswerTable answers_;
  ExperimentTable experiments_;
  CheckpointTable checkpoints_;
  Catalog catalog_;
  std::vector<BlobId> dead_blobs_;
  Epoch epoch_;
  std::string cluster_id_;
  std::uint32_t rules_ = 0;
  Seq seq_;
  TimePoint time_;
  JobId next_job_ = JobId(1);
  BlobId next_blob_ = BlobId(1);
  ExperimentId next_experiment_ = ExperimentId(1);
  TrialId next_trial_ = TrialId(1);
  std::size_t active_jobs_ = 0;
  bool is_configured_ = false;
  std::uint64_t config_hash_ = 0;  ///< of settings and partitions
};

}  // namespace muster
