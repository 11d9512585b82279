#include "codec/conf_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "codec/conf_form.h"
#include "codec/launch_size.h"

namespace muster {
namespace {

using namespace conf_form;
using Key = ConfKey<SlurmConf>;

// The member of the settings, or of the daemons' settings, that a key is about.
template <auto Member>
constexpr auto kSetting = [](auto& conf) -> auto& {
  return conf.cluster.settings.*Member;
};
template <auto Member>
constexpr auto kDaemon = [](auto& conf) -> auto& {
  return conf.daemons.*Member;
};

template <auto Member, class Form>
constexpr Key setting(std::string_view name) {
  return conf_row<SlurmConf, kSetting<Member>, Form>(name);
}
template <auto Member>
constexpr auto kHttp = [](auto& conf) -> auto& {
  return conf.daemons.http.*Member;
};
template <auto Member, class Form>
constexpr Key http(std::string_view name) {
  return conf_row<SlurmConf, kHttp<Member>, Form>(name);
}
template <auto Member, class Form>
constexpr Key daemon(std::string_view name) {
  return conf_row<SlurmConf, kDaemon<Member>, Form>(name);
}
constexpr Key no_effect(std::string_view name, std::string_view reason) {
  return {name, ConfHandling::kNoEffect, reason, {}, nullptr, nullptr};
}
constexpr Key refused(std::string_view name, std::string_view neutral, std::string_view reason) {
  return {name, ConfHandling::kRefused, reason, neutral, nullptr, nullptr};
}

// NAME or NAME(ADDRESS); repeated for backups.
Status add_controller(SlurmConf& conf, std::string_view value) {
  const std::size_t open = value.find('(');
  const std::string name(value.substr(0, open));
  const bool has_address = open != std::string_view::npos;
  if (name.empty() || (has_address && (value.back() != ')' || value.size() < open + 3))) {
    return must_be("NAME or NAME(ADDRESS)");
  }
  const std::string address(has_address ? value.substr(open + 1, value.size() - open - 2) : name);
  if (conf.daemons.controllers.empty()) conf.cluster.settings.controller_host = name;
  conf.daemons.controllers.push_back({name, address});
  return {};
}

/// config_overrides: nodes are taken to have what their NodeName lines say, whatever their hosts have.
Status set_slurmd_parameters(SlurmConf& conf, std::string_view value) {
  for (const std::string_view word : split_words(value, ',')) {
    if (!equal_ignoring_case(word, "config_overrides")) {
      return fail(ErrorCode::kUnimplemented, "not supported", "of SlurmdParameters only config_overrides is");
    }
    conf.daemons.is_config_override = true;
  }
  return {};
}

Status set_enforce_part_limits(SlurmConf& conf, std::string_view value) {
  if (equal_ignoring_case(value, "ANY")) {
    return fail(ErrorCode::kUnimplemented, "not supported",
                "write ALL: every partition of the request must allow it");
  }
  conf.cluster.settings.is_enforce_part_limits =
      equal_ignoring_case(value, "ALL") || TRY(Flag::read(value));
  return {};
}

Status set_select_type(SlurmConf&, std::string_view value) {
  if (equal_ignoring_case(value, "select/cons_tres") ||
      equal_ignoring_case(value, "select/cons_res"))
    return {};
  return fail(
      ErrorCode::kUnimplemented, "not supported",
      "write select/cons_tres; for whole nodes set OverSubscribe=EXCLUSIVE on the partition");
}

/// Bounds on how much of the queue Slurm's scheduler looks at, and how often: the planner looks at all of it.
bool is_scheduler_bound(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kBounds = {
      "default_queue_depth", "partition_job_depth", "sched_interval",  "sched_min_interval", "sched_max_job_start",
      "batch_sched_delay",   "max_sched_time",      "max_rpc_cnt",     "defer",              "build_queue_timeout"};
  return name.starts_with("bf_") || std::ranges::find(kBounds, name) != kBounds.end();
}

Status set_scheduler_parameters(SlurmConf& conf, std::string_view value) {
  for (const std::string_view word : split_words(value, ',')) {
    const std::string name = lower(word.substr(0, word.find('=')));
    if (name == "max_script_size") {
      const auto size = parse_whole(word.substr(std::min(word.size(), name.size() + 1)), kCodeBytesMax);
      if (!size || *size == 0) return must_be("max_script_size=BYTES, at most 56 MiB");
      conf.cluster.settings.max_script_size = *size;
    } else if (is_scheduler_bound(name)) {
      conf.notes.push_back(fmt::format("SchedulerParameters={} has no effect: the planner looks at every job, whenever something changes", word));
    } else {
      return fail(ErrorCode::kUnimplemented, "not supported",
                  fmt::format("of SchedulerParameters Muster knows max_script_size and the bounds on scheduling, not {}", name));
    }
  }
  return {};
}

struct SelectWord {
  std::string_view name;
  bool is_core_consumable;
  bool is_memory_consumable;
};
constexpr std::array<SelectWord, 4> kSelectWords = {{{"CR_CPU", false, false},
                                                     {"CR_CPU_Memory", false, true},
                                                     {"CR_Core", true, false},
                                                     {"CR_Core_Memory", true, true}}};

Status set_select_parameters(SlurmConf& conf, std::string_view value) {
  for (const SelectWord& word : kSelectWords) {
    if (!equal_ignoring_case(value, word.name)) continue;
    conf.cluster.settings.is_core_consumable = word.is_core_consumable;
    conf.cluster.settings.is_memory_consumable = word.is_memory_consumable;
    return {};
  }
  return fail(ErrorCode::kUnimplemented, "not supported",
              "write one of CR_CPU, CR_CPU_Memory, CR_Core and CR_Core_Memory, alone");
}

std::string show_select_parameters(const SlurmConf& conf) {
  for (const SelectWord& word : kSelectWords) {
    if (word.is_core_consumable == conf.cluster.settings.is_core_consumable &&
        word.is_memory_consumable == conf.cluster.settings.is_memory_consumable) {
      return std::string(word.name);
    }
  }
  return {};
}

Status check_word(std::string_view value, std::span<const std::string_view> known) {
  for (const std::string_view word : known) {
    if (equal_ignoring_case(value, word)) return {};
  }
  std::vector<std::string> names(known.begin(), known.end());
  return fail(ErrorCode::kUnimplemented, "not supported", "write one of " + join(names, ", "));
}

/// "6817" or "6820-6830": of a range the first port is listened on, and clients need no other.
Status set_controller_port(SlurmConf& conf, std::string_view value) {
  const std::size_t dash = value.find('-');
  const std::uint64_t first = TRY(read_number(value.substr(0, dash), 1, 65535));
  conf.daemons.controller_port = static_cast<std::uint16_t>(first);
  if (dash == std::string_view::npos) return {};
  TRY(read_number(value.substr(dash + 1), first, 65535));
  conf.notes.push_back(fmt::format("SlurmctldPort={}: one port is enough, {} is used", value, first));
  return {};
}

/// The spelling of before Slurm 18.08.
Status set_control_machine(SlurmConf& conf, std::string_view value) {
  conf.notes.push_back(fmt::format("ControlMachine={} is an old spelling: write SlurmctldHost={}", value, value));
  return add_controller(conf, value);
}
/// Requires: ControlMachine came before it.
Status set_control_address(SlurmConf& conf, std::string_view value) {
  if (conf.daemons.controllers.empty()) {
    return fail(ErrorCode::kInvalidArgument, "it stands before ControlMachine", "write SlurmctldHost=NAME(ADDRESS) for both");
  }
  auto& controller = conf.daemons.controllers.front();
  controller.address = std::string(value);
  conf.notes.push_back(fmt::format("ControlAddr={} is an old spelling: write SlurmctldHost={}({})", value, controller.name, value));
  return {};
}

Status set_process_tracking(SlurmConf& conf, std::string_view value) {
  static constexpr std::array<std::string_view, 3> kKnown = {
      "proctrack/cgroup", "proctrack/linuxproc", "proctrack/pgid"};
  TRY(check_word(value, kKnown));
  conf.daemons.process_tracking = lower(value);
  return {};
}

Status set_task_plugins(SlurmConf& conf, std::string_view value) {
  static constexpr std::array<std::string_view, 3> kKnown = {"task/none", "task/affinity",
                                                             "task/cgroup"};
  std::vector<std::string> plugins;
  for (const std::string_view word : split_words(value, ',')) {
    const std::string plugin = word.find('/') == std::string_view::npos ? "task/" + lower(word) : lower(word);
    TRY(check_word(plugin, kKnown));
    plugins.push_back(plugin);
  }
  conf.daemons.task_plugins = std::move(plugins);
  return {};
}

constexpr std::string_view kIdentity =
    "callers are known by the kernel's word on one host and by TLS between hosts";
constexpr std::string_view kOwnTransport = "Muster's own connections need no such setting";
constexpr std::string_view kOwnHistory = "the controller keeps the history itself";
constexpr std::string_view kSystemdStarts =
    "the service manager knows the daemons; there are no pid files";
constexpr std::string_view kLogLevels = "daemons are told their log level when they are started";
constexpr std::string_view kMeasures = "stepd measures what it needs by itself";
constexpr std::string_view kNoScripts =
    "Muster runs no such program yet: take the key out, knowing that it will not run";
constexpr std::string_view kNoPower = "nodes are not powered up and down: take the key out";
constexpr std::string_view kNoPlugins =
    "plugins of Slurm cannot be loaded: take the key out, knowing that it does nothing";
constexpr std::string_view kNoWeights = "priorities are not weighted: take the key out or write 0";
constexpr std::string_view kNoPreemption = "jobs are not preempted: take the key out";
constexpr std::string_view kNotYet = "it is not implemented: take the key out";

constexpr auto kKeys = std::to_array<Key>({
    // --- honoured ---
    setting<&ClusterSettings::cluster_name, Text>("ClusterName"),
    {"SlurmctldHost", ConfHandling::kHonoured, {}, {}, &add_controller, nullptr},
    daemon<&DaemonSettings::user, Text>("SlurmUser"),
    {"SlurmctldPort",
     ConfHandling::kHonoured,
     {},
     {},
     &set_controller_port,
     [](const SlurmConf& conf) { return fmt::format("{}", conf.daemons.controller_port); }},
    {"ControlMachine", ConfHandling::kHonoured, {}, {}, &set_control_machine, nullptr},
    {"ControlAddr", ConfHandling::kHonoured, {}, {}, &set_control_address, nullptr},
    daemon<&DaemonSettings::agent_port, Number<std::uint16_t, 1, 65535>>("SlurmdPort"),
    daemon<&DaemonSettings::state_folder, Text>("StateSaveLocation"),
    daemon<&DaemonSettings::spool_folder, Text>("SlurmdSpoolDir"),
    daemon<&DaemonSettings::controller_address, Text>("MusterController"),
    http<&HttpSettings::listen, Text>("MusterHttp"),
    http<&HttpSettings::hosts, Names>("MusterHttpHosts"),
    http<&HttpSettings::services_listen, Text>("MusterHttpServices"),
    http<&HttpSettings::services_url, Text>("MusterHttpServicesUrl"),
    http<&HttpSettings::connections_max, Number<std::uint32_t, 16, 1'000'000>>("MusterHttpConnections"),
    http<&HttpSettings::peer_connections_max, Number<std::uint32_t, 4, 1'000'000>>("MusterHttpPeerConnections"),
    http<&HttpSettings::user_requests_max, Number<std::uint32_t, 4, 1'000'000>>("MusterHttpUserRequests"),
    http<&HttpSettings::token_days, Number<std::uint32_t, 1, 3650>>("MusterHttpTokenDays"),
    http<&HttpSettings::defaults_file, Text>("MusterDefaults"),
    daemon<&DaemonSettings::hosts_file, Text>("MusterHosts"),
    daemon<&DaemonSettings::operators, Names>("MusterOperators"),
    daemon<&DaemonSettings::controller_log, Text>("SlurmctldLogFile"),
    daemon<&DaemonSettings::agent_log, Text>("SlurmdLogFile"),
    {"ProctrackType",
     ConfHandling::kHonoured,
     {},
     {},
     &set_process_tracking,
     [](const SlurmConf& conf) { return conf.daemons.process_tracking; }},
    {"TaskPlugin",
     ConfHandling::kHonoured,
     {},
     {},
     &set_task_plugins,
     [](const SlurmConf& conf) { return Names::show(conf.daemons.task_plugins); }},
    setting<&ClusterSettings::kill_wait, Seconds>("KillWait"),
    setting<&ClusterSettings::min_job_age, Seconds>("MinJobAge"),
    setting<&ClusterSettings::slurmd_timeout, Seconds>("SlurmdTimeout"),
    setting<&ClusterSettings::over_time_limit, Minutes>("OverTimeLimit"),
    setting<&ClusterSettings::max_job_count, Number<std::uint32_t, 1, 100'000'000>>("MaxJobCount"),
    setting<&ClusterSettings::max_array_size, Number<std::uint32_t, 0, 4'000'001>>("MaxArraySize"),
    setting<&ClusterSettings::max_step_count, Number<std::uint32_t, 1, 1'000'000'000>>(
        "MaxStepCount"),
    setting<&ClusterSettings::max_tasks_per_node, Number<std::uint32_t, 1, 65533>>(
        "MaxTasksPerNode"),
    setting<&ClusterSettings::max_batch_requeue, Number<std::uint32_t, 0, 1'000'000>>(
        "MaxBatchRequeue"),
    setting<&ClusterSettings::first_job_id, Number<std::uint32_t, 1, 0x03ff0000>>("FirstJobId"),
    setting<&ClusterSettings::default_memory_per_cpu_mib, Memory>("DefMemPerCPU"),
    setting<&ClusterSettings::default_memory_per_node_mib, Memory>("DefMemPerNode"),
    setting<&ClusterSettings::default_memory_per_gpu_mib, Memory>("DefMemPerGPU"),
    setting<&ClusterSettings::max_memory_per_cpu_mib, Memory>("MaxMemPerCPU"),
    setting<&ClusterSettings::max_memory_per_node_mib, Memory>("MaxMemPerNode"),
    setting<&ClusterSettings::is_job_requeue, Flag>("JobRequeue"),
    setting<&ClusterSettings::is_job_file_append, Flag>("JobFileAppend"),
    {"EnforcePartLimits",
     ConfHandling::kHonoured,
     {},
     {},
     &set_enforce_part_limits,
     [](const SlurmConf& conf) {
       return std::string(conf.cluster.settings.is_enforce_part_limits ? "ALL" : "NO");
     }},
    {"SelectType",
     ConfHandling::kHonoured,
     {},
     {},
     &set_select_type,
     [](const SlurmConf&) { return std::string("select/cons_tres"); }},
    {"SelectTypeParameters",
     ConfHandling::kHonoured,
     {},
     {},
     &set_select_parameters,
     &show_select_parameters},
    setting<&ClusterSettings::return_to_service, Number<std::uint8_t, 0, 2>>("ReturnToService"),
    setting<&ClusterSettings::kill_on_bad_exit, Number<std::uint8_t, 0, 1>>("KillOnBadExit"),
    setting<&ClusterSettings::requeue_exit, ExitCodes>("RequeueExit"),
    setting<&ClusterSettings::requeue_exit_hold, ExitCodes>("RequeueExitHold"),
    setting<&ClusterSettings::gres_types, Names>("GresTypes"),
    {"SchedulerParameters", ConfHandling::kHonoured, {}, {}, &set_scheduler_parameters, nullptr},
    setting<&ClusterSettings::mail_program, Text>("MailProg"),
    setting<&ClusterSettings::log_retention_days, Days>("MusterLogRetention"),
    setting<&ClusterSettings::resize_interval, Seconds>("MusterResizeInterval"),
    setting<&ClusterSettings::launch_timeout, Seconds>("MusterLaunchTimeout"),
    // --- accepted without effect ---
    no_effect("MusterHttpOpenUser", "nobody logs in without a password: muster token --once prints one for once"),
    no_effect("AuthType", kIdentity),
    no_effect("AuthInfo", kIdentity),
    no_effect("AuthAltTypes", kIdentity),
    no_effect("AuthAltParameters", kIdentity),
    no_effect("CredType", kIdentity),
    no_effect("SlurmdUser", "the agent runs as who starts it"),
    no_effect("SlurmctldPidFile", kSystemdStarts),
    no_effect("SlurmdPidFile", kSystemdStarts),
    no_effect("SlurmctldDebug", kLogLevels),
    no_effect("SlurmdDebug", kLogLevels),
    no_effect("SlurmctldSyslogDebug", kLogLevels),
    no_effect("SlurmdSyslogDebug", kLogLevels),
    no_effect("SlurmSchedLogFile", kLogLevels),
    no_effect("SlurmSchedLogLevel", kLogLevels),
    no_effect("DebugFlags", kLogLevels),
    no_effect("LogTimeFormat", kLogLevels),
    no_effect("PluginDir", "there are no plugins to find"),
    no_effect("MessageTimeout", kOwnTransport),
    no_effect("TCPTimeout", kOwnTransport),
    no_effect("EioTimeout", kOwnTransport),
    no_effect("EpilogMsgTime", kOwnTransport),
    no_effect("TreeWidth", kOwnTransport),
    no_effect("SrunPortRange", kOwnTransport),
    no_effect("CommunicationParameters", kOwnTransport),
    no_effect("SlurmctldTimeout", kOwnTransport),
    no_effect("BatchStartTimeout", "a launch is repeated until its node has taken it or is down"),
    no_effect("MaxNodeCount", "the number of nodes has no bound to set"),
    no_effect("SchedulerType", "there is one planner"),
    no_effect("SchedulerTimeSlice", "jobs are not time-sliced"),
    no_effect("PriorityType", "weights are refused by name where they are not 0"),
    no_effect("PriorityDecayHalfLife", "no weight is in force that would use it"),
    no_effect("PriorityCalcPeriod", "no weight is in force that would use it"),
    no_effect("PriorityMaxAge", "no weight is in force that would use it"),
    no_effect("AccountingStorageType", kOwnHistory),
    no_effect("AccountingStorageHost", kOwnHistory),
    no_effect("AccountingStorageBackupHost", kOwnHistory),
    no_effect("AccountingStoragePort", kOwnHistory),
    no_effect("AccountingStorageUser", kOwnHistory),
    no_effect("AccountingStoragePass", kOwnHistory),
    no_effect("AccountingStorageTRES", kOwnHistory),
    no_effect("AccountingStoreFlags", kOwnHistory),
    no_effect("MaxDBDMsgs", kOwnHistory),
    no_effect("JobAcctGatherType", kMeasures),
    no_effect("JobAcctGatherFrequency", kMeasures),
    no_effect("UnkillableStepTimeout", "a step that cannot be killed is shown as long as it lives"),
    no_effect("ResvOverRun", "there are no reservations that could overrun"),
    no_effect("TmpFS", "TmpDisk on the node line says what there is"),
    no_effect("MailDomain", "it is the mail program's to add"),
    no_effect("FastSchedule", "it is an old key: SlurmdParameters=config_overrides is what FastSchedule=2 meant"),
    no_effect("X11Parameters", "there is no X11 forwarding to adjust"),
    // --- refused by name ---
    refused("BackupController", "", "write a second SlurmctldHost=NAME(ADDRESS)"),
    refused("DefCpuPerGPU", "0", "set it on the partitions, or on PartitionName=DEFAULT"),
    refused("AccountingStorageEnforce", "none|0",
            "limits and associations are not enforced from here: take the key out"),
    refused("PrivateData", "none",
            "jobs and nodes are visible to every user: take the key out, knowing that"),
    refused("InactiveLimit", "0", kNotYet),
    refused("MaxJobId", "67043328|999999999", "ids rise up to 4294967294 and are not used again: take the key out"),
    refused("Licenses", "", kNotYet),
    refused("WaitTime", "0", kNotYet),
    refused("CompleteWait", "0", kNotYet),
    refused("DisableRootJobs", "NO", kNotYet),
    refused("VSizeFactor", "0", kNotYet),
    refused("UsePAM", "0", kNotYet),
    refused("TrackWCKey", "NO", kNotYet),
    refused("MpiDefault", "none|pmi2|pmix", kNotYet),
    refused("MpiParams", "", kNotYet),
    refused("SwitchType", "switch/none", kNotYet),
    refused("SwitchParameters", "", kNotYet),
    refused("JobCompType", "jobcomp/none", kNotYet),
    refused("JobCompLoc", "", kNotYet),
    refused("JobAcctGatherParams", "", kNotYet),
    refused("AcctGatherEnergyType", "acct_gather_energy/none", kNotYet),
    refused("AcctGatherNodeFreq", "0", kNotYet),
    refused("TopologyPlugin", "topology/flat|topology/none|topology/default", kNotYet),
    refused("TopologyParam", "", kNotYet),
    refused("MCSPlugin", "mcs/none", kNotYet),
    refused("FederationParameters", "", kNotYet),
    refused("DependencyParameters", "", kNotYet),
    refused("LaunchParameters", "", kNotYet),
    refused("TaskPluginParam", "none|autobind=none", kNotYet),
    refused("InteractiveStepOptions", "", kNotYet),
    refused("BcastParameters", "", kNotYet),
    refused("PropagateResourceLimits", "ALL",
            "all soft limits of the submission are set: take the key out"),
    refused("PropagateResourceLimitsExcept", "",
            "all soft limits of the submission are set: take the key out"),
    refused("SlurmctldParameters", "enable_configless", kNotYet),
    {"SlurmdParameters", ConfHandling::kHonoured, {}, {}, set_slurmd_parameters, nullptr},
    refused("NamespaceType", "namespace/none", kNotYet),
    refused("JobContainerType", "job_container/none", kNotYet),
    refused("PreemptType", "preempt/none", kNoPreemption),
    refused("PreemptMode", "OFF", kNoPreemption),
    refused("PreemptParameters", "", kNoPreemption),
    refused("PreemptExemptTime", "0|00:00:00", kNoPreemption),
    refused("PriorityWeightAge", "0", kNoWeights),
    refused("PriorityWeightAssoc", "0", kNoWeights),
    refused("PriorityWeightFairshare", "0", kNoWeights),
    refused("PriorityWeightJobSize", "0", kNoWeights),
    refused("PriorityWeightPartition", "0", kNoWeights),
    refused("PriorityWeightQOS", "0", kNoWeights),
    refused("PriorityWeightTRES", "", kNoWeights),
    refused("PriorityFlags", "", kNoWeights),
    refused("PriorityFavorSmall", "NO", kNoWeights),
    refused("PriorityUsageResetPeriod", "NONE", kNoWeights),
    refused("Prolog", "", kNoScripts),
    refused("Epilog", "", kNoScripts),
    refused("PrologSlurmctld", "", kNoScripts),
    refused("EpilogSlurmctld", "", kNoScripts),
    refused("TaskProlog", "", kNoScripts),
    refused("TaskEpilog", "", kNoScripts),
    refused("SrunProlog", "", kNoScripts),
    refused("SrunEpilog", "", kNoScripts),
    refused("PrologFlags", "", kNoScripts),
    refused("PrologEpilogTimeout", "", kNoScripts),
    refused("HealthCheckProgram", "", kNoScripts),
    refused("HealthCheckInterval", "0", kNoScripts),
    refused("HealthCheckNodeState", "", kNoScripts),
    refused("RebootProgram", "", kNoScripts),
    refused("UnkillableStepProgram", "", kNoScripts),
    refused("JobSubmitPlugins", "", kNoPlugins),
    refused("CliFilterPlugins", "", kNoPlugins),
    refused("PlugStackConfig", "", kNoPlugins),
    refused("SuspendProgram", "", kNoPower),
    refused("ResumeProgram", "", kNoPower),
    refused("ResumeFailProgram", "", kNoPower),
    refused("SuspendTime", "INFINITE|-1", kNoPower),
    refused("SuspendTimeout", "", kNoPower),
    refused("ResumeTimeout", "", kNoPower),
    refused("SuspendRate", "", kNoPower),
    refused("ResumeRate", "", kNoPower),
    refused("SuspendExcNodes", "", kNoPower),
    refused("SuspendExcParts", "", kNoPower),
});

}  // namespace

std::span<const ConfKey<SlurmConf>> cluster_conf_keys() { return kKeys; }

std::vector<std::pair<std::string, std::string>> shown_controllers(const DaemonSettings& daemons) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const ControllerHost& host : daemons.controllers) {
    const std::string address = host.address == host.name ? "" : fmt::format("({})", host.address);
    shown.emplace_back(fmt::format("SlurmctldHost[{}]", shown.size()), host.name + address);
  }
  return shown;
}

}  // namespace muster
