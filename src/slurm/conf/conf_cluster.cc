// Keys of slurm.conf, each with what is done with it: read, accepted without effect, or refused by
// name with the way out. A key that is missing here is unknown to Muster, and that is said of it;
// a key that is refused names the value with which it may stay in a file.

#include "slurm/conf/conf_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "slurm/conf/conf_form.h"
#include "text/launch_size.h"

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
// Accepted so that a site's file can be read: it asks for something that is true or unneeded.
constexpr Key no_effect(std::string_view name, std::string_view reason) {
  return {name, ConfHandling::kNoEffect, reason, {}, nullptr, nullptr};
}
// Refused: to ignore it would run something other than what the file says.
constexpr Key refused(std::string_view name, std::string_view neutral, std::string_view reason) {
  return {name, ConfHandling::kRefused, reason, neutral, nullptr, nullptr};
}
/// A spelling that has been replaced, and how it is taken.
constexpr Key old(std::string_view name, std::string_view replacement,
                  Status (*set)(SlurmConf&, std::string_view)) {
  return {name, ConfHandling::kHonoured, {}, {}, set, nullptr, replacement};
}
/// A finding about a value that was taken; whoever reads the file adds the place.
void add_finding(SlurmConf& conf, ConfFindingKind kind, std::string_view key, std::string text,
                 std::string remedy) {
  conf.findings.push_back({kind, "", std::string(key), std::move(text), std::move(remedy)});
}

// NAME or NAME(ADDRESS); repeated for backups, which are known and not started.
Status add_controller(SlurmConf& conf, std::string_view value) {
  const std::size_t open = value.find('(');
  const std::string name(value.substr(0, open));
  const bool has_address = open != std::string_view::npos;
  if (name.empty() || (has_address && (value.back() != ')' || value.size() < open + 3))) {
    return must_be("NAME or NAME(ADDRESS)");
  }
  const std::string address(has_address ? value.substr(open + 1, value.size() - open - 2) : name);
  if (conf.daemons.controllers.empty()) {
    conf.cluster.settings.controller_host = name;
  } else {
    add_finding(conf, ConfFindingKind::kNoEffect, "SlurmctldHost",
                fmt::format("controller {} is no backup of {}", name,
                            conf.daemons.controllers.front().name),
                "there is one controller, the first one named");
  }
  conf.daemons.controllers.push_back({name, address});
  return {};
}

