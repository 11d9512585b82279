// What scontrol show config shows, line for line as Slurm prints it, since sites compare the two.
// Keys that Muster has not show what they would be in a Slurm that does what Muster does.

#include "slurm/conf/conf_shown.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "slurm/conf/conf_cluster.h"
#include "slurm/conf/conf_form.h"
#include "text/words.h"

namespace muster {
namespace {

/// One line: a text of its own, a function, or, with neither, the row of that key in the table of
/// the cluster's keys.
struct Row {
  std::string_view key;
  std::optional<std::string_view> value;
  std::string (*show)(const SlurmConf&) = nullptr;  ///< an empty answer: the line is left out
};
constexpr Row text(std::string_view key, std::string_view value) { return {key, value, nullptr}; }
constexpr Row none(std::string_view key) { return {key, "(null)", nullptr}; }
constexpr Row own(std::string_view key) { return {key, std::nullopt, nullptr}; }
constexpr Row counted(std::string_view key, std::string (*show)(const SlurmConf&)) {
  return {key, std::nullopt, show};
}

constexpr std::string_view kControllers = "SlurmctldHost[n]";

const ClusterSettings& settings_of(const SlurmConf& conf) { return conf.cluster.settings; }

// The resources that are counted: GresTypes adds to them.
std::string show_tracked(const SlurmConf& conf) {
  std::string tracked = "cpu,mem,node,billing";
  for (const std::string& type : settings_of(conf).gres_types) tracked += ",gres/" + type;
  return tracked;
}
std::string show_launch_timeout(const SlurmConf& conf) {
  return conf_form::Seconds::show(settings_of(conf).launch_timeout);
}
std::string show_job_defaults(const SlurmConf& conf) {
  const std::uint64_t memory = settings_of(conf).default_memory_per_gpu_mib;
  return memory == 0 ? "(null)" : fmt::format("DefMemPerGPU={}", memory);
}
// Of the two ways to count memory Slurm shows the one that is in force.
std::string per_cpu(std::uint64_t mib) { return mib == 0 ? "" : fmt::format("{}", mib); }
std::string per_node(std::uint64_t of_cpu, std::uint64_t mib) {
  // The one that is not in force is left out, as Slurm leaves it out.
  return of_cpu != 0 ? "" : conf_form::Memory::show(mib);
}
std::string show_memory_per_cpu(const SlurmConf& conf) {
  return per_cpu(settings_of(conf).default_memory_per_cpu_mib);
}
std::string show_memory_per_node(const SlurmConf& conf) {
  return per_node(settings_of(conf).default_memory_per_cpu_mib,
                  settings_of(conf).default_memory_per_node_mib);
}
std::string show_most_memory_per_cpu(const SlurmConf& conf) {
  return per_cpu(settings_of(conf).max_memory_per_cpu_mib);
}
std::string show_most_memory_per_node(const SlurmConf& conf) {
  return per_node(settings_of(conf).max_memory_per_cpu_mib,
                  settings_of(conf).max_memory_per_node_mib);
}
std::string show_node_count(const SlurmConf& conf) {
  return fmt::format("{}", conf.cluster.nodes.size());
}
std::string show_scheduler_parameters(const SlurmConf& conf) {
  const ClusterSettings& settings = settings_of(conf);
  const ClusterSettings unset;
  std::vector<std::string> words;
  if (settings.max_script_size != unset.max_script_size)
    words.push_back(fmt::format("max_script_size={}", settings.max_script_size));
  if (settings.backfill_windows != unset.backfill_windows)
    words.push_back(fmt::format("bf_max_job_test={}", settings.backfill_windows));
  if (settings.backfill_interval != unset.backfill_interval)
    words.push_back(fmt::format("bf_interval={}", settings.backfill_interval.seconds()));
  // A key that was not set shows as (null).
  return words.empty() ? "(null)" : join(words, ",");
}
std::string show_scheduler_type(const SlurmConf& conf) {
  return settings_of(conf).is_backfill ? "sched/backfill" : "sched/builtin";
}
std::string show_slurmd_parameters(const SlurmConf& conf) {
  return conf.daemons.is_config_override ? "config_overrides" : "(null)";
}

/// In Slurm's order.
constexpr auto kRows = std::to_array<Row>({
    none("AccountingStorageBackupHost"),
    text("AccountingStorageEnforce", "none"),
    none("AccountingStorageHost"),
    none("AccountingStorageExternalHost"),
    none("AccountingStorageParameters"),
    text("AccountingStoragePort", "0"),
    counted("AccountingStorageTRES", &show_tracked),
    text("AccountingStorageType", "accounting_storage/muster"),
    none("AccountingStorageUser"),
    none("AccountingStoreFlags"),
    text("AcctGatherEnergyType", "acct_gather_energy/none"),
    text("AcctGatherFilesystemType", "acct_gather_filesystem/none"),
    text("AcctGatherInterconnectType", "acct_gather_interconnect/none"),
    text("AcctGatherNodeFreq", "0 sec"),
    text("AcctGatherProfileType", "acct_gather_profile/none"),
    text("AllowSpecResourcesUsage", "No"),
    none("AuthAltTypes"),
    none("AuthAltParameters"),
    none("AuthInfo"),
    text("AuthType", "auth/socket"),
    counted("BatchStartTimeout", &show_launch_timeout),
    none("BcastExclude"),
    none("BcastParameters"),
    text("BOOT_TIME", ""),
    none("BurstBufferType"),
    none("CliFilterPlugins"),
    own("ClusterName"),
    none("CommunicationParameters"),
    text("CompleteWait", "0 sec"),
    text("CoreSpecPlugin", "core_spec/none"),
    text("CpuFreqDef", "Unknown"),
    none("CpuFreqGovernors"),
    text("CredType", "cred/none"),
    none("DebugFlags"),
    counted("DefMemPerCPU", &show_memory_per_cpu),
    counted("DefMemPerNode", &show_memory_per_node),
    none("DependencyParameters"),
    text("DisableRootJobs", "No"),
    text("EioTimeout", "0"),
    own("EnforcePartLimits"),
    none("Epilog"),
    text("EpilogMsgTime", "0 usec"),
    none("EpilogSlurmctld"),
    text("ExtSensorsType", "ext_sensors/none"),
    text("ExtSensorsFreq", "0 sec"),
    none("FederationParameters"),
    own("FirstJobId"),
    text("GetEnvTimeout", "10 sec"),
    own("GresTypes"),
    none("GpuFreqDef"),
    text("GroupUpdateForce", "1"),
    text("GroupUpdateTime", "0 sec"),
    text("HASH_VAL", ""),
    text("HealthCheckInterval", "0 sec"),
    text("HealthCheckNodeState", "ANY"),
    none("HealthCheckProgram"),
    text("InactiveLimit", "0 sec"),
    none("InteractiveStepOptions"),
    text("JobAcctGatherFrequency", "0"),
    text("JobAcctGatherType", "jobacct_gather/linux"),
    none("JobAcctGatherParams"),
    none("JobCompHost"),
    none("JobCompLoc"),
    text("JobCompPort", "0"),
    text("JobCompType", "jobcomp/none"),
    none("JobCompUser"),
    text("JobContainerType", "job_container/none"),
    none("JobCredentialPrivateKey"),
    none("JobCredentialPublicCertificate"),
    counted("JobDefaults", &show_job_defaults),
    own("JobFileAppend"),
    own("JobRequeue"),
    none("JobSubmitPlugins"),
    own("KillOnBadExit"),
    own("KillWait"),
    none("LaunchParameters"),
    text("LaunchType", "launch/slurm"),
    none("Licenses"),
    text("LogTimeFormat", "iso8601_ms"),
    none("MailDomain"),
    own("MailProg"),
    own("MaxArraySize"),
    own("MaxBatchRequeue"),
    text("MaxDBDMsgs", "0"),
    own("MaxJobCount"),
    text("MaxJobId", "4294967294"),
    counted("MaxMemPerCPU", &show_most_memory_per_cpu),
    counted("MaxMemPerNode", &show_most_memory_per_node),
    counted("MaxNodeCount", &show_node_count),
    own("MaxStepCount"),
    own("MaxTasksPerNode"),
    text("MCSPlugin", "mcs/none"),
    none("MCSParameters"),
    text("MessageTimeout", "60 sec"),
    own("MinJobAge"),
    text("MpiDefault", "none"),
    none("MpiParams"),
    text("MULTIPLE_SLURMD", "Yes"),
    text("NEXT_JOB_ID", ""),
    none("NodeFeaturesPlugins"),
    own("OverTimeLimit"),
    none("PluginDir"),
    none("PlugStackConfig"),
    none("PowerParameters"),
    text("PowerPlugin", ""),
    text("PreemptMode", "OFF"),
    text("PreemptType", "preempt/none"),
    text("PreemptExemptTime", "00:00:00"),
    none("PrEpParameters"),
    none("PrEpPlugins"),
    none("PriorityParameters"),
    none("PrioritySiteFactorParameters"),
    none("PrioritySiteFactorPlugin"),
    text("PriorityType", "priority/basic"),
    text("PrivateData", "none"),
    text("ProctrackType", "proctrack/cgroup"),
    none("Prolog"),
    text("PrologEpilogTimeout", "65534"),
    none("PrologSlurmctld"),
    none("PrologFlags"),
    text("PropagatePrioProcess", "0"),
    text("PropagateResourceLimits", "ALL"),
    none("PropagateResourceLimitsExcept"),
    none("RebootProgram"),
    none("ReconfigFlags"),
    own("RequeueExit"),
    own("RequeueExitHold"),
    none("ResumeFailProgram"),
    none("ResumeProgram"),
    text("ResumeRate", "0 nodes/min"),
    text("ResumeTimeout", "0 sec"),
    none("ResvEpilog"),
    text("ResvOverRun", "0 min"),
    none("ResvProlog"),
    own("ReturnToService"),
    text("RoutePlugin", "route/default"),
    counted("SchedulerParameters", &show_scheduler_parameters),
    text("SchedulerTimeSlice", "0 sec"),
    counted("SchedulerType", &show_scheduler_type),
    none("ScronParameters"),
    own("SelectType"),
    own("SelectTypeParameters"),
    own("SlurmUser"),
    none("SlurmctldAddr"),
    text("SlurmctldDebug", "info"),
    {kControllers, {}, nullptr},
    own("SlurmctldLogFile"),
    own("SlurmctldPort"),
    none("SlurmctldSyslogDebug"),
    none("SlurmctldPrimaryOffProg"),
    none("SlurmctldPrimaryOnProg"),
    text("SlurmctldTimeout", "0 sec"),
    none("SlurmctldParameters"),
    text("SlurmdDebug", "info"),
    own("SlurmdLogFile"),
    counted("SlurmdParameters", &show_slurmd_parameters),
    none("SlurmdPidFile"),
    own("SlurmdPort"),
    own("SlurmdSpoolDir"),
    none("SlurmdSyslogDebug"),
    own("SlurmdTimeout"),
    text("SlurmdUser", ""),
    none("SlurmSchedLogFile"),
    text("SlurmSchedLogLevel", "0"),
    none("SlurmctldPidFile"),
    none("SlurmctldPlugstack"),
    text("SLURM_CONF", ""),
    text("SLURM_VERSION", ""),
    none("SrunEpilog"),
    text("SrunPortRange", "0-0"),
    none("SrunProlog"),
    own("StateSaveLocation"),
    none("SuspendExcNodes"),
    none("SuspendExcParts"),
    none("SuspendExcStates"),
    none("SuspendProgram"),
    text("SuspendRate", "0 nodes/min"),
    text("SuspendTime", "INFINITE"),
    text("SuspendTimeout", "0 sec"),
    none("SwitchParameters"),
    text("SwitchType", "switch/none"),
    none("TaskEpilog"),
    text("TaskPlugin", "task/affinity"),
    text("TaskPluginParam", "none"),
    none("TaskProlog"),
    text("TCPTimeout", "0 sec"),
    text("TmpFS", "/tmp"),
    none("TopologyParam"),
    text("TopologyPlugin", "topology/flat"),
    text("TrackWCKey", "No"),
    text("TreeWidth", "65533"),
    text("UsePam", "No"),
    none("UnkillableStepProgram"),
    text("UnkillableStepTimeout", "0 sec"),
    text("VSizeFactor", "0 percent"),
    text("WaitTime", "0 sec"),
    none("X11Parameters"),

});

/// What cgroups are used for: a step's processes are held together, and nothing is measured out.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kCgroupRows = {{
    {"AllowedKmemSpace", "(null)"},
    {"AllowedRAMSpace", "100.0%"},
    {"AllowedSwapSpace", "0.0%"},
    {"CgroupAutomount", "no"},
    {"CgroupMountpoint", "/sys/fs/cgroup"},
    {"CgroupPlugin", "(null)"},
    {"ConstrainCores", "no"},
    {"ConstrainDevices", "no"},
    {"ConstrainKmemSpace", "no"},
    {"ConstrainRAMSpace", "no"},
    {"ConstrainSwapSpace", "no"},
    {"IgnoreSystemd", "no"},
    {"IgnoreSystemdOnFailure", "no"},
    {"MaxKmemPercent", "100.0%"},
    {"MaxRAMPercent", "100.0%"},
    {"MaxSwapPercent", "100.0%"},
    {"MemorySwappiness", "(null)"},
    {"MinKmemSpace", "30 MB"},
    {"MinRAMSpace", "30 MB"},
}};

