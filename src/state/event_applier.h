// One function per kind of event: how it changes the tables. Internal to state/.
#pragma once

#include "state/cluster_state.h"

namespace muster {

struct EventApplier {
  ClusterState& state;
  ApplyObserver* observer;
  TimePoint now;

  // event_applier.cc: cluster, nodes, partitions, requests
  void operator()(const EpochStarted& event);
  void operator()(const ConfigApplied& event);
  void operator()(const NodeRegistered& event);
  void operator()(const NodeChanged& event);
  void operator()(const PartitionChanged& event);
  void operator()(const RequestAnswered& event);
  // apply_job.cc
  void operator()(const JobSubmitted& event);
  void operator()(const ArraySplit& event);
  void operator()(const JobStarted& event);
  void operator()(const JobEnding& event);
  void operator()(const NodeReleased& event);
  void operator()(const JobRequeued& event);
  void operator()(const JobChanged& event);
  void operator()(const JobSuspended& event);
  void operator()(const JobResumed& event);
  void operator()(const JobsEvicted& event);
  // apply_step.cc
  void operator()(const StepCreated& event);
  void operator()(const StepEnded& event);

 private:
  Job& job_at(JobId id);
  /// Changes the hold, state or resources of a job and keeps the counts that depend on them.
  template <class Change>
  void change(Job& job, Change&& change);
  void become_element(Job& job);
  void count_element(const Job& job, int step);
  void release_node(Job& job, std::size_t position);
  void keep_part(JobRun& run, const StepPart& part);
  void finish_release(Job& job);
  void note_conditions(NodeIndex index, std::uint16_t set, std::uint16_t clear);
  void reference(BlobId id);
  void release(BlobId id);
};

}  // namespace muster
