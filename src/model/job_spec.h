// What a user asked for: a job as it was submitted. Immutable once submitted and shared by every
// replica of a process; `scontrol update` makes a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/shared.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/resource_request.h"
#include "model/text_pack.h"

namespace muster {

/// The texts of a job, each as the user wrote it unless said otherwise. Numbers are part of journal
/// and wire: append before kCount, never reuse.
enum class JobText : std::uint8_t {
  kName = 0,
  kUserName = 1,   ///< looked up from the verified uid
  kGroupName = 2,  ///< looked up from the gid
  kAccount = 3,
  kPartition = 4,  ///< one name, or several with commas
  kQos = 5,
  kWckey = 6,
  kComment = 7,
  kWorkDir = 8,   ///< absolute
  kStdOut = 9,    ///< pattern, made absolute; empty means the default
  kStdErr = 10,   ///< pattern; empty means "as standard output"
  kStdIn = 11,    ///< path; empty means /dev/null
  kCommand = 12,  ///< the script's path, or the command's words
  kSubmitLine = 13,
  kSubmitHost = 14,
  kFeatures = 15,     ///< -C: names joined by & and |
  kNodeList = 16,     ///< -w: a host list; all of it must be part of the allocation
  kExcludeList = 17,  ///< -x: a host list
  kDependency = 18,   ///< -d as given
  kMailUser = 19,
  kReservation = 20,
  kLicenses = 21,
  kGresPerNode = 22,  ///< canonical: "gpu:h100:2,nic:1"
  kGresPerJob = 23,   ///< canonical: "gpu:4"
  kGresPerTask = 24,  ///< canonical: "gpu:1"
  kGresPerSocket = 25,
  kArray = 26,  ///< -a as given
  kNetwork = 27,
  kExtra = 28,
  kBatchFeatures = 29,
  kPrefer = 30,
  kMcsLabel = 31,
  kTresBind = 32,
  kTresFreq = 33,
  kScriptArgs = 34,  ///< arguments of the batch script, joined by NUL
  kExport = 35,      ///< --export as given
  kAdminComment = 36,
  kMailType = 37,      ///< canonical: "BEGIN,END"
  kDistribution = 38,  ///< canonical: "block", "cyclic", "block:cyclic", "plane=4"
  kClusters = 39,
  kRlimits = 40,    ///< "NOFILE=1024,CORE=0,...": soft limits at submission
  kSubmitDir = 41,  ///< where it was submitted; empty: kWorkDir
  kCount = 42,
};

/// How the job shares its nodes. kDefault follows the partition.
enum class Sharing : std::uint8_t { kDefault = 0, kExclusive = 1, kShared = 2, kExclusiveUser = 3 };

/// How the job came to be, which decides who runs what.
enum class JobKind : std::uint8_t {
  kBatch = 0,        ///< sbatch: we run a script on the first node
  kInteractive = 1,  ///< salloc: the client runs the command; the allocation lives by a lease
  kRun = 2,          ///< srun alone: an allocation that ends with its only step
};

/// A job as asked for. Zero means "not given" wherever a field says nothing else.
struct JobSpec {
  TextPack<JobText> text;
  std::string_view name() const { return text.get(JobText::kName); }
  std::string_view get(JobText key) const { return text.get(key); }

  JobKind kind = JobKind::kBatch;
  UserId user;
  GroupId group;

  /// The texts as parsed and the numbers as given, but for what the memory rules of its partition
  /// make of them (`asked`). Other defaults of the partition and the cluster are filled in by
  /// resource_need() (state/resource_need.h), which leaves it as it is. `task_count`
  /// is what was given with -n or what follows from the other options. Invariant past the door
  /// (slurm/request_text.h): its lists are what the texts kGresPerNode, kGresPerJob, kGresPerTask,
  /// kFeatures, kPrefer, kNodeList and kExcludeList say. Jobs with equal requests share one, where
  /// they come in (state/request_pool.h).
  Shared<ResourceRequest> request;
  std::uint32_t tasks_per_socket = 0;
  std::uint32_t tasks_per_core = 0;
  Sharing sharing = Sharing::kDefault;
  std::uint32_t given = 0;  ///< bits of `given_option`: only those reach the environment

