#include "slurm/conf/conf_shown.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster {
namespace {

// What `scontrol show config` of Slurm 22.05.8 prints, in its order, for a small file with
// DefMemPerCPU.
constexpr std::string_view kSlurmKeys[] = {
    "AccountingStorageBackupHost",
    "AccountingStorageEnforce",
    "AccountingStorageHost",
    "AccountingStorageExternalHost",
    "AccountingStorageParameters",
    "AccountingStoragePort",
    "AccountingStorageTRES",
    "AccountingStorageType",
    "AccountingStorageUser",
    "AccountingStoreFlags",
    "AcctGatherEnergyType",
    "AcctGatherFilesystemType",
    "AcctGatherInterconnectType",
    "AcctGatherNodeFreq",
    "AcctGatherProfileType",
    "AllowSpecResourcesUsage",
    "AuthAltTypes",
    "AuthAltParameters",
    "AuthInfo",
    "AuthType",
    "BatchStartTimeout",
    "BcastExclude",
    "BcastParameters",
    "BOOT_TIME",
    "BurstBufferType",
    "CliFilterPlugins",
    "ClusterName",
    "CommunicationParameters",
    "CompleteWait",
    "CoreSpecPlugin",
    "CpuFreqDef",
    "CpuFreqGovernors",
    "CredType",
    "DebugFlags",
    "DefMemPerCPU",
    "DependencyParameters",
    "DisableRootJobs",
    "EioTimeout",
    "EnforcePartLimits",
    "Epilog",
    "EpilogMsgTime",
    "EpilogSlurmctld",
    "ExtSensorsType",
    "ExtSensorsFreq",
    "FederationParameters",
    "FirstJobId",
    "GetEnvTimeout",
    "GresTypes",
    "GpuFreqDef",
    "GroupUpdateForce",
    "GroupUpdateTime",
    "HASH_VAL",
    "HealthCheckInterval",
    "HealthCheckNodeState",
    "HealthCheckProgram",
    "InactiveLimit",
    "InteractiveStepOptions",
    "JobAcctGatherFrequency",
    "JobAcctGatherType",
    "JobAcctGatherParams",
    "JobCompHost",
    "JobCompLoc",
    "JobCompPort",
    "JobCompType",
    "JobCompUser",
    "JobContainerType",
    "JobCredentialPrivateKey",
    "JobCredentialPublicCertificate",
    "JobDefaults",
    "JobFileAppend",
    "JobRequeue",
    "JobSubmitPlugins",
    "KillOnBadExit",
    "KillWait",
    "LaunchParameters",
    "LaunchType",
    "Licenses",
    "LogTimeFormat",
    "MailDomain",
    "MailProg",
    "MaxArraySize",
    "MaxDBDMsgs",
    "MaxJobCount",
    "MaxJobId",
    "MaxMemPerNode",
    "MaxNodeCount",
    "MaxStepCount",
    "MaxTasksPerNode",
    "MCSPlugin",
    "MCSParameters",
    "MessageTimeout",
    "MinJobAge",
    "MpiDefault",
    "MpiParams",
    "MULTIPLE_SLURMD",
    "NEXT_JOB_ID",
    "NodeFeaturesPlugins",
    "OverTimeLimit",
    "PluginDir",
    "PlugStackConfig",
    "PowerParameters",
    "PowerPlugin",
    "PreemptMode",
    "PreemptType",
    "PreemptExemptTime",
    "PrEpParameters",
    "PrEpPlugins",
    "PriorityParameters",
    "PrioritySiteFactorParameters",
    "PrioritySiteFactorPlugin",
    "PriorityType",
    "PrivateData",
    "ProctrackType",
    "Prolog",
    "PrologEpilogTimeout",
    "PrologSlurmctld",
    "PrologFlags",
    "PropagatePrioProcess",
    "PropagateResourceLimits",
    "PropagateResourceLimitsExcept",
    "RebootProgram",
    "ReconfigFlags",
    "RequeueExit",
    "RequeueExitHold",
    "ResumeFailProgram",
    "ResumeProgram",
    "ResumeRate",
    "ResumeTimeout",
    "ResvEpilog",
    "ResvOverRun",
    "ResvProlog",
    "ReturnToService",
    "RoutePlugin",
    "SchedulerParameters",
    "SchedulerTimeSlice",
    "SchedulerType",
    "ScronParameters",
    "SelectType",
    "SelectTypeParameters",
    "SlurmUser",
    "SlurmctldAddr",
    "SlurmctldDebug",
    "SlurmctldHost[0]",
    "SlurmctldLogFile",
    "SlurmctldPort",
    "SlurmctldSyslogDebug",
    "SlurmctldPrimaryOffProg",
    "SlurmctldPrimaryOnProg",
    "SlurmctldTimeout",
    "SlurmctldParameters",
    "SlurmdDebug",
    "SlurmdLogFile",
    "SlurmdParameters",
    "SlurmdPidFile",
    "SlurmdPort",
    "SlurmdSpoolDir",
    "SlurmdSyslogDebug",
    "SlurmdTimeout",
    "SlurmdUser",
    "SlurmSchedLogFile",
    "SlurmSchedLogLevel",
    "SlurmctldPidFile",
    "SlurmctldPlugstack",
    "SLURM_CONF",
    "SLURM_VERSION",
    "SrunEpilog",
    "SrunPortRange",
    "SrunProlog",
    "StateSaveLocation",
    "SuspendExcNodes",
    "SuspendExcParts",
    "SuspendProgram",
    "SuspendRate",
    "SuspendTime",
    "SuspendTimeout",
    "SwitchParameters",
    "SwitchType",
    "TaskEpilog",
    "TaskPlugin",
    "TaskPluginParam",
    "TaskProlog",
    "TCPTimeout",
    "TmpFS",
    "TopologyParam",
    "TopologyPlugin",
    "TrackWCKey",
    "TreeWidth",
    "UsePam",
    "UnkillableStepProgram",
    "UnkillableStepTimeout",
    "VSizeFactor",
    "WaitTime",
    "X11Parameters",
};
/// Of later versions, where they stand in the alphabet.
const std::set<std::string_view> kLaterKeys = {"MaxBatchRequeue", "SuspendExcStates"};

ShownConfig shown_config(const std::string& lines) {
  const auto conf =
      parse_slurm_conf("slurm.conf", "ClusterName=c\nSlurmctldHost=ctl(10.0.0.1)\n" + lines +
                                         "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n");
  EXPECT_TRUE(conf.has_value()) << conf.error().text();
  return conf.has_value() ? conf->cluster.settings.shown : ShownConfig();
}
std::string value(ShownConfig config, std::string_view key) {
  const std::string* found = find_shown(config, key);
  return found == nullptr ? "absent" : *found;
}

TEST(ShownConfig, HasEveryKeyOfSlurmInItsOrder) {
  std::vector<std::string> keys;
  for (const auto& [key, text] : shown_config("DefMemPerCPU=100\n")) {
    if (key.empty()) break;
    if (!kLaterKeys.contains(key) && !key.starts_with("Muster")) keys.push_back(key);
  }
  const std::vector<std::string> expected(std::begin(kSlurmKeys), std::end(kSlurmKeys));
  EXPECT_EQ(keys, expected);
}

TEST(ShownConfig, HasOurOwnKeysAndThoseOfCgroupsAfterThem) {
  const ShownConfig all = shown_config("MusterLogRetention=3\n");
  const auto heading = std::ranges::find(all, "", &ShownConfig::value_type::first);
  ASSERT_NE(heading, all.end());
  EXPECT_EQ(heading->second, "Cgroup Support Configuration:");
  EXPECT_EQ(value(all, "MusterLogRetention"), "3");
  EXPECT_EQ(value(all, "ConstrainRAMSpace"), "no");
  std::set<std::string> once;
  for (const auto& [key, text] : all)
    EXPECT_TRUE(once.insert(key).second) << key << " is shown twice";
}

TEST(ShownConfig, KeysThatAreNotHonouredSayWhatIsDone) {
  const ShownConfig asked = shown_config(
      "TreeWidth=30\nTaskPlugin=task/none\nAccountingStorageType=accounting_storage/"
      "slurmdbd\nPriorityType=priority/multifactor\nTopologyPlugin=topology/none\n");
  EXPECT_EQ(value(asked, "TreeWidth"), "65533") << "nodes are spoken to directly";
  EXPECT_EQ(value(asked, "TaskPlugin"), "task/affinity");
  EXPECT_EQ(value(asked, "AccountingStorageType"), "accounting_storage/muster");
  EXPECT_EQ(value(asked, "PriorityType"), "priority/basic");
  EXPECT_EQ(value(asked, "TopologyPlugin"), "topology/flat");
  EXPECT_EQ(value(asked, "SchedulerType"), "sched/backfill");
}

TEST(ShownConfig, BackfillingIsShownAsItIsSet) {
  const ShownConfig given = shown_config(
      "SchedulerType=sched/backfill\nSchedulerParameters=bf_max_job_test=7,bf_interval=60\n");
  EXPECT_EQ(value(given, "SchedulerType"), "sched/backfill");
  EXPECT_EQ(value(given, "SchedulerParameters"), "bf_max_job_test=7,bf_interval=60");
  for (const char* none : {"SchedulerType=sched/builtin\n", "SchedulerParameters=bf_interval=-1\n"})
    EXPECT_EQ(value(shown_config(none), "SchedulerType"), "sched/builtin") << none;
}

TEST(ShownConfig, HonouredKeysFollowTheFile) {
  const ShownConfig given = shown_config(
      "MaxArraySize=50\nSelectTypeParameters=CR_CPU\nGresTypes=gpu,nic\nSlurmctldHost="
      "b\nMusterLaunchTimeout=7\nSlurmdParameters=config_overrides\nMaxMemPerCPU=9\n");
  const std::pair<const char*, const char*> cases[] = {
      {"MaxArraySize", "50"},
      {"SelectTypeParameters", "CR_CPU"},
      {"GresTypes", "gpu,nic"},
      {"SlurmctldHost[0]", "ctl(10.0.0.1)"},
      {"SlurmctldHost[1]", "b"},
      {"BatchStartTimeout", "7 sec"},
      {"SlurmdParameters", "config_overrides"},
      {"MaxMemPerCPU", "9"},
      {"MaxMemPerNode", "absent"},
      {"AccountingStorageTRES", "cpu,mem,node,billing,gres/gpu,gres/nic"},
      {"KillWait", "30 sec"},
  };
  for (const auto& [key, text] : cases) EXPECT_EQ(value(given, key), text) << key;
}

TEST(ShownConfig, UsersStandWithTheirNumbers) {
  ShownConfig config = shown_config("SlurmUser=slurm\n");
  show_users(config, "root", [](std::string_view name) -> std::optional<std::uint32_t> {
    return name == "root" ? std::optional(0U) : std::nullopt;
  });
  EXPECT_EQ(value(config, "SlurmdUser"), "root(0)");
  EXPECT_EQ(value(config, "SlurmUser"), "slurm") << "who is unknown here has no number";
}

}  // namespace
}  // namespace muster
