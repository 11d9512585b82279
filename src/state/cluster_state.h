// The whole state of a cluster: a function of the journal's batches, equal in every replica that
// applied the same.
//
// `apply` is pure: it reads no clock, does no I/O, draws no chance and makes no decision. What it
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
#include "state/request_pool.h"

namespace muster {

/// Receives each attempt of a job and each step when it ends, before the state drops it: this fills
/// history. Called from within apply(), when seq() does not count the batch of the event yet, and
/// by recovery for what had ended in a checkpoint. The arguments are valid during the call; an
/// implementation must not change the state.
class ApplyObserver {
 public:
  virtual ~ApplyObserver() = default;
  /// The job is over, or its run is and it may be queued again: it held no resources when it ended,
  /// or has now released its last node. `now`: the time of the event.
  virtual void attempt_ended(const Job& job, TimePoint now) = 0;
  /// The step has its final state, exit and usage.
  virtual void step_ended(const Job& job, const StepState& step, TimePoint now) = 0;
};

/// Life cycle: fresh ──restored from a checkpoint (restore_…), or not──▶ current ──apply()──▶ …
/// The writer applies event by event and seals each batch; a replica applies whole batches. Objects
/// are read through the tables; a pointer into one is valid until the next apply(). Thread: one for
/// each instance; no call blocks.
class ClusterState {
 public:
  ClusterState();
  ~ClusterState();
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  /// Applies the next batch: its blobs, its events in order, then seal(). Requires: batch.seq is
  /// seq() + 1; no batch is open. The observer may be null.
  void apply(const EventBatch& batch, ApplyObserver* observer = nullptr);
  /// Applies one event of a batch that is being put together; seal() closes that. Requires: the
  /// event's time is not before time().
  void apply(const Event& event, ApplyObserver* observer = nullptr);
  /// Adds a blob that an event of the same batch will reference. Requires: its id is next_blob().
  void add_blob(const BlobWrite& blob);
  /// Closes the batch: seq() becomes its number. Returns the blobs whose last reference the batch
  /// removed: their bytes can be deleted with it. Requires: `seq` is seq() + 1.
  std::vector<BlobId> seal(Seq seq);

  const JobTable& jobs() const { return jobs_; }
  const NodeTable& nodes() const { return nodes_; }
  const std::vector<PartitionConfig>& partitions() const { return partitions_; }
  /// Returns the partition of exactly that name. Nullopt: there is none. Cost: O(partitions).
  std::optional<PartitionIndex> find_partition(std::string_view name) const;
  /// Returns a partition. Requires: there is one of that index; checked.
  const PartitionConfig& partition(PartitionIndex index) const;
  const ClusterSettings& settings() const { return settings_; }
  const BlobTable& blobs() const { return blobs_; }
  /// Calls BlobTable::do_not_share, which changes no part of the state.
  void do_not_share(BlobId id) { blobs_.do_not_share(id); }
  const AnswerTable& answers() const { return answers_; }
  const ExperimentTable& experiments() const { return experiments_; }
  const CheckpointTable& checkpoints() const { return checkpoints_; }
  const Catalog& catalog() const { return catalog_; }
  Epoch epoch() const { return epoch_; }
  /// Returns an id that no other cluster's state has, and that never changes. Empty: no version
  /// that gives one has started the cluster yet.
  const std::string& cluster_id() const { return cluster_id_; }
  /// Returns the version of the rules by which events are applied now (EpochStarted::rules of the
  /// last one), so that a journal of an earlier version makes the state that it made then.
  std::uint32_t rules() const { return rules_; }
  /// Returns the number of the last sealed batch; 0: none.
  Seq seq() const { return seq_; }
  /// Returns the time of the last event; none that follows may be before it.
  TimePoint time() const { return time_; }
  /// The next free id of each kind: no id from it on was ever given.
  JobId next_job() const { return next_job_; }
  BlobId next_blob() const { return next_blob_; }
  ExperimentId next_experiment() const { return next_experiment_; }
  TrialId next_trial() const { return next_trial_; }
  /// False: no configuration has been applied or restored yet.
  bool is_configured() const { return is_configured_; }
  /// Returns how many jobs are not over; jobs().size() counts also those that are over and still in
  /// memory.
  std::size_t active_jobs() const { return active_jobs_; }

  /// Returns a hash that is equal in every replica that applied the same events; seq() does not
  /// count. Two states with equal hashes are regarded as equal. Cost: O(1): each table has the sum
  /// of its objects' hashes.
  std::uint64_t hash() const;

  /// Becomes a copy of `other` that shares its specifications and other immutable parts. It stays
  /// fresh where `other` is not configured. Requires: this state is fresh. Cost: O(state).
  void copy_from(const ClusterState& other);

  /// The next free numbers.
  struct NextIds {
    JobId job = JobId(1);
    BlobId blob = BlobId(1);
    ExperimentId experiment = ExperimentId(1);
    TrialId trial = TrialId(1);
  };
  NextIds next_ids() const { return {next_job_, next_blob_, next_experiment_, next_trial_}; }

  /// Lets jobs with equal requests have one, as they come out of a journal with one each. Nothing
  /// that can be seen changes. Cost: O(jobs).
  void share_requests(RequestPool& pool);

  // A fresh state is restored from a checkpoint in this order: cluster and rules, nodes, blobs,
  // experiments, trials, checkpoints, collections, documents, jobs, answers (oldest first), and the
  // number of the batch that the checkpoint ends with. Hashes and what nodes have given to jobs are
  // computed anew.
  void restore_cluster(ClusterSettings settings, std::vector<PartitionConfig> partitions,
                       Epoch epoch, const NextIds& next, TimePoint time, std::string cluster_id);
  void restore_rules(std::uint32_t rules) { rules_ = rules; }
  void restore_seq(Seq seq) { seq_ = seq; }
  /// Restores the nodes. Requires: one status for each configuration.
  void restore_nodes(const std::vector<NodeConfig>& configs, std::vector<NodeStatus> statuses);
  void restore_blob(BlobId id, const BlobRecord& record) { blobs_.restore(id, record); }
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
  /// Hashes the configuration again: called after every change of settings or partitions.
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