  // When.
  Duration time_limit;  ///< zero: the partition's default
  Duration time_min;
  TimePoint begin_time;
  TimePoint deadline;

  // How it is treated.
  std::int32_t nice = 0;
  std::uint32_t priority = 0;  ///< 0: computed
  bool is_held = false;
  bool is_requeue = true;  ///< effective: JobRequeue or --requeue/--no-requeue
  bool kill_on_invalid_dependency = false;
  bool is_immediate = false;
  bool is_kill_on_node_fail = true;  ///< false: --no-kill
  bool is_reboot = false;
  bool is_spread = false;
  bool wait_all_nodes = false;

  // How it runs.
  std::uint32_t umask = 022;
  std::uint8_t open_mode = 0;        ///< 0 default, 1 truncate, 2 append
  std::uint16_t signal_number = 0;   ///< --signal
  std::uint32_t signal_seconds = 0;  ///< how long before the end
  bool signal_batch_only = false;    ///< B:
  bool signal_at_reservation = false;
  std::uint32_t submit_session =
      0;  ///< the submitting process group's session id, for AllocNode:Sid
  std::uint16_t core_spec = 0;
  std::int32_t oom_kill_step = -1;

  BlobId script;
  BlobId environment;             ///< NUL-separated NAME=VALUE
  TrialId trial;                  ///< whose runs this job's are; 0: of no experiment
  std::uint32_t runs_before = 0;  ///< of that trial's former jobs

  /// What the user gave of the amounts in `request` that the partition's memory rules have changed:
  /// another partition's start from here. Unset, with no CPUs per task: they changed nothing.
  MemoryTerms asked;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// The field that `member` points to, of the job or of what it requests: tables of options and of
/// columns name both alike.
template <class T>
const T& field_of(const JobSpec& spec, T JobSpec::*member) {
  return spec.*member;
}
template <class T>
const T& field_of(const JobSpec& spec, T ResourceRequest::*member) {
  return (*spec.request).*member;
}
template <class T>
void set_field(JobSpec& spec, T JobSpec::*member, T value) {
  spec.*member = value;
}
template <class T>
void set_field(JobSpec& spec, T ResourceRequest::*member, T value) {
  (*spec.request.edit()).*member = value;
}

using JobSpecRef = std::shared_ptr<const JobSpec>;

/// Which options the user gave: only these appear in the job's environment and in some columns.
namespace given_option {
inline constexpr std::uint32_t kTaskCount = 1U << 0;
inline constexpr std::uint32_t kCpusPerTask = 1U << 1;
inline constexpr std::uint32_t kNodes = 1U << 2;
inline constexpr std::uint32_t kTasksPerNode = 1U << 3;
inline constexpr std::uint32_t kMemory = 1U << 4;
inline constexpr std::uint32_t kGpus = 1U << 5;
inline constexpr std::uint32_t kGpusPerNode = 1U << 6;
inline constexpr std::uint32_t kGpusPerTask = 1U << 7;
inline constexpr std::uint32_t kGres = 1U << 8;
inline constexpr std::uint32_t kDistribution = 1U << 9;
inline constexpr std::uint32_t kTimeLimit = 1U << 10;
inline constexpr std::uint32_t kPartition = 1U << 11;
inline constexpr std::uint32_t kThreadsPerCore = 1U << 12;
inline constexpr std::uint32_t kTasksPerSocket = 1U << 13;
inline constexpr std::uint32_t kTasksPerCore = 1U << 14;
inline constexpr std::uint32_t kTasksPerGpu = 1U << 15;
inline constexpr std::uint32_t kCpusPerGpu = 1U << 16;
inline constexpr std::uint32_t kRequeue = 1U << 17;
inline constexpr std::uint32_t kOpenMode = 1U << 18;
inline constexpr std::uint32_t kAccount = 1U << 19;
inline constexpr std::uint32_t kQos = 1U << 20;
inline constexpr std::uint32_t kExclusive = 1U << 21;
}  // namespace given_option

}  // namespace muster
