// Hand-made views for the tests of formatters.
#pragma once

#include <memory>
#include <string>

#include "cli/lib/local_zone.h"
#include "model/view.h"

namespace muster::cli::testing {

/// Returns 2026-08-21T16:00:00 UTC.
inline TimePoint test_now() { return TimePoint::from_seconds(1787328000); }

inline ShowContext test_context() {
  static const FixedZone kUtc;
  ShowContext context;
  context.now = test_now();
  context.zone = &kUtc;
  context.cluster = "tiny";
  return context;
}

inline JobSpec test_spec() {
  JobSpec spec;
  spec.text.set(JobText::kName, "train");
  spec.text.set(JobText::kUserName, "ada");
  spec.text.set(JobText::kGroupName, "lab");
  spec.text.set(JobText::kPartition, "gpu");
  spec.text.set(JobText::kWorkDir, "/home/ada");
  spec.text.set(JobText::kCommand, "/home/ada/train.sh");
  spec.text.set(JobText::kSubmitLine, "sbatch train.sh");
  spec.text.set(JobText::kSubmitHost, "login");
  spec.text.set(JobText::kGresPerNode, "gpu:h100:2");
  spec.user = UserId(1000);
  spec.group = GroupId(100);
  ResourceRequest request;
  request.min_nodes = request.max_nodes = 2;
  request.task_count = 4;
  request.cpus_per_task = 2;
  request.memory_scope = MemoryScope::kPerNode;
  request.memory_mib = 4096;
  spec.request = std::move(request);
  spec.submit_session = 77;
  return spec;
}

/// Returns a job that has waited for resources for an hour.
inline JobView pending_job(JobSpec spec = test_spec()) {
  JobView job;
  job.id = JobId(12);
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.partition = "gpu";
  job.priority = 1;
  job.reasons.word = PendingReason::kResources;
  job.time_limit = Duration::hours(24);
  job.submit_time = job.eligible_time = test_now() - Duration::hours(1);
  job.node_count = 2;
  job.cpu_count = 8;
  job.requested_tres = "cpu=8,mem=8G,node=2,billing=8,gres/gpu=4,gres/gpu:h100=4";
  job.std_out = job.std_err = "/home/ada/slurm-12.out";
  job.std_in = "/dev/null";
  return job;
}

/// Returns a job that has run for 65 seconds on n1 and n2.
inline JobView running_job() {
  JobView job = pending_job();
  job.state = JobState::kRunning;
  job.reasons = {};
  job.start_time = test_now() - Duration::seconds(65);
  job.end_time = job.start_time + job.time_limit;
  job.node_list = "n[1-2]";
  job.batch_host = "n1";
  job.allocated_tres = job.requested_tres;
  job.memory_mib = 8192;
  for (const char* name : {"n1", "n2"}) {
    NodeGrant grant;
    grant.task_count = 2;
    grant.cpus = Bitmap::range(0, 4);
    grant.memory_mib = 4096;
    grant.gres.push_back({"gpu", "h100", Bitmap::range(0, 2)});
    job.grants.push_back(grant);
    job.node_names.emplace_back(name);
  }
  return job;
}

inline JobView array_job() {
  JobView job = pending_job();
  job.array_job = job.id;
  job.array_remaining = "3-15";
  job.array_remaining_count = 13;
  job.array_throttle = 4;
  return job;
}

inline StepView batch_step() {
  StepView step;
  step.id = StepId{JobId(12), 0, kBatchStep};
  step.name = "batch";
  step.user = "ada";
  step.partition = "gpu";
  step.uid = UserId(1000);
  step.state = JobState::kCompleted;
  step.start_time = test_now() - Duration::seconds(65);
  step.end_time = test_now() - Duration::seconds(5);
  step.node_list = "n1";
  step.node_count = step.task_count = 1;
  step.cpu_count = 4;
  step.usage = Usage{1'500'000, 250'000, 2048};
  return step;
}

inline NodeView test_node(const std::string& name) {
  NodeView node;
  node.config.name = node.config.host_name = node.config.address = name;
  node.config.cpus = 8;
  node.config.cores_per_socket = 8;
  node.config.memory_mib = 16000;
  node.config.gres.push_back({"gpu", "h100", 4, {}});
  node.status.conditions = 0;
  node.status.arch = "x86_64";
  node.status.version = "0.1.0";
  node.last_contact = test_now();
  node.load_hundredths = 25;
  node.free_memory_mib = 9000;
  node.partitions = {"gpu"};
  GresGrant used{"gpu", "h100", {}};
  node.allocated_gres.push_back(used);
  return node;
}

inline NodeView busy_node(const std::string& name, std::uint32_t cpus) {
  NodeView node = test_node(name);
  node.allocated_cpus = cpus;
  node.allocated_memory_mib = 4096;
  node.allocated_gres.front().devices = Bitmap::range(0, 2);
  return node;
}

inline PartitionView test_partition(const std::string& name, std::vector<std::string> nodes) {
  PartitionView partition;
  partition.config.name = name;
  partition.config.is_default = name == "gpu";
  partition.nodes = std::move(nodes);
  partition.total_nodes = static_cast<std::uint32_t>(partition.nodes.size());
  partition.total_cpus = partition.total_nodes * 8;
  partition.tres = "cpu=16,mem=32000M,node=2,billing=16";
  return partition;
}

}  // namespace muster::cli::testing