/// config_overrides: nodes are taken to have what their NodeName lines say, whatever their hosts
/// have.
Status set_slurmd_parameters(SlurmConf& conf, std::string_view value) {
  // Words of one key that are not supported are refused one by one: one silent word would be
  // worse.
  for (const std::string_view word : split_words(value, ',')) {
    if (!equal_ignoring_case(word, "config_overrides")) {
      return fail(ErrorCode::kUnimplemented, "not supported",
                  "of SlurmdParameters only config_overrides is");
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
  const bool is_all = equal_ignoring_case(value, "ALL");
  conf.cluster.settings.is_enforce_part_limits = is_all || TRY(Flag::read(value));
  if (conf.cluster.settings.is_enforce_part_limits && !is_all) {
    add_finding(
        conf, ConfFindingKind::kOld, "EnforcePartLimits",
        fmt::format(
            "EnforcePartLimits={} is taken as ALL: every partition of a request must allow it",
            value),
        "write ALL");
  }
  return {};
}

Status set_select_type(SlurmConf&, std::string_view value) {
  // cons_res is the older name of what cons_tres does.
  if (equal_ignoring_case(value, "select/cons_tres") ||
      equal_ignoring_case(value, "select/cons_res"))
    return {};
  return fail(
      ErrorCode::kUnimplemented, "not supported",
      "write select/cons_tres; for whole nodes set OverSubscribe=EXCLUSIVE on the partition");
}

/// Bounds on how much of the queue Slurm's scheduler looks at, and how often: the planner looks at
/// all of it.
bool is_scheduler_bound(std::string_view name) {
  // These bound Slurm's scheduler, whose work the planner does in other ways.
  static constexpr std::array<std::string_view, 10> kBounds = {
      "default_queue_depth", "partition_job_depth", "sched_interval",
      "sched_min_interval",  "sched_max_job_start", "batch_sched_delay",
      "max_sched_time",      "max_rpc_cnt",         "defer",
      "build_queue_timeout"};
  return name.starts_with("bf_") || std::ranges::find(kBounds, name) != kBounds.end();
}

/// A script is kept in the journal, with everything else of a submission.
Status set_max_script_size(SlurmConf& conf, std::string_view value) {
  const auto size = parse_whole(value, kCodeBytesMax);
  if (!size || *size == 0) return must_be("max_script_size=BYTES, at most 56 MiB");
  conf.cluster.settings.max_script_size = *size;
  return {};
}
Status set_bf_max_job_test(SlurmConf& conf, std::string_view value) {
  const auto count = parse_whole(value, 1'000'000);
  if (!count || *count == 0) return must_be("bf_max_job_test=1 to 1000000");
  conf.cluster.settings.backfill_windows = static_cast<std::uint32_t>(*count);
  return {};
}
Status set_bf_interval(SlurmConf& conf, std::string_view value) {
  ClusterSettings& settings = conf.cluster.settings;
  const auto seconds = parse_whole(value, 10'800);
  if (value == "-1") {
    settings.is_backfill = false;
  } else if (!seconds || *seconds == 0) {
    return must_be("bf_interval=1 to 10800 seconds, or -1 for no backfilling");
  } else {
    settings.backfill_interval = Duration::seconds(static_cast<std::int64_t>(*seconds));
  }
  return {};
}

struct SchedulerParameter {
  std::string_view name;
  Status (*set)(SlurmConf&, std::string_view);
};
constexpr std::array<SchedulerParameter, 3> kSchedulerParameters = {
    {{"max_script_size", set_max_script_size},
     {"bf_max_job_test", set_bf_max_job_test},
     {"bf_interval", set_bf_interval}}};

Status set_scheduler_parameters(SlurmConf& conf, std::string_view value) {
  std::vector<std::string> unknown;
  for (const std::string_view word : split_words(value, ',')) {
    const std::string name = lower(word.substr(0, word.find('=')));
    const auto known = std::ranges::find(kSchedulerParameters, name, &SchedulerParameter::name);
    if (known != kSchedulerParameters.end()) {
      TRY(known->set(conf, word.substr(std::min(word.size(), name.size() + 1))));
    } else if (is_scheduler_bound(name)) {
      add_finding(conf, ConfFindingKind::kNoEffect, "SchedulerParameters",
                  fmt::format("SchedulerParameters={} has no effect", word),
                  "the planner looks at every job, whenever something changes");
    } else {
      unknown.push_back(name);
    }
  }
  if (unknown.empty()) return {};
  return fail(ErrorCode::kUnimplemented, "not supported",
              fmt::format("of SchedulerParameters Muster knows max_script_size, bf_max_job_test, "
                          "bf_interval and the bounds on scheduling, not {}",
                          join(unknown, ", ")));
}

Status set_scheduler_type(SlurmConf& conf, std::string_view value) {
  if (equal_ignoring_case(value, "sched/builtin")) {
    conf.cluster.settings.is_backfill = false;
  } else if (!equal_ignoring_case(value, "sched/backfill")) {
    return must_be("sched/backfill or sched/builtin");
  }
  return {};
}

struct SelectWord {
  std::string_view name;
  bool is_core_consumable;
  bool is_memory_consumable;
};
constexpr std::array<SelectWord, 4> kSelectWords = {{{"CR_CPU", false, false},
                                                     {"CR_CPU_MEMORY", false, true},
                                                     {"CR_CORE", true, false},
                                                     {"CR_CORE_MEMORY", true, true}}};
/// A node's lowest free cores are taken, which is what this word asks for.
constexpr std::string_view kBlockOfCores = "CR_CORE_DEFAULT_DIST_BLOCK";

Status set_select_parameters(SlurmConf& conf, std::string_view value) {
  const SelectWord* chosen = nullptr;
  for (const std::string_view part : split_words(value, ',')) {
    if (equal_ignoring_case(part, kBlockOfCores)) continue;
    const auto is_it = [&](const SelectWord& word) { return equal_ignoring_case(part, word.name); };
    const auto found = std::ranges::find_if(kSelectWords, is_it);
    if (found == kSelectWords.end() || chosen != nullptr) {
      return fail(
          ErrorCode::kUnimplemented, fmt::format("{} is not supported", part),
          fmt::format(
              "write one of CR_CPU, CR_CPU_Memory, CR_Core and CR_Core_Memory, alone or with {}",
              kBlockOfCores));
    }
    chosen = &*found;
  }
  if (chosen == nullptr) return must_be("CR_CPU, CR_CPU_Memory, CR_Core or CR_Core_Memory");
  conf.cluster.settings.is_core_consumable = chosen->is_core_consumable;
  conf.cluster.settings.is_memory_consumable = chosen->is_memory_consumable;
  return {};
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
  add_finding(conf, ConfFindingKind::kNoEffect, "SlurmctldPort",
              fmt::format("SlurmctldPort={} is one port too many", value),
              fmt::format("one is enough, {} is used", first));
  return {};
}

void add_old(SlurmConf& conf, std::string_view key, std::string_view value, std::string remedy) {
  add_finding(conf, ConfFindingKind::kOld, key, fmt::format("{}={} is an old spelling", key, value),
              std::move(remedy));
}
/// The spelling of before Slurm 18.08. ControlAddr may have come first.
Status set_control_machine(SlurmConf& conf, std::string_view value) {
  add_old(conf, "ControlMachine", value, fmt::format("write SlurmctldHost={}", value));
  auto& controllers = conf.daemons.controllers;
  if (controllers.empty() || !controllers.front().name.empty()) return add_controller(conf, value);
  controllers.front().name = std::string(value);
  conf.cluster.settings.controller_host = std::string(value);
  return {};
}
Status set_control_address(SlurmConf& conf, std::string_view value) {
  auto& controllers = conf.daemons.controllers;
  if (controllers.empty()) controllers.emplace_back();
  controllers.front().address = std::string(value);
  const std::string& name = controllers.front().name;
  add_old(conf, "ControlAddr", value,
          fmt::format("write SlurmctldHost={}({})", name.empty() ? "NAME" : name, value));
  return {};
}
Status set_backup_controller(SlurmConf& conf, std::string_view value) {
  add_old(conf, "BackupController", value, fmt::format("write a second SlurmctldHost={}", value));
  if (conf.daemons.controllers.empty()) {
    return fail(ErrorCode::kInvalidArgument, "it stands before ControlMachine",
                "put SlurmctldHost or ControlMachine before it");
  }
  return add_controller(conf, value);
}
/// Of its values only 2 asked for something that is still there.
Status set_fast_schedule(SlurmConf& conf, std::string_view value) {
  if (TRY(read_number(value, 0, 2)) == 2) {
    conf.daemons.is_config_override = true;
    add_old(conf, "FastSchedule", value, "write SlurmdParameters=config_overrides");
  } else {
    add_old(conf, "FastSchedule", value,
            "take the key out: nodes are always held to their NodeName lines");
  }
  return {};
}
Status set_store_comment(SlurmConf& conf, std::string_view value) {
  // Read for its form: a misspelt value is still a mistake.
  TRY(Flag::read(value));
  add_old(conf, "AccountingStoreJobComment", value,
          "take the key out: comments of jobs are always kept");
  return {};
}
Status set_crypto_type(SlurmConf& conf, std::string_view value) {
  add_old(conf, "CryptoType", value,
          "take the key out: callers are known by the kernel's word on one host and by TLS between "
          "hosts");
  return {};
}
Status set_infiniband_type(SlurmConf& conf, std::string_view value) {
  if (!equal_ignoring_case(value, "acct_gather_infiniband/none")) {
    return fail(ErrorCode::kUnimplemented, "not supported",
                "the use of networks is not measured: take the key out");
  }
  add_old(conf, "AcctGatherInfinibandType", value,
          "take the key out: AcctGatherInterconnectType has replaced it");
  return {};
}

/// Checked like Slurm does, and that is all.
Status check_process_tracking(SlurmConf&, std::string_view value) {
  static constexpr std::array<std::string_view, 3> kKnown = {
      "proctrack/cgroup", "proctrack/linuxproc", "proctrack/pgid"};
  return check_word(value, kKnown);
}
Status check_task_plugins(SlurmConf&, std::string_view value) {
  static constexpr std::array<std::string_view, 3> kKnown = {"task/none", "task/affinity",
                                                             "task/cgroup"};
  for (const std::string_view word : split_words(value, ',')) {
    // The plugin's name alone is read as well.
    const bool is_whole = word.find('/') != std::string_view::npos;
    TRY(check_word(is_whole ? std::string(word) : fmt::format("task/{}", word), kKnown));
  }
  return {};
}
std::string_view why_no_tracking(std::string_view value) {
  return equal_ignoring_case(value, "proctrack/cgroup")
             ? ""
             : "a step's processes are held by a cgroup where the node has them, else by their "
               "parents";
}
std::string_view why_no_task_plugin(std::string_view value) {
  const std::string words = lower(value);
  if (words.find("cgroup") != std::string::npos)
    return "tasks are bound as their options say, and are not yet kept to their cores, memory and "
           "devices by cgroups";
  return words.find("none") != std::string::npos ? "tasks are bound as their options say" : "";
}

// One sentence for each group of keys: the same reason is said once for all of them.
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
    old("ControlMachine", {}, &set_control_machine),
    old("ControlAddr", {}, &set_control_address),
    old("BackupController", {}, &set_backup_controller),
    old("FastSchedule", {}, &set_fast_schedule),
    old("AccountingStoreJobComment", {}, &set_store_comment),
    old("CryptoType", {}, &set_crypto_type),
    old("AcctGatherInfinibandType", {}, &set_infiniband_type),
    daemon<&DaemonSettings::agent_port, Number<std::uint16_t, 1, 65535>>("SlurmdPort"),
    daemon<&DaemonSettings::state_folder, Text>("StateSaveLocation"),
    daemon<&DaemonSettings::spool_folder, Text>("SlurmdSpoolDir"),
    daemon<&DaemonSettings::controller_address, Text>("MusterController"),
    http<&HttpSettings::listen, Listen>("MusterHttp"),
    http<&HttpSettings::hosts, Names>("MusterHttpHosts"),
    http<&HttpSettings::services_listen, Listen>("MusterHttpServices"),
    http<&HttpSettings::services_url, Text>("MusterHttpServicesUrl"),
    http<&HttpSettings::connections_max, Number<std::uint32_t, 16, 1'000'000>>(
        "MusterHttpConnections"),
    http<&HttpSettings::peer_connections_max, Number<std::uint32_t, 4, 1'000'000>>(
        "MusterHttpPeerConnections"),
    http<&HttpSettings::user_requests_max, Number<std::uint32_t, 4, 1'000'000>>(
        "MusterHttpUserRequests"),
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
     &check_process_tracking,
     nullptr,
     {},
     &why_no_tracking},
    {"TaskPlugin",
     ConfHandling::kHonoured,
     {},
     {},
     &check_task_plugins,
     nullptr,
     {},
     &why_no_task_plugin},
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
    // 0x03ff0000, Slurm's default of MaxJobId.
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
    {"SchedulerType", ConfHandling::kHonoured, {}, {}, &set_scheduler_type, nullptr},
    setting<&ClusterSettings::mail_program, Text>("MailProg"),
    setting<&ClusterSettings::log_retention_days, Days>("MusterLogRetention"),
    setting<&ClusterSettings::resize_interval, Seconds>("MusterResizeInterval"),
    setting<&ClusterSettings::launch_timeout, Seconds>("MusterLaunchTimeout"),
    setting<&ClusterSettings::backfill_depth, Number<std::uint32_t, 0, 1'000'000>>(
        "MusterBackfillDepth"),
    // --- accepted without effect ---
    no_effect("MusterHttpOpenUser",
              "nobody logs in without a password: muster token --once prints one for once"),
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
    no_effect("X11Parameters", "there is no X11 forwarding to adjust"),
    no_effect("AccountingStorageLoc", kOwnHistory),
    no_effect("AccountingStorageExternalHost", kOwnHistory),
    no_effect("AccountingStorageParameters", kOwnHistory),
    no_effect("BackupAddr", "there is one controller, the first one named"),
    no_effect("CacheGroups",
              "it is an old key: a user's groups are looked up when a job is submitted"),
    no_effect("GroupUpdateForce", "a user's groups are looked up when a job is submitted"),
    no_effect("GroupUpdateTime", "a user's groups are looked up when a job is submitted"),
    no_effect("CoreSpecPlugin", "it is an old key: no cores are set aside for the system"),
    no_effect("AllowSpecResourcesUsage", "no cores are set aside for the system"),
    no_effect("CheckpointType", "it is an old key: programs write their own checkpoints"),
    no_effect("JobCheckpointDir", "it is an old key: programs write their own checkpoints"),
    no_effect("CpuFreqGovernors", "frequencies of CPUs are not set"),
    no_effect("FairShareDampeningFactor", "no weight is in force that would use it"),
    no_effect("GetEnvTimeout", "how long --get-user-env waits for the login shell is fixed"),
    no_effect("JobCompHost", "JobCompType is refused where it would use it"),
    no_effect("JobCompLoc", "JobCompType is refused where it would use it"),
    no_effect("JobCompPass", "JobCompType is refused where it would use it"),
    no_effect("JobCompPort", "JobCompType is refused where it would use it"),
    no_effect("JobCompUser", "JobCompType is refused where it would use it"),
    no_effect("JobCredentialPrivateKey", kIdentity),
    no_effect("JobCredentialPublicCertificate", kIdentity),
    no_effect("HashPlugin", kOwnTransport),
    no_effect("KeepAliveTime", kOwnTransport),
    no_effect("RoutePlugin", kOwnTransport),
    no_effect("LaunchType", "srun talks to the nodes by itself"),
    no_effect("SchedulerPort", "it is an old key: there is no scheduler outside to listen for"),
    no_effect("SchedulerRootFilter", "it is an old key: every partition is planned"),
    no_effect("SlurmctldPlugstack", "there are no plugins to find"),
    // --- refused by name ---
    refused("AcctGatherFilesystemType", "acct_gather_filesystem/none", kNotYet),
    refused("AcctGatherInterconnectType", "acct_gather_interconnect/none", kNotYet),
    refused("AcctGatherProfileType", "acct_gather_profile/none", kNotYet),
    refused("BcastExclude", "none", kNotYet),
    refused("BurstBufferType", "burst_buffer/none", kNotYet),
    refused("CpuFreqDef", "", kNotYet),
    refused("ExtSensorsType", "ext_sensors/none", kNotYet),
    refused("ExtSensorsFreq", "0", kNotYet),
    refused("GpuFreqDef", "", kNotYet),
    refused("JobDefaults", "", "write DefMemPerGPU, and DefCpuPerGPU on the partitions"),
    refused("MCSParameters", "", kNotYet),
    refused("MetricsType", "metrics/none", kNotYet),
    refused("NodeFeaturesPlugins", "", kNoPlugins),
    refused("PowerParameters", "", kNoPower),
    refused("PowerPlugin", "power/none", kNoPower),
    refused("PrEpParameters", "", kNoPlugins),
    refused("PrEpPlugins", "prep/script", kNoPlugins),
    refused("PriorityParameters", "", kNoPlugins),
    refused("PrioritySiteFactorParameters", "", kNoPlugins),
    refused("PrioritySiteFactorPlugin", "site_factor/none", kNoPlugins),
    refused("PropagatePrioProcess", "0", kNotYet),
    refused("ReconfigFlags", "KeepPowerSaveSettings",
            "partitions are as the file says after scontrol reconfigure: take the key out"),
    refused("ResvEpilog", "", kNoScripts),
    refused("ResvProlog", "", kNoScripts),
    refused("ScronParameters", "", "there is no scrontab: take the key out"),
    refused("SlurmctldAddr", "", "write SlurmctldHost=NAME(ADDRESS)"),
    refused("SlurmctldPrimaryOffProg", "", kNoScripts),
    refused("SlurmctldPrimaryOnProg", "", kNoScripts),
    refused("SuspendExcStates", "", kNoPower),
    refused("DefCpuPerGPU", "0", "set it on the partitions, or on PartitionName=DEFAULT"),
    refused("AccountingStorageEnforce", "none|0",
            "limits and associations are not enforced from here: take the key out"),
    refused("PrivateData", "none",
            "jobs and nodes are visible to every user: take the key out, knowing that"),
    refused("InactiveLimit", "0", kNotYet),
    refused("MaxJobId", "67043328|999999999",
            "ids rise up to 4294967294 and are not used again: take the key out"),
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

}  // namespace muster
