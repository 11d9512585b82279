// Builders for tests: a small cluster's state and the events that change it. Not for production
// code.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state/cluster_state.h"

namespace muster::testing {

inline TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(1'000'000 + seconds); }

/// Returns the configuration of `count` nodes n0, n1, … of 4 CPUs, 1000 MiB and two GPUs, in the
/// partitions "main" (default) and "other".
std::shared_ptr<ClusterConfig> config_of(std::uint32_t count);

std::shared_ptr<JobSpec> spec_of(const std::string& name = "job");

/// Returns a grant of CPUs `first` to `first + count - 1` of a node.
NodeGrant grant_of(std::uint32_t node, std::size_t first, std::size_t count);

/// A log of batches and the state that they make; each call adds one batch.
class Log {
 public:
  explicit Log(std::uint32_t nodes = 2);
  ~Log();

  void add(std::vector<EventBody> bodies, std::vector<BlobWrite> blobs = {});
  JobId submit(const std::shared_ptr<JobSpec>& spec, std::optional<ArraySpec> array = {});
  void start(JobId job, std::vector<NodeGrant> grants);
  StepId step(JobId job, std::uint32_t number, std::vector<NodeGrant> grants);
  void end(JobId job, JobState state, bool is_clean, bool requeue_after = false);
  /// Submits a job that asks for so many MiB for each CPU.
  JobId submit_with_memory(std::uint64_t per_cpu_mib);
  /// Sets the partition's MaxMemPerCPU, in MiB.
  void set_max_memory_per_cpu(PartitionIndex partition, std::uint64_t mib);

  const ClusterState& state() const { return state_; }
  const Job& job(JobId id) const { return *state_.jobs().find(id); }
  const std::vector<EventBatchRef>& batches() const { return batches_; }

 private:
  ClusterState state_;
  std::vector<EventBatchRef> batches_;
  std::int64_t seconds_ = 0;
};

/// Adds an experiment: one trial is asked to stop, goes back to the queue and is held there, one
/// ends, one waits; its search has inputs before it.
void add_experiment(Log& log);

/// Adds a custom search with an elastic trial, and what comes from another cluster.
void add_operated_and_imported(Log& log);

/// Adds an experiment that ends, goes on with one of its trials, and ends again; a checkpoint of it
/// is deleted by a job, another stays as it was. `is_deleted`: then all of it is deleted.
void add_second_life(Log& log, bool is_deleted);

/// Adds, by the present rules, an experiment whose search is asked and whose end is an event, and a
/// step that leaves its job's record.
void add_present_rules(Log& log);

/// Adds every kind of event.
void add_everything(Log& log);

}  // namespace muster::testing
