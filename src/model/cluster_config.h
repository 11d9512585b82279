// The cluster's configuration with its effective values: what slurm.conf says, defaults filled in.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/node.h"
#include "model/partition.h"

namespace muster {

/// Settings that change decisions or reach the user. Names follow slurm.conf(5).
struct ClusterSettings {
  std::string cluster_name = "muster";
  std::string controller_host;
  Duration kill_wait = Duration::seconds(30);
  Duration min_job_age = Duration::seconds(300);
  Duration slurmd_timeout = Duration::seconds(300);
  Duration over_time_limit;                       ///< infinite: never kill
  Duration requeue_delay = Duration::seconds(0);  ///< before a requeued job may start again
  std::uint32_t max_job_count = 1'000'000;
  std::uint32_t max_array_size = 1001;
  std::uint32_t max_step_count = 40'000;
  std::uint32_t max_tasks_per_node = 512;
  std::uint32_t max_batch_requeue = 5;
  std::uint32_t first_job_id = 1;
  std::uint64_t max_script_size = 4U << 20;  ///< bytes
  std::uint64_t default_memory_per_cpu_mib = 0;
  std::uint64_t default_memory_per_node_mib = 0;
  std::uint64_t default_memory_per_gpu_mib = 0;
  std::uint64_t max_memory_per_cpu_mib = 0;
  std::uint64_t max_memory_per_node_mib = 0;
  bool is_job_requeue = true;
  bool is_job_file_append = false;
  bool is_enforce_part_limits = false;
  bool is_memory_consumable = true;  ///< SelectTypeParameters with _Memory
  bool is_core_consumable = true;    ///< CR_Core*: all threads of a core together
  std::uint8_t return_to_service = 0;
  std::uint8_t kill_on_bad_exit = 0;
  std::vector<std::uint32_t> requeue_exit;
  std::vector<std::uint32_t> requeue_exit_hold;
  std::vector<std::string> gres_types;
  std::string mail_program;
  std::int32_t log_retention_days = -1;  ///< of trials, after their experiment's end; -1: for ever
  Duration resize_interval =
      Duration::minutes(10);  ///< that an elastic trial runs at least before it is resized
  Duration launch_timeout =
      Duration::seconds(60);  ///< from a step's creation until its nodes run it, or it is given up
  bool is_backfill = true;    ///< SchedulerType=sched/backfill
  std::uint32_t backfill_windows = 500;  ///< bf_max_job_test: the jobs that future room is kept for
  /// MusterBackfillDepth: of these, those before which fewer others wait for some node that they
  /// could use; 0: all.
  std::uint32_t backfill_depth = 0;
  /// bf_interval: how long windows may stand before they are sought anew.
  Duration backfill_interval = Duration::seconds(30);
  /// Every key as it is in force, for `scontrol show config`, in Slurm's order.
  std::vector<std::pair<std::string, std::string>> shown;
  friend bool operator==(const ClusterSettings&, const ClusterSettings&) = default;
};

/// Everything that a change of configuration sets at once.
struct ClusterConfig {
  ClusterSettings settings;
  std::vector<NodeConfig> nodes;            ///< index = NodeIndex
  std::vector<PartitionConfig> partitions;  ///< index = PartitionIndex
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

}  // namespace muster
