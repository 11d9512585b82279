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
  void operator()(const JobIdsReserved& event);
  // apply_clock.cc
  void operator()(const ClockStepped& event);
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
  // apply_experiment.cc
  void operator()(const ExperimentCreated& event);
  void operator()(const ExperimentChanged& event);
  void operator()(const SearchDecided& event);
  void operator()(const TrialReported& event);
  void operator()(const TrialFlagged& event);
  void operator()(const TrialEnded& event);
  void operator()(const TrialSourced& event);
  void operator()(const ExperimentContinued& event);
  void operator()(const ExperimentDeleted& event);
  void operator()(const StopRequested& event);
  void operator()(const LogMatched& event);
  void operator()(const LogRetentionSet& event);
  void operator()(const SearchOperated& event);
  void operator()(const TrialResized& event);
  void operator()(const ExperimentEnded& event);
  void operator()(const SearchAsked& event);
  // apply_import.cc
  void operator()(const ExperimentImported& event);
  void operator()(const TrialImported& event);
  // apply_catalog.cc
  void operator()(const RunNoted& event);
  void operator()(const CheckpointNoted& event);
  void operator()(const CollectionBegun& event);
  void operator()(const CollectionEnded& event);
  void operator()(const DocumentStored& event);
  void operator()(const DocumentDeleted& event);
  // apply_step.cc
  void operator()(const StepCreated& event);
  void operator()(const StepBegun& event);
  void operator()(const StepCancelled& event);
  void operator()(const StepEnded& event);
  void operator()(const StepsForgotten& event);

 private:
  Job& job_at(JobId id);
  Experiment& experiment_at(ExperimentId id);
  Trial& trial_at(TrialId id);
  Trial& trial_at(const Experiment& experiment, TrialIndex index);
  /// By the rules of earlier versions (kEventRules): what follows from an event was not one of its
  /// own.
  bool is_implied() const { return state.rules_ == 0; }
  void imply_end(Experiment& experiment);
  void imply_input(Experiment& experiment, SearchInput input);
  void end(Experiment& experiment, ExperimentState ended);
  /// Gives it its number and what its specification says of it.
  Experiment new_experiment(ExperimentId id, const ExperimentSpecRef& spec,
                            const ExperimentLabels& labels, ExperimentState experiment_state);
  void add_trial(Experiment& experiment, const TrialPlan& plan, TrialId id);
  void note_job(const Job& job);
  void note_restart(const Job& job);
  void note_early_end(const Job& job);
  void note_usage(const Job& job);
  /// Changes the hold, state or resources of a job and keeps the counts that depend on them.
  template <class Change>
  void change(Job& job, Change&& change);
  void become_element(Job& job);
  void count_element(const Job& job, int step);
  void remember_end(const Job& job);
  void release_node(Job& job, std::size_t position);
  void keep_part(JobRun& run, const StepPart& part);
  void finish_release(Job& job);
  /// Conditions have causes, by the rules in force.
  bool has_causes() const;
  void find_all_causes();
  void change_conditions(NodeIndex index, ConditionChange change);
  void reference(BlobId id);
  void release(BlobId id);
};

template <class Change>
void EventApplier::change(Job& job, Change&& change_it) {
  const bool was_over = job.is_over();
  const bool held_resources = job.holds_resources();
  change_it();
  if (held_resources != job.holds_resources()) count_element(job, job.holds_resources() ? 1 : -1);
  if (was_over && !job.is_over()) ++state.active_jobs_;
  if (!was_over && job.is_over()) --state.active_jobs_;
  state.jobs_.rehash(job);
}

}  // namespace muster
