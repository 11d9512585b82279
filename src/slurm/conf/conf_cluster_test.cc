#include "slurm/conf/conf_cluster.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// The configuration after Key=Value words, parted by blanks, and the error where one is refused.
struct Applied {
  SlurmConf conf;
  std::string error;
};
Applied applied(std::string_view words) {
  Applied result;
  for (const std::string_view word : split_words(words, ' ')) {
    const std::size_t equals = word.find('=');
    const Status status = apply_conf_key(cluster_conf_keys(), word.substr(0, equals),
                                         word.substr(equals + 1), result.conf);
    if (!status.has_value()) result.error = status.error().text();
  }
  return result;
}
std::string shown(const SlurmConf& conf, std::string_view name) {
  return find_conf_key(cluster_conf_keys(), name)->show(conf);
}

TEST(ConfCluster, TheFirstHostIsTheController) {
  const SlurmConf conf = applied("SlurmctldHost=a(10.0.0.1) SlurmctldHost=b").conf;
  EXPECT_EQ(conf.daemons.controllers, (std::vector<ControllerHost>{{"a", "10.0.0.1"}, {"b", "b"}}));
  EXPECT_EQ(conf.cluster.settings.controller_host, "a");
  ASSERT_EQ(conf.findings.size(), 1U);
  EXPECT_EQ(conf.findings[0].text, "controller b is no backup of a");
  for (const char* bad : {"", "(1)", "a(", "a()", "a(1", "a(1)x"}) {
    EXPECT_NE(applied(std::string("SlurmctldHost=") + bad).error.find("NAME or NAME(ADDRESS)"),
              std::string::npos)
        << bad;
  }
}

TEST(ConfCluster, OfARangeOfPortsTheFirstIsUsed) {
  EXPECT_EQ(applied("SlurmctldPort=7000").conf.daemons.controller_port, 7000);
  const SlurmConf conf = applied("SlurmctldPort=7000-7010").conf;
  EXPECT_EQ(conf.daemons.controller_port, 7000);
  EXPECT_EQ(conf.findings.size(), 1U);
  EXPECT_EQ(shown(conf, "SlurmctldPort"), "7000");
  for (const char* bad : {"0", "65536", "7000-6999", "7000-", "-7000", "7000-65536", "a"})
    EXPECT_NE(applied(std::string("SlurmctldPort=") + bad).error, "") << bad;
}

TEST(ConfCluster, WhatIsHandedOutIsSaidByOneWord) {
  struct Case {
    const char* value;
    bool is_core, is_memory;
    const char* shown;
  };
  for (const auto& [value, is_core, is_memory, word] :
       {Case{"CR_CPU", false, false, "CR_CPU"}, Case{"cr_cpu_memory", false, true, "CR_CPU_MEMORY"},
        Case{"CR_Core", true, false, "CR_CORE"},
        Case{"CR_Core_Memory", true, true, "CR_CORE_MEMORY"},
        Case{"CR_CORE_DEFAULT_DIST_BLOCK,CR_Core", true, false, "CR_CORE"}}) {
    const SlurmConf conf = applied(std::string("SelectTypeParameters=") + value).conf;
    EXPECT_EQ(conf.cluster.settings.is_core_consumable, is_core) << value;
    EXPECT_EQ(conf.cluster.settings.is_memory_consumable, is_memory) << value;
    EXPECT_EQ(shown(conf, "SelectTypeParameters"), word);
  }
  for (const char* bad : {"CR_CPU,CR_Core", "CR_Socket", "CR_CORE_DEFAULT_DIST_BLOCK", ""})
    EXPECT_NE(applied(std::string("SelectTypeParameters=") + bad).error, "") << bad;
}

TEST(ConfCluster, ScriptsAreAtMostAsLargeAsALaunchHolds) {
  const auto size = [](const char* value) {
    const Applied result = applied(std::string("SchedulerParameters=max_script_size") + value);
    return result.error.empty() ? result.conf.cluster.settings.max_script_size : 0;
  };
  EXPECT_EQ(size("=1"), 1U);
  EXPECT_EQ(size("=58720256"), std::uint64_t{56} << 20);
  for (const char* bad : {"=58720257", "=0", "=", "", "=x", "=-1"}) EXPECT_EQ(size(bad), 0U) << bad;
}

TEST(ConfCluster, BoundsOnSchedulingHaveNoEffectAndTheRestIsRefused) {
  const SlurmConf conf =
      applied("SchedulerParameters=bf_window=10,defer,DEFAULT_QUEUE_DEPTH=5").conf;
  EXPECT_EQ(conf.findings.size(), 3U);
  EXPECT_NE(applied("SchedulerParameters=defer,preempt_youngest_first,nonsense=1")
                .error.find("not preempt_youngest_first, nonsense"),
            std::string::npos);
}

