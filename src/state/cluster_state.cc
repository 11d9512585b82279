// Reads and writes of the whole state: what is applied goes through EventApplier, what is restored
// goes in here, object by object, and both keep the same hashes.
#include "state/cluster_state.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/members.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {

ClusterState::ClusterState() = default;
ClusterState::~ClusterState() = default;

void ClusterState::apply(const Event& event, ApplyObserver* observer) {
  // A stamp before the last event's would make limits depend on who replays.
  CHECK(event.time >= time_, "time goes back from {} to {}", time_.microseconds(),
        event.time.microseconds());
  time_ = event.time;
  // By the time of events, not a clock: every replica and every replay drops the same answers.
  answers_.expire(time_);
  visit(EventApplier{*this, observer, event.time}, event.body);
}

void ClusterState::add_blob(const BlobWrite& blob) {
  // Ids of blobs are given one after the other, by the writer alone.
  CHECK(blob.id == next_blob_, "blob {} out of order", blob.id.value());
  blobs_.add(blob.id, blob.digest, blob.size);
  next_blob_ = BlobId(blob.id.value() + 1);
}

std::vector<BlobId> ClusterState::seal(Seq seq) {
  // Batches follow each other without a gap: a replica that missed one stops here.
  CHECK(seq.value() == seq_.value() + 1, "batch {} after {}", seq.value(), seq_.value());
  seq_ = seq;
  // Whose last reference went in this batch: their bytes can go with it.
  return std::exchange(dead_blobs_, {});
}

void ClusterState::apply(const EventBatch& batch, ApplyObserver* observer) {
  for (const BlobWrite& blob : batch.blobs) add_blob(blob);
  for (const Event& event : batch.events) apply(event, observer);
  seal(batch.seq);
}

std::optional<PartitionIndex> ClusterState::find_partition(std::string_view name) const {
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    if (partitions_[i].name == name) return PartitionIndex(static_cast<std::uint32_t>(i));
  }
  return std::nullopt;
}

const PartitionConfig& ClusterState::partition(PartitionIndex index) const {
  CHECK(index.value() < partitions_.size(), "no partition {}", index.value());
  return partitions_[index.value()];
}

std::uint64_t ClusterState::hash() const {
  // What belongs to no table. Hashes of the tables are sums, so that this costs the same for any
  // number of jobs.
  Hasher rest;
  rest.add(config_hash_)
      .add(cluster_id_)
      .add(epoch_.value())
      .add(time_.microseconds())
      .add(active_jobs_)
      .add(is_configured_);
  rest.add(next_job_.value())
      .add(next_blob_.value())
      .add(next_experiment_.value())
      .add(next_trial_.value());
  for (const std::uint32_t next : catalog_.next_ids()) rest.add(next);
  // A state from before there were rules keeps the hash that it had.
  if (rules_ != 0) rest.add(rules_);
  return jobs_.hash() + nodes_.hash() + blobs_.hash() + experiments_.hash() + checkpoints_.hash() +
         catalog_.hash() + answers_.hash() + rest.digest();
}

/// The order of partitions counts: jobs name them by their index.
void ClusterState::rehash_config() {
  Hasher hasher;
  hasher.add(hash_of(settings_)).add(partitions_.size());
  for (const PartitionConfig& partition : partitions_) hasher.add(hash_of(partition));
  config_hash_ = hasher.digest();
}

namespace {

/// restore_job counts the steps' hashes anew.
Job copy_of(const Job& job) {
  // The hash is of the copy's own table.
  Job copy = copy_of_members(job);
  copy.hash = {};
  if (copy.run != nullptr) copy.run->steps_hash = 0;
  return copy;
}

}  // namespace

void ClusterState::copy_from(const ClusterState& other) {
  if (!other.is_configured_) return;
  // In the order of a checkpoint's slices.
  restore_cluster(other.settings_, other.partitions_, other.epoch_, other.next_ids(), other.time_,
                  other.cluster_id_);
  restore_rules(other.rules_);
  std::vector<NodeConfig> configs;
  std::vector<NodeStatus> statuses;
  for (const Node& node : other.nodes_.all()) {
    configs.push_back(node.config);
    statuses.push_back(node.status);
  }
  restore_nodes(configs, std::move(statuses));
  other.blobs_.for_each([&](BlobId id, const BlobRecord& record) { restore_blob(id, record); });
  for (const auto& [id, experiment] : other.experiments_.experiments())
    restore_experiment(experiment);
  for (const auto& [id, trial] : other.experiments_.trials()) restore_trial(trial);
  for (const auto& [id, checkpoints] : other.checkpoints_.by_trial()) {
    for (const CheckpointRef& checkpoint : checkpoints) restore_checkpoint(checkpoint);
  }
  for (const auto& [job, collection] : other.checkpoints_.collections())
    restore_collection(collection);
  for (const auto& [key, document] : other.catalog_.documents()) restore_document(document);
  for (std::size_t kind = 0; kind < kDocumentKinds; ++kind) {
    restore_next_document(static_cast<DocumentKind>(kind), other.catalog_.next_ids()[kind]);
  }
  other.jobs_.for_each([&](const Job& job) { restore_job(copy_of(job)); });
  other.answers_.for_each([&](RequestId id, const Answer& answer) { restore_answer(id, answer); });
  restore_seq(other.seq_);
  // A member that copy_of_members or a restore forgot shows here at once.
  CHECK(hash() == other.hash(), "a copy of the state differs from it");
}

void ClusterState::restore_cluster(ClusterSettings settings,
                                   std::vector<PartitionConfig> partitions, Epoch epoch,
                                   const NextIds& next, TimePoint time, std::string cluster_id) {
  settings_ = std::move(settings);
  partitions_ = std::move(partitions);
  epoch_ = epoch;
  cluster_id_ = std::move(cluster_id);
  next_job_ = next.job;
  next_blob_ = next.blob;
  next_experiment_ = next.experiment;
  next_trial_ = next.trial;
  time_ = time;
  is_configured_ = true;
  rehash_config();
}

void ClusterState::restore_nodes(const std::vector<NodeConfig>& configs,
                                 std::vector<NodeStatus> statuses) {
  CHECK(configs.size() == statuses.size());
  // Uses are none yet: restore_job counts them.
  nodes_.configure(configs);
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    nodes_.at(index).status = std::move(statuses[i]);
    nodes_.rehash(index);
  }
}

void ClusterState::restore_experiment(Experiment experiment) {
  experiment.spec_hash = muster::hash_of(*experiment.spec);
  experiments_.insert(std::move(experiment));
}

void ClusterState::share_requests(RequestPool& pool) {
  RequestPool::Sharing sharing(pool);
  jobs_.for_each([&](const Job& job) { sharing.share(jobs_.find_mutable(job.id)->spec); });
}

/// Nodes are restored before: what of them is in use is in no checkpoint, and counted from the
/// jobs.
void ClusterState::restore_job(Job job) {
  job.spec_hash = muster::hash_of(*job.spec);
  if (job.run != nullptr) {
    for (const StepState& step : job.run->steps) job.run->steps_hash += muster::hash_of(step);
  }
  if (job.run != nullptr && job.holds_resources()) {
    // A released node has given everything back.
    for (std::size_t i = 0; i < job.run->allocation->nodes.size(); ++i) {
      if (!job.run->released.test(i)) nodes_.allocate(job.id, job.run->allocation->nodes[i]);
    }
  }
  if (!job.is_over()) ++active_jobs_;
  if (job.array_index) jobs_.add_element(job.array_job, *job.array_index, job.id);
  jobs_.insert(std::move(job));
}

}  // namespace muster
