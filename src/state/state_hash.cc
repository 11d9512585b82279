#include "state/state_hash.h"

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

}  // namespace muster
