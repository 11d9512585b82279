#include "state/cluster_state.h"

#include "base/check.h"
#include "base/hash.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {
namespace {

std::uint64_t hash_of(const PartitionConfig& partition) {
  Hasher hasher;
  hasher.add(partition.name).add(partition.state).add(partition.is_default).add(partition.priority_tier);
  hasher.add(partition.max_time.microseconds()).add(partition.default_time.microseconds());
  hasher.add(partition.min_nodes).add(partition.max_nodes).add(partition.nodes.size());
  for (const NodeIndex node : partition.nodes) hasher.add(node.value());
  return hasher.digest();
}

}  // namespace

void ClusterState::apply(const Event& event, ApplyObserver* observer) {
  CHECK(event.time >= time_, "time goes back from {} to {}", time_.microseconds(), event.time.microseconds());
  time_ = event.time;
  answers_.expire(time_);
  std::visit(EventApplier{*this, observer, event.time}, event.body);
}

void ClusterState::add_blob(const BlobWrite& blob) {
  CHECK(blob.id == next_blob_, "blob {} out of order", blob.id.value());
  blobs_.add(blob.id, blob.digest, blob.size);
  next_blob_ = BlobId(blob.id.value() + 1);
}

std::vector<BlobId> ClusterState::seal(Seq seq) {
  CHECK(seq.value() == seq_.value() + 1, "batch {} after {}", seq.value(), seq_.value());
  seq_ = seq;
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
  std::uint64_t sum = jobs_.hash() + nodes_.hash() + blobs_.hash() + experiments_.hash();
  sum += checkpoints_.hash() + catalog_.hash();
  for (const PartitionConfig& partition : partitions_) sum += hash_of(partition);
  Hasher rest;
  rest.add(epoch_.value()).add(next_job_.value()).add(next_blob_.value()).add(time_.microseconds());
  if (next_experiment_ != ExperimentId(1)) rest.add(next_experiment_.value()).add(next_trial_.value());
  for (std::size_t kind = 0; kind < kDocumentKinds; ++kind) {
    if (const std::uint32_t next = catalog_.next_ids()[kind]; next != 1) rest.add(kind).add(next);
  }
  rest.add(settings_.cluster_name).add(active_jobs_).add(answers_.size());
  return sum + rest.digest();
}

namespace {

template <class T>
std::unique_ptr<T> copied(const std::unique_ptr<T>& pointer) {
  return pointer == nullptr ? nullptr : std::make_unique<T>(*pointer);
}

Job copy_of(const Job& job) {
  Job copy;
  copy.id = job.id;
  copy.state = job.state;
  copy.reason = job.reason;
  copy.flags = job.flags;
  copy.attempt = job.attempt;
  copy.spec = job.spec;
  copy.priority = job.priority;
  copy.time_limit = job.time_limit;
  copy.submit_time = job.submit_time;
  copy.eligible_time = job.eligible_time;
  copy.start_time = job.start_time;
  copy.end_time = job.end_time;
  copy.suspend_time = job.suspend_time;
  copy.suspended_before = job.suspended_before;
  copy.exit = job.exit;
  copy.cancelled_by = job.cancelled_by;
  copy.hold_after = job.hold_after;
  copy.array_job = job.array_job;
  copy.array_index = job.array_index;
  copy.partition = job.partition;
  copy.partitions = job.partitions;
  copy.array = copied(job.array);
  copy.array_facts = copied(job.array_facts);
  copy.dependencies = copied(job.dependencies);
  copy.first_step = job.first_step;
  copy.run = copied(job.run);
  if (copy.run != nullptr) copy.run->steps_hash = 0;
  copy.detail = copied(job.detail);
  return copy;
}

}  // namespace

void ClusterState::copy_from(const ClusterState& other) {
  if (!other.is_configured_) return;
  restore_cluster(other.settings_, other.partitions_, other.epoch_, other.next_ids(), other.time_);
  std::vector<NodeConfig> configs;
  std::vector<NodeStatus> statuses;
  for (const Node& node : other.nodes_.all()) {
    configs.push_back(node.config);
    statuses.push_back(node.status);
  }
  restore_nodes(configs, std::move(statuses));
  other.blobs_.for_each([&](BlobId id, const BlobFacts& facts) { restore_blob(id, facts); });
  for (const auto& [id, experiment] : other.experiments_.experiments()) restore_experiment(experiment);
  for (const auto& [id, trial] : other.experiments_.trials()) restore_trial(trial);
  for (const auto& [id, checkpoints] : other.checkpoints_.by_trial()) {
    for (const CheckpointRef& checkpoint : checkpoints) restore_checkpoint(checkpoint);
  }
  for (const auto& [job, collection] : other.checkpoints_.collections()) restore_collection(collection);
  for (const auto& [key, document] : other.catalog_.documents()) restore_document(document);
  for (std::size_t kind = 0; kind < kDocumentKinds; ++kind) {
    restore_next_document(static_cast<DocumentKind>(kind), other.catalog_.next_ids()[kind]);
  }
  other.jobs_.for_each([&](const Job& job) { restore_job(copy_of(job)); });
  other.answers_.for_each([&](RequestId id, const Answer& answer) { restore_answer(id, answer); });
  restore_seq(other.seq_);
  CHECK(hash() == other.hash(), "a copy of the state differs from it");
}

void ClusterState::restore_cluster(ClusterSettings settings, std::vector<PartitionConfig> partitions,
                                   Epoch epoch, const NextIds& next, TimePoint time) {
  settings_ = std::move(settings);
  partitions_ = std::move(partitions);
  epoch_ = epoch;
  next_job_ = next.job;
  next_blob_ = next.blob;
  next_experiment_ = next.experiment;
  next_trial_ = next.trial;
  time_ = time;
  is_configured_ = true;
}

void ClusterState::restore_nodes(const std::vector<NodeConfig>& configs, std::vector<NodeStatus> statuses) {
  CHECK(configs.size() == statuses.size());
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

void ClusterState::restore_job(Job job) {
  job.spec_hash = muster::hash_of(*job.spec);
  if (job.run != nullptr) {
    for (const StepState& step : job.run->steps) job.run->steps_hash += muster::hash_of(step);
  }
  if (job.run != nullptr && job.holds_resources()) {
    for (std::size_t i = 0; i < job.run->allocation->nodes.size(); ++i) {
      if (!job.run->released.test(i)) nodes_.take(job.id, job.run->allocation->nodes[i]);
    }
  }
  if (!job.is_over()) ++active_jobs_;
  if (job.array_index) jobs_.add_element(job.array_job, *job.array_index, job.id);
  jobs_.insert(std::move(job));
}

}  // namespace muster