TEST(ConfCluster, BackfillingIsWhatSlurmsKeysSay) {
  const ClusterSettings unset = applied("").conf.cluster.settings;
  EXPECT_TRUE(unset.is_backfill);
  EXPECT_EQ(unset.backfill_windows, 500U);
  EXPECT_EQ(unset.backfill_depth, 0U);
  EXPECT_EQ(unset.backfill_interval, Duration::seconds(30));
  const SlurmConf set = applied(
                            "SchedulerType=sched/backfill MusterBackfillDepth=1 "
                            "SchedulerParameters=bf_max_job_test=7,BF_INTERVAL=60")
                            .conf;
  EXPECT_TRUE(set.findings.empty());
  EXPECT_TRUE(set.cluster.settings.is_backfill);
  EXPECT_EQ(set.cluster.settings.backfill_windows, 7U);
  EXPECT_EQ(set.cluster.settings.backfill_depth, 1U);
  EXPECT_EQ(set.cluster.settings.backfill_interval, Duration::seconds(60));
  for (const char* none : {"SchedulerType=sched/builtin", "SchedulerParameters=bf_interval=-1"}) {
    EXPECT_FALSE(applied(none).conf.cluster.settings.is_backfill) << none;
  }
  for (const char* bad :
       {"SchedulerType=sched/hold", "SchedulerParameters=bf_interval=0",
        "SchedulerParameters=bf_interval=10801", "MusterBackfillDepth=-1",
        "SchedulerParameters=bf_max_job_test=0", "SchedulerParameters=bf_max_job_test=1000001"})
    EXPECT_NE(applied(bad).error, "") << bad;
}

TEST(ConfCluster, PartitionLimitsAreEnforcedForAllOrNotAtAll) {
  EXPECT_TRUE(applied("EnforcePartLimits=all").conf.findings.empty());
  const SlurmConf yes = applied("EnforcePartLimits=YES").conf;
  EXPECT_TRUE(yes.cluster.settings.is_enforce_part_limits);
  EXPECT_EQ(yes.findings.at(0).kind, ConfFindingKind::kOld);
  const SlurmConf no = applied("EnforcePartLimits=ALL EnforcePartLimits=NO").conf;
  EXPECT_EQ(shown(no, "EnforcePartLimits"), "NO");
  EXPECT_EQ(shown(yes, "EnforcePartLimits"), "ALL");
  EXPECT_NE(applied("EnforcePartLimits=ANY").error, "");
}

TEST(ConfCluster, PluginsAreThoseThatSlurmHas) {
  EXPECT_EQ(applied("TaskPlugin=affinity,task/cgroup ProctrackType=proctrack/pgid").error, "");
  EXPECT_EQ(applied("SelectType=select/cons_res SelectType=Select/Cons_Tres").error, "");
  for (const char* bad : {"TaskPlugin=task/x", "TaskPlugin=none,x", "ProctrackType=pgid",
                          "SelectType=select/linear", "SlurmdParameters=config_overrides,l3cache"})
    EXPECT_NE(applied(bad).error, "") << bad;
  EXPECT_TRUE(applied("SlurmdParameters=Config_Overrides").conf.daemons.is_config_override);
}

TEST(ConfCluster, OldSpellingsSayWhatIsWrittenToday) {
  const std::pair<const char*, const char*> old[] = {
      {"ControlMachine=head", "write SlurmctldHost=head"},
      {"ControlAddr=10.0.0.1", "write SlurmctldHost=NAME(10.0.0.1)"},
      {"FastSchedule=2", "write SlurmdParameters=config_overrides"},
      {"AccountingStoreJobComment=YES", "take the key out: comments of jobs are always kept"},
      {"AcctGatherInfinibandType=acct_gather_infiniband/none",
       "take the key out: AcctGatherInterconnectType has replaced it"}};
  for (const auto& [word, remedy] : old) {
    const Applied result = applied(word);
    EXPECT_EQ(result.error, "") << word;
    ASSERT_EQ(result.conf.findings.size(), 1U) << word;
    EXPECT_EQ(result.conf.findings[0].kind, ConfFindingKind::kOld);
    EXPECT_EQ(result.conf.findings[0].remedy, remedy);
  }
  EXPECT_NE(applied("BackupController=b").error.find("before ControlMachine"), std::string::npos);
  EXPECT_NE(applied("FastSchedule=3").error, "");
}

TEST(ConfCluster, RefusedKeysPassWithTheirNeutralValuesAndChangeNothing) {
  for (const ConfKey<SlurmConf>& key : cluster_conf_keys()) {
    if (key.handling != ConfHandling::kRefused) continue;
    SlurmConf conf;
    for (const std::string_view neutral : split_words(key.neutral, '|')) {
      EXPECT_TRUE(apply_conf_key(cluster_conf_keys(), key.name, neutral, conf).has_value())
          << key.name << "=" << neutral;
    }
    EXPECT_EQ(apply_conf_key(cluster_conf_keys(), key.name, "some/value", conf).error().code,
              ErrorCode::kUnimplemented)
        << key.name;
    EXPECT_EQ(conf, SlurmConf()) << key.name;
  }
}

}  // namespace
}  // namespace muster