void add_controllers(const DaemonSettings& daemons, ShownConfig& shown) {
  for (std::size_t i = 0; i < daemons.controllers.size(); ++i) {
    const ControllerHost& host = daemons.controllers[i];
    const std::string address = host.address == host.name ? "" : fmt::format("({})", host.address);
    shown.emplace_back(fmt::format("SlurmctldHost[{}]", i), host.name + address);
  }
}

std::string value_of(const Row& row, const SlurmConf& conf) {
  // A row of a key takes its value from the key's own row.
  if (row.value) return std::string(*row.value);
  if (row.show != nullptr) return row.show(conf);
  const auto* key = find_conf_key(cluster_conf_keys(), row.key);
  return key == nullptr || key->show == nullptr ? "" : key->show(conf);
}

}  // namespace

ShownConfig shown_config(const SlurmConf& conf) {
  ShownConfig shown;
  for (const Row& row : kRows) {
    // As many lines as there are controllers, numbered from 0.
    if (row.key == kControllers) {
      add_controllers(conf.daemons, shown);
      continue;
    }
    std::string value = value_of(row, conf);
    // An empty text of a function leaves the line out; of a row it is a value.
    const bool is_left_out = row.show != nullptr && value.empty();
    if (!is_left_out) shown.emplace_back(row.key, std::move(value));
  }
  // Muster's own keys stand behind Slurm's.
  for (const auto& key : cluster_conf_keys()) {
    if (key.name.starts_with("Muster") && key.show != nullptr)
      shown.emplace_back(key.name, key.show(conf));
  }
  shown.emplace_back("", "Cgroup Support Configuration:");
  // cgroup.conf is shown as well, though nothing of it is taken.
  for (const auto& [key, value] : kCgroupRows) shown.emplace_back(key, value);
  return shown;
}

void show_users(ShownConfig& shown, std::string_view daemon_user,
                const std::function<std::optional<std::uint32_t>(std::string_view)>& uid_of) {
  // A name that this machine does not know shows without its number.
  const auto with_number = [&](const std::string& name) {
    const auto uid = uid_of(name);
    return uid ? fmt::format("{}({})", name, *uid) : name;
  };
  if (std::string* user = find_shown(shown, "SlurmdUser")) *user = daemon_user;
  for (const std::string_view key : {"SlurmUser", "SlurmdUser"}) {
    if (std::string* user = find_shown(shown, key)) *user = with_number(*user);
  }
}

std::string* find_shown(ShownConfig& shown, std::string_view key) {
  const auto found = std::ranges::find(shown, key, &ShownConfig::value_type::first);
  return found == shown.end() ? nullptr : &found->second;
}

}  // namespace muster
