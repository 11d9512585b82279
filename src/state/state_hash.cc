#include "state/state_hash.h"

#include <bit>

#include "base/hash.h"

namespace muster {
namespace {

void add(Hasher& hasher, const Bitmap& bitmap) {
  hasher.add(bitmap.words().size());
  for (const std::uint64_t word : bitmap.words()) hasher.add(word);
}

void add(Hasher& hasher, const NodeGrant& grant) {
  hasher.add(grant.node.value()).add(grant.task_count).add(grant.memory_mib);
  add(hasher, grant.cpus);
  hasher.add(grant.gres.size());
  for (const GresGrant& gres : grant.gres) {
    hasher.add(gres.name).add(gres.type);
    add(hasher, gres.devices);
  }
}

void add(Hasher& hasher, const DependencySet& set) {
  hasher.add(set.is_any).add(set.terms.size());
  for (const DependencyTerm& term : set.terms) {
    hasher.add(term.kind).add(term.job.value()).add(term.array_index.has_value());
    hasher.add(term.array_index.value_or(0)).add(term.delay.microseconds()).add(term.state);
    if (term.not_before.is_set()) hasher.add(term.not_before.microseconds());
  }
}

void add(Hasher& hasher, const ArrayFacts& facts) {
  hasher.add(facts.task_count).add(facts.index_min).add(facts.index_max).add(facts.index_step);
}

void add(Hasher& hasher, const ArrayRecord& array) {
  add(hasher, array.remaining.indices);
  hasher.add(array.remaining.throttle).add(array.active_elements);
  add(hasher, array.facts);
}

void add(Hasher& hasher, const JobRun& run) {
  hasher.add(run.allocation->nodes.size());
  for (const NodeGrant& grant : run.allocation->nodes) add(hasher, grant);
  add(hasher, run.released);
  hasher.add(run.next_step).add(run.steps_hash);
  if (run.stop) hasher.add(1).add(run.stop->call).add(run.stop->deadline.microseconds());
  if (run.has_session) hasher.add(2).add(run.is_stop_acknowledged);
  if (!run.has_session && run.is_stop_acknowledged) hasher.add(3);
}

void add(Hasher& hasher, double value) { hasher.add(std::bit_cast<std::uint64_t>(value)); }
void add(Hasher& hasher, const std::optional<double>& value) {
  hasher.add(value.has_value());
  add(hasher, value.value_or(0));
}

void add(Hasher& hasher, const ExperimentLabels& labels) {
  hasher.add(labels.name).add(labels.description).add(labels.notes).add(labels.workspace).add(labels.project);
  hasher.add(labels.is_archived).add(labels.labels.size());
  for (const std::string& label : labels.labels) hasher.add(label);
}

struct InputHasher {
  Hasher& hasher;
  void operator()(const SearchBegun&) { hasher.add(1); }
  void operator()(const ReportInput& input) {
    hasher.add(2).add(input.trial.value());
    add(hasher, input.report.metric);
    add(hasher, input.report.time);
  }
  void operator()(const ExitInput& input) {
    hasher.add(3).add(input.trial.value()).add(input.exit);
    add(hasher, input.metric);
  }
  void operator()(const LimitInput& input) { hasher.add(4).add(input.max_concurrent); }
  void operator()(const AgainInput& input) { hasher.add(5).add(input.trial.value()).add(input.was); }
  void operator()(const OperationsInput& input) {
    hasher.add(6).add(input.trigger).add(input.operations.size());
    for (const SearchOperation& one : input.operations) {
      hasher.add(one.verb).add(one.request).add(one.hparams).add(one.source).add(one.length).add(one.outcome);
      add(hasher, one.progress);
    }
  }
};

void add(Hasher& hasher, const CheckpointRetention& retention) {
  hasher.add(retention.experiment_best).add(retention.trial_best).add(retention.trial_latest);
}
void add(Hasher& hasher, const ExperimentShare& share) {
  hasher.add(share.priority);
  add(hasher, share.weight);
}

void add(Hasher& hasher, const StopReason& reason) {
  hasher.add(reason.cause).add(reason.bracket).add(reason.rung).add(reason.rank).add(reason.cut).add(reason.count);
}

template <class Key>
void add(Hasher& hasher, const TextPack<Key>& pack) {
  hasher.add(pack.mask()).add(pack.buffer());
  for (std::size_t i = 0; i < pack.count(); ++i) hasher.add(pack.span_of(i).size());
}

}  // namespace

std::uint64_t hash_of(const JobSpec& spec) {
  Hasher hasher;
  add(hasher, spec.text);
  hasher.add(spec.kind).add(spec.user.value()).add(spec.group.value()).add(spec.min_nodes);
  hasher.add(spec.max_nodes).add(spec.task_count).add(spec.tasks_per_node).add(spec.tasks_per_socket);
  hasher.add(spec.tasks_per_core).add(spec.tasks_per_gpu).add(spec.cpus_per_task);
  hasher.add(spec.min_cpus_per_node).add(spec.cpus_per_gpu).add(spec.sockets_per_node);
  hasher.add(spec.cores_per_socket).add(spec.threads_per_core).add(spec.tmp_disk_mib);
  hasher.add(spec.memory_scope).add(spec.memory_mib).add(spec.sharing).add(spec.is_contiguous);
  hasher.add(spec.is_overcommit).add(spec.given).add(spec.time_limit.microseconds());
  hasher.add(spec.time_min.microseconds()).add(spec.begin_time.microseconds());
  hasher.add(spec.deadline.microseconds()).add(spec.nice).add(spec.priority).add(spec.is_held);
  hasher.add(spec.is_requeue).add(spec.kill_on_invalid_dependency).add(spec.is_immediate);
  hasher.add(spec.is_kill_on_node_fail).add(spec.is_reboot).add(spec.is_spread).add(spec.wait_all_nodes);
  hasher.add(spec.umask).add(spec.open_mode).add(spec.signal_number).add(spec.signal_seconds);
  hasher.add(spec.signal_batch_only).add(spec.signal_at_reservation).add(spec.submit_session);
  hasher.add(spec.core_spec).add(spec.oom_kill_step).add(spec.script.value()).add(spec.environment.value());
  if (spec.trial.value() != 0) hasher.add(spec.trial.value());
  if (spec.runs_before != 0) hasher.add(spec.runs_before);
  return hasher.digest();
}

std::uint64_t hash_of(const StepState& step) {
  Hasher hasher;
  hasher.add(step.id.job.value()).add(step.id.attempt).add(step.id.step).add(step.state);
  hasher.add(step.start_time.microseconds()).add(step.end_time.microseconds()).add(step.exit.raw);
  hasher.add(step.usage.user_cpu_us).add(step.usage.system_cpu_us).add(step.usage.max_rss_kib);
  hasher.add(step.detail).add(step.layout->nodes.size());
  for (const NodeGrant& grant : step.layout->nodes) add(hasher, grant);
  if (step.spec != nullptr) {
    add(hasher, step.spec->text);
    hasher.add(step.spec->task_count).add(step.spec->environment.value());
  }
  return hasher.digest();
}

std::uint64_t hash_of(const Job& job) {
  Hasher hasher;
  hasher.add(job.id.value()).add(job.state).add(job.reason).add(job.flags).add(job.attempt);
  hasher.add(job.spec_hash).add(job.priority).add(job.time_limit.microseconds());
  hasher.add(job.submit_time.microseconds()).add(job.eligible_time.microseconds());
  hasher.add(job.start_time.microseconds()).add(job.end_time.microseconds());
  hasher.add(job.suspend_time.microseconds()).add(job.suspended_before.microseconds());
  hasher.add(job.exit.raw).add(job.cancelled_by.value()).add(job.hold_after);
  hasher.add(job.array_job.value()).add(job.array_index.has_value()).add(job.array_index.value_or(0));
  hasher.add(job.partition.value()).add(job.partitions.size());
  for (const PartitionIndex partition : job.partitions) hasher.add(partition.value());
  if (job.array != nullptr) add(hasher.add(1), *job.array);
  if (job.array_facts != nullptr) add(hasher.add(2), *job.array_facts);
  if (job.dependencies != nullptr) add(hasher.add(3), *job.dependencies);
  if (job.run != nullptr) add(hasher.add(4), *job.run);
  if (job.detail != nullptr) hasher.add(5).add(*job.detail);
  return hasher.digest();
}

std::uint64_t hash_of(const Experiment& experiment) {
  Hasher hasher;
  hasher.add(experiment.id.value()).add(experiment.spec_hash).add(experiment.state);
  add(hasher, experiment.labels);
  hasher.add(experiment.submit_time.microseconds()).add(experiment.end_time.microseconds()).add(experiment.covered);
  hasher.add(experiment.inputs.size());
  for (const SearchInput& input : experiment.inputs) std::visit(InputHasher{hasher}, input);
  if (experiment.search_state != nullptr) hasher.add(*experiment.search_state);
  hasher.add(experiment.outcome.has_value()).add(experiment.outcome.value_or(SearchOutcome::kCompleted));
  add(hasher, experiment.progress);
  hasher.add(experiment.detail);
  hasher.add(experiment.open_trials).add(experiment.trials.size());
  for (const TrialId trial : experiment.trials) hasher.add(trial.value());
  // What came later stands in no older journal: it counts where it is not what it always was.
  if (experiment.retention != CheckpointRetention()) add(hasher.add(1), experiment.retention);
  if (experiment.share != ExperimentShare()) add(hasher.add(2), experiment.share);
  if (experiment.is_collected) hasher.add(3);
  if (experiment.max_slots) hasher.add(5).add(*experiment.max_slots);
  if (experiment.spec->budget.slot_time != Duration()) hasher.add(4).add(experiment.used_slot_time.microseconds());
  if (experiment.log_retention_days) hasher.add(6).add(*experiment.log_retention_days);
  return hasher.digest();
}

std::uint64_t hash_of(const Trial& trial) {
  Hasher hasher;
  hasher.add(trial.id.value()).add(trial.experiment.value()).add(trial.index.value()).add(trial.job.value());
  hasher.add(trial.state).add(trial.seed).add(trial.bracket).add(trial.hparams);
  hasher.add(trial.target.has_value()).add(trial.target.value_or(0));
  hasher.add(trial.clone_of.has_value()).add(trial.clone_of.value_or(TrialIndex()).value());
  hasher.add(trial.is_waiting).add(trial.is_invalid).add(trial.restarts).add(trial.stop.has_value());
  if (trial.stop) add(hasher, *trial.stop);
  add(hasher, trial.awaits);
  add(hasher, trial.metric);
  add(hasher, trial.units);
  hasher.add(trial.submit_time.microseconds()).add(trial.end_time.microseconds()).add(trial.detail);
  if (!trial.source.empty() || trial.awaits_source) hasher.add(trial.source).add(trial.awaits_source);
  // What trials once had not is passed over where it is not there: journals of then keep their hashes.
  if (!trial.log_matches.empty()) hasher.add(1).add(trial.log_matches.size());
  for (const LogMatch& match : trial.log_matches) {
    hasher.add(match.run).add(match.policy).add(match.action).add(match.node).add(match.line);
  }
  if (!trial.failed_runs.empty()) hasher.add(2).add(trial.failed_runs.size());
  for (const std::uint32_t run : trial.failed_runs) hasher.add(run);
  if (trial.log_retention_days) hasher.add(3).add(*trial.log_retention_days);
  if (trial.slots != 0) hasher.add(4).add(trial.slots).add(trial.resize_time.microseconds());
  if (!trial.imported_from.empty()) hasher.add(5).add(trial.imported_from).add(trial.last_run);
  return hasher.digest();
}

std::uint64_t hash_of(const Checkpoint& checkpoint) {
  Hasher hasher;
  hasher.add(checkpoint.uuid).add(checkpoint.trial.value()).add(checkpoint.run).add(checkpoint.steps_completed);
  hasher.add(checkpoint.state).add(checkpoint.report_time.microseconds()).add(checkpoint.size);
  hasher.add(checkpoint.metadata).add(checkpoint.resources);
  return hasher.digest();
}

std::uint64_t hash_of(const Collection& collection) {
  Hasher hasher;
  hasher.add(collection.job.value()).add(collection.experiment.value()).add(collection.is_whole).add(collection.uuids.size());
  for (const std::string& uuid : collection.uuids) hasher.add(uuid);
  return hasher.digest();
}

std::uint64_t hash_of(const Document& document) {
  Hasher hasher;
  hasher.add(document.kind).add(document.id).add(document.parent).add(document.number).add(document.name);
  hasher.add(document.user.value()).add(document.user_name);
  hasher.add(document.create_time.microseconds()).add(document.change_time.microseconds());
  hasher.add(document.is_archived).add(document.body).add(document.checkpoints.size());
  for (const std::string& uuid : document.checkpoints) hasher.add(uuid);
  return hasher.digest();
}

std::uint64_t hash_of(const ExperimentSpec& spec) {
  Hasher hasher;
  hasher.add(spec.user.value()).add(spec.user_name).add(spec.config).add(spec.original).add(spec.searcher).add(spec.metric);
  hasher.add(spec.smaller_is_better).add(spec.time_metric).add(spec.slots_per_trial).add(spec.max_restarts);
  hasher.add(spec.preemption_timeout.microseconds()).add(spec.trial_length).add(spec.seed).add(spec.entrypoint);
  hasher.add(spec.run_folder).add(hash_of(*spec.job));
  if (spec.parent.value() != 0) hasher.add(1).add(spec.parent.value());
  if (!spec.source_checkpoint.empty()) hasher.add(2).add(spec.source_checkpoint);
  if (spec.retention != CheckpointRetention()) add(hasher.add(3), spec.retention);
  if (spec.share != ExperimentShare()) add(hasher.add(4), spec.share);
  if (spec.budget != ExperimentBudget()) hasher.add(5).add(spec.budget.slot_time.microseconds()).add(spec.budget.wall_time.microseconds());
  if (spec.log_retention_days) hasher.add(6).add(*spec.log_retention_days);
  if (spec.min_slots_per_trial != 0) hasher.add(7).add(spec.min_slots_per_trial);
  if (!spec.imported_from.empty()) hasher.add(8).add(spec.imported_from);
  return hasher.digest();
}

}  // namespace muster
