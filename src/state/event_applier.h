// One function per kind of event: how it changes the tables. Internal to state/.
#pragma once

#include "state/cluster_state.h"

namespace muster {

struct EventApplier {
  ClusterState& state;
  ApplyObserver* observer;
  TimePoint now;

  // The kinds about clusters, nodes and requests are in event_applier.cc, the others in apply_*.cc.
#define MUSTER_APPLY(Type, NAME, echo) void operator()(const Type& event);
  MUSTER_EVENTS(MUSTER_APPLY)
#undef MUSTER_APPLY

 private:
  Job& job_at(JobId id);
  Experiment& experiment_at(ExperimentId id);
  Trial& trial_at(TrialId id);
  Trial& trial_at(const Experiment& experiment, TrialIndex index);
  /// True by the rules of earlier versions (kEventRules), under which what follows from an event
  /// was not an event of its own.
  bool is_implied() const { return state.rules_ == 0; }
  void imply_end(Experiment& experiment);
  void imply_input(Experiment& experiment, SearchInput input);
  void end(Experiment& experiment, ExperimentState ended);
  /// Makes an experiment with its number and what its specification says of it.
  Experiment new_experiment(ExperimentId id, const ExperimentSpecRef& spec,
                            const ExperimentLabels& labels, ExperimentState experiment_state);
  void add_trial(Experiment& experiment, const TrialPlan& plan, TrialId id);
  void record_job(const Job& job);
  void record_restart(const Job& job);
  void record_early_end(const Job& job);
  void record_usage(const Job& job);
  /// Changes the hold, state or resources of a job and keeps the counts that depend on them.
  template <class Change>
  void change(Job& job, Change&& change);
  void become_element(Job& job);
  void count_element(const Job& job, int step);
  void remember_end(const Job& job);
  void release_node(Job& job, std::size_t position);
  void record_part(JobRun& run, const StepPart& part);
  void finish_release(Job& job);
  /// True when conditions have causes, by the rules in force.
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
