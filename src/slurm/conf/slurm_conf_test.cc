#include "slurm/conf/slurm_conf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "text/words.h"

namespace muster {
namespace {

constexpr const char* kHead = "ClusterName=c\nSlurmctldHost=ctl(10.0.0.1)\nGresTypes=gpu,nic\n";
constexpr const char* kTail = "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n";

// A whole file around the lines in question.
Result<SlurmConf> parse(const std::string& lines) {
  return parse_slurm_conf("slurm.conf", kHead + lines + kTail);
}
std::string error_of(const std::string& lines) {
  const auto conf = parse(lines);
  return conf.has_value() ? "no error" : conf.error().text();
}
std::string findings(const SlurmConf& conf) {
  std::string text;
  for (const ConfFinding& finding : conf.findings) text += conf_finding_text(finding) + "\n";
  return text;
}
std::string shown_value(const SlurmConf& conf, std::string_view key) {
  for (const auto& [name, value] : conf.cluster.settings.shown) {
    if (name == key) return value;
  }
  return "absent";
}

TEST(SlurmConf, SmallFileHasEffectiveValues) {
  const SlurmConf conf = parse("").value();
  EXPECT_EQ(conf.cluster.settings.cluster_name, "c");
  EXPECT_EQ(conf.cluster.settings.controller_host, "ctl");
  EXPECT_EQ(conf.daemons.controllers, (std::vector<ControllerHost>{{"ctl", "10.0.0.1"}}));
  ASSERT_EQ(conf.cluster.nodes.size(), 4U);
  const NodeConfig& node = conf.cluster.nodes[1];
  EXPECT_EQ(node.name + node.host_name + node.address, "n2n2n2");
  EXPECT_EQ(node.port, 6818);
  EXPECT_EQ(node.cpus, 4U);
  EXPECT_EQ(node.sockets, 4U);
  ASSERT_EQ(conf.cluster.partitions.size(), 1U);
  const PartitionConfig& partition = conf.cluster.partitions[0];
  EXPECT_EQ(partition.nodes.size(), 4U);
  EXPECT_TRUE(partition.is_default);
  EXPECT_TRUE(partition.max_time.is_infinite());
  EXPECT_LT(partition.over_time_limit, Duration());
  EXPECT_EQ(conf.initial_nodes.size(), 4U);
}

TEST(SlurmConf, ReadsEverySetting) {
  const SlurmConf conf =
      parse(
          "SlurmctldHost=backup\nslurmuser=slurm "
          "SlurmctldPort=7001\nSlurmdPort=7002\nStateSaveLocation=/s\n"
          "SlurmdSpoolDir=/spool/%n\nSlurmctldLogFile=/l/c\nSlurmdLogFile=/l/"
          "d\nKillWait=5\nMinJobAge=60\n"
          "SlurmdTimeout=100\nInactiveLimit=0\nBatchStartTimeout=8\nOverTimeLimit="
          "UNLIMITED\nMaxJobCount=20\n"
          "MaxArraySize=50\nMaxStepCount=9\nMaxTasksPerNode=10\nMaxBatchRequeue=2\nFirstJobId="
          "5\nSchedulerParameters=max_script_size=9000,bf_window=10\n"
          "DefMemPerCPU=1G\nDefMemPerGPU=10\nMaxMemPerNode=UNLIMITED\nMaxMemPerCPU="
          "2048\nJobRequeue=0\nJobFileAppend=1\n"
          "EnforcePartLimits=ALL\nSelectType=select/"
          "cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n"
          "KillOnBadExit=1\nRequeueExit=1,5-7\nRequeueExitHold=9\nMailProg=/bin/"
          "mail\nProctrackType=proctrack/linuxproc\n"
          "TaskPlugin=task/cgroup,task/affinity\nAuthType=auth/munge\nPreemptMode=OFF\n")
          .value();
  const ClusterSettings& s = conf.cluster.settings;
  EXPECT_EQ(conf.daemons.controllers.size(), 2U);
  EXPECT_EQ(conf.daemons.user, "slurm");
  EXPECT_EQ(conf.daemons.controller_port, 7001);
  EXPECT_EQ(conf.daemons.agent_port, 7002);
  EXPECT_EQ(conf.cluster.nodes[0].port, 7002);
  EXPECT_EQ(conf.daemons.state_folder + conf.daemons.spool_folder, "/s/spool/%n");
  EXPECT_EQ(conf.daemons.controller_log + conf.daemons.agent_log, "/l/c/l/d");
  EXPECT_EQ(s.kill_wait, Duration::seconds(5));
  EXPECT_EQ(s.min_job_age, Duration::seconds(60));
  EXPECT_EQ(s.slurmd_timeout, Duration::seconds(100));
  EXPECT_TRUE(s.over_time_limit.is_infinite());
  EXPECT_EQ(s.max_job_count, 20U);
  EXPECT_EQ(s.max_array_size, 50U);
  EXPECT_EQ(s.max_step_count, 9U);
  EXPECT_EQ(s.max_tasks_per_node, 10U);
  EXPECT_EQ(s.max_batch_requeue, 2U);
  EXPECT_EQ(s.first_job_id, 5U);
  EXPECT_EQ(s.max_script_size, 9000U);
  EXPECT_EQ(
      findings(conf),
      "slurm.conf:4: controller backup is no backup of ctl: there is one controller, the first one "
      "named\n"
      "slurm.conf:15: BatchStartTimeout=8 has no effect: a launch is repeated until its node has "
      "taken it or is down\n"
      "slurm.conf:23: SchedulerParameters=bf_window=10 has no effect: the planner looks at every "
      "job, whenever something changes\n"
      "slurm.conf:38: ProctrackType=proctrack/linuxproc has no effect: a step's processes are held "
      "by a cgroup where the node has them, else by their parents\n"
      "slurm.conf:39: TaskPlugin=task/cgroup,task/affinity has no effect: tasks are bound as their "
      "options say, and are not yet kept to their cores, memory and devices by cgroups\n"
      "slurm.conf:40: AuthType=auth/munge has no effect: callers are known by the kernel's word on "
      "one host and by TLS between hosts\n");
  EXPECT_EQ(s.default_memory_per_cpu_mib, 1024U);
  EXPECT_EQ(s.default_memory_per_gpu_mib, 10U);
  EXPECT_EQ(s.max_memory_per_cpu_mib, 2048U);
  EXPECT_FALSE(s.is_job_requeue);
  EXPECT_TRUE(s.is_job_file_append);
  EXPECT_TRUE(s.is_enforce_part_limits);
  EXPECT_FALSE(s.is_core_consumable);
  EXPECT_FALSE(s.is_memory_consumable);
  EXPECT_EQ(s.return_to_service, 2);
  EXPECT_EQ(s.kill_on_bad_exit, 1);
  EXPECT_EQ(s.requeue_exit, (std::vector<std::uint32_t>{1, 5, 6, 7}));
  EXPECT_EQ(s.requeue_exit_hold, std::vector<std::uint32_t>{9});
  EXPECT_EQ(s.mail_program, "/bin/mail");
}

TEST(SlurmConf, ReadsOnAfterAMistakeAndSaysAll) {
  const SlurmConf conf =
      read_slurm_conf("slurm.conf",
                      "ClusterName=c\nProlog=/x\nKillWiat=3 "
                      "KillWait=7\nword\nTreeWidth=3\nSlurmctldHost=h\nInclude gone.conf\n"
                      "NodeName=n1 State=CLOUD Procs=4\nPartitionName=p Nodes=n1 Shared=FORCE "
                      "Priority=4\nPartitionName=q Nodes=n9\n");
  EXPECT_EQ(
      findings(conf),
      "slurm.conf:4: Key=Value is expected: at 'word'\n"
      "slurm.conf:7: Include gone.conf is not allowed here: put its lines in place\n"
      "slurm.conf:2: Prolog=/x is not supported: Muster runs no such program yet: take the key "
      "out, knowing that it will not run\n"
      "slurm.conf:3: unknown key 'KillWiat': the nearest known key is KillWait\n"
      "slurm.conf:5: TreeWidth=3 has no effect: Muster's own connections need no such setting\n"
      "slurm.conf:8: State=CLOUD: not supported: write UNKNOWN, DOWN, DRAIN, FAIL or FUTURE\n"
      "slurm.conf:8: Procs=4 is an old spelling: write CPUs=\n"
      "slurm.conf:9: Shared=FORCE: not supported: CPUs are never given to two jobs at once: write "
      "NO, or EXCLUSIVE for whole nodes\n"
      "slurm.conf:9: Priority=4 is an old spelling: write PriorityTier= and PriorityJobFactor=\n"
      "slurm.conf:10: Nodes=n9: there is no node n9: configure it by a NodeName line\n");
  EXPECT_EQ(conf.cluster.settings.kill_wait, Duration::seconds(7)) << "the rest of a line counts";
  ASSERT_EQ(conf.cluster.nodes.size(), 1U)
      << "a node with a mistake is there, so that its partition makes no second one";
  EXPECT_EQ(conf.cluster.nodes[0].cpus, 4U);
  EXPECT_EQ(conf.cluster.partitions[0].priority_tier, 4U);
  EXPECT_EQ(conf.findings[0].kind, ConfFindingKind::kWrong);
  EXPECT_EQ(conf.findings[2].kind, ConfFindingKind::kRefused);
  EXPECT_EQ(conf.findings[4].kind, ConfFindingKind::kNoEffect);
  EXPECT_EQ(conf.findings[6].kind, ConfFindingKind::kOld);
}

TEST(SlurmConf, ShowsWhatIsInForce) {
  const SlurmConf conf =
      parse("MinJobAge=60\nAuthType=auth/munge\nPreemptMode=OFF\nRequeueExit=3\n").value();
  const std::pair<const char*, const char*> cases[] = {
      {"KillWait", "30 sec"},
      {"MinJobAge", "60 sec"},
      {"OverTimeLimit", "0 min"},
      {"DefMemPerNode", "UNLIMITED"},
      {"JobRequeue", "1"},
      {"GresTypes", "gpu,nic"},
      {"AuthType", "auth/socket"},
      {"PreemptMode", "OFF"},
      {"MailProg", "(null)"},
      {"SelectTypeParameters", "CR_CORE_MEMORY"},
      {"SlurmctldHost[0]", "ctl(10.0.0.1)"},
      {"RequeueExit", "3"},
      {"EnforcePartLimits", "NO"},
      {"TaskPlugin", "task/affinity"},
      {"PreemptType", "preempt/none"},
      {"DefMemPerCPU", "absent"},
      {"MaxNodeCount", "4"},
  };
  for (const auto& [key, value] : cases) EXPECT_EQ(shown_value(conf, key), value) << key;
  EXPECT_EQ(shown_value(parse("DefMemPerCPU=7\nMaxMemPerCPU=9\n").value(), "DefMemPerCPU"), "7");
  EXPECT_EQ(shown_value(parse("DefMemPerCPU=7\n").value(), "DefMemPerNode"), "absent");
  EXPECT_EQ(shown_value(parse("DefMemPerGPU=7\n").value(), "JobDefaults"), "DefMemPerGPU=7");
  EXPECT_EQ(
      shown_value(parse("SchedulerParameters=max_script_size=90\n").value(), "SchedulerParameters"),
      "max_script_size=90");
}

TEST(SlurmConf, NodesTakeDefaultsAndLists) {
  const SlurmConf conf = parse(
                             "NodeName=DEFAULT RealMemory=2000 State=DRAIN Reason=\"being built\"\n"
                             "NodeName=g[1-2] NodeHostname=host[5-6] NodeAddr=10.0.0.[5-6] "
                             "Port=[7005-7006] Boards=1 SocketsPerBoard=2 "
                             "CoresPerSocket=8 ThreadsPerCore=2 TmpDisk=5G Weight=9 "
                             "Features=ib,h100 Gres=nic:1,gpu:h100:2 State=DOWN\n"
                             "NodeName=DEFAULT RealMemory=1000 State=UNKNOWN\n")
                             .value();
  const NodeConfig& g2 = conf.cluster.nodes[1];
  EXPECT_EQ(g2.name + " " + g2.host_name + " " + g2.address, "g2 host6 10.0.0.6");
  EXPECT_EQ(g2.port, 7006);
  EXPECT_EQ(g2.cpus, 32U);
  EXPECT_EQ(g2.sockets, 2U);
  EXPECT_EQ(g2.memory_mib, 2000U);
  EXPECT_EQ(g2.tmp_disk_mib, 5120U);
  EXPECT_EQ(g2.weight, 9U);
  EXPECT_EQ(g2.features, (std::vector<std::string>{"ib", "h100"}));
  ASSERT_EQ(g2.gres.size(), 2U);
  EXPECT_EQ(g2.gres[1], (GresPool{"gpu", "h100", 2, {}}));
  EXPECT_EQ(conf.initial_nodes[1].conditions,
            node_condition::kUnknown | node_condition::kDownByOrder);
  EXPECT_EQ(conf.initial_nodes[1].reason, "being built");
  EXPECT_EQ(conf.cluster.nodes[2].memory_mib, 1000U);
  EXPECT_EQ(conf.initial_nodes[2].conditions, node_condition::kUnknown);
}

TEST(SlurmConf, ListsOfAccountsAreRefusedAsLongAsAJobsWordIsAllThereIs) {
  for (const char* key : {"AllowAccounts=x,y", "DenyAccounts=z", "AllowQos=q", "DenyQos=q"}) {
    const auto conf = parse(fmt::format("PartitionName=a Nodes=n1 {}\n", key));
    ASSERT_FALSE(conf.has_value()) << key;
    EXPECT_NE(conf.error().text().find("AllowGroups"), std::string::npos) << conf.error().text();
  }
}

TEST(SlurmConf, OperatorsAreNamed) {
  const SlurmConf conf = parse("SlurmUser=slurm\nMusterOperators=alice,bob\n").value();
  EXPECT_EQ(conf.daemons.user, "slurm");
  EXPECT_EQ(conf.daemons.operators, (std::vector<std::string>{"alice", "bob"}));
}

TEST(SlurmConf, PartitionsTakeDefaultsAndTheClustersMemory) {
  const SlurmConf conf = parse(
                             "DefMemPerCPU=100\nMaxMemPerNode=5000\nDefMemPerGPU=7\n"
                             "PartitionName=DEFAULT MaxTime=1-0 State=DOWN\n"
                             "PartitionName=a Nodes=n[3,1,1-2] DefaultTime=30 OverTimeLimit=5 "
                             "MinNodes=2 MaxNodes=3 MaxCPUsPerNode=2 "
                             "PriorityTier=4 PriorityJobFactor=8 OverSubscribe=EXCLUSIVE "
                             "Hidden=YES RootOnly=YES AllowAccounts=ALL "
                             "AllowGroups=ALL AllowQos=ALL DefMemPerNode=1G "
                             "MaxMemPerCPU=9 DefCpuPerGPU=3 LLN=NO\n"
                             "PartitionName=DEFAULT State=UP MaxNodes=UNLIMITED DefaultTime=NONE\n")
                             .value();
  const PartitionConfig& a = conf.cluster.partitions[0];
  EXPECT_EQ(a.nodes, (std::vector<NodeIndex>{NodeIndex(0), NodeIndex(1), NodeIndex(2)}));
  EXPECT_EQ(a.nodes_text, "n[3,1,1-2]");
  EXPECT_EQ(a.max_time, Duration::hours(24));
  EXPECT_EQ(a.default_time, Duration::minutes(30));
  EXPECT_EQ(a.over_time_limit, Duration::minutes(5));
  EXPECT_EQ(a.min_nodes * 100 + a.max_nodes * 10 + a.max_cpus_per_node, 232U);
  EXPECT_EQ(a.priority_tier * 10 + a.priority_job_factor, 48U);
  EXPECT_TRUE(a.is_exclusive && a.is_hidden && a.is_root_only && !a.is_default);
  EXPECT_EQ(a.state, PartitionState::kDown);
  EXPECT_TRUE(a.allow_accounts.empty() && a.allow_groups.empty() && a.allow_qos.empty());
  EXPECT_EQ(a.default_memory_per_cpu_mib, 0U);
  EXPECT_EQ(a.default_memory_per_node_mib, 1024U);
  EXPECT_EQ(a.default_memory_per_gpu_mib, 7U);
  EXPECT_EQ(a.max_memory_per_cpu_mib, 9U);
  EXPECT_EQ(a.max_memory_per_node_mib, 0U);
  EXPECT_EQ(a.default_cpus_per_gpu, 3U);
  const PartitionConfig& p = conf.cluster.partitions[1];
  EXPECT_EQ(p.default_memory_per_cpu_mib, 100U);
  EXPECT_EQ(p.max_memory_per_node_mib, 5000U);
  EXPECT_EQ(p.state, PartitionState::kUp);
}

TEST(SlurmConf, ErrorsNameThePlaceTheKeyAndTheWayOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"KillWiat=3\n", "slurm.conf:4: unknown key 'KillWiat': the nearest known key is KillWait"},
      {"\nNodeName=x Cpu=3\n", "slurm.conf:5: unknown key 'Cpu': the nearest known key is CPUs"},
      {"Colour=red\n", "slurm.conf:4: unknown key 'Colour': see slurm.conf(5) for the keys"},
      {"KillWait=soon\n",
       "slurm.conf:4: KillWait=soon: the value must be a whole number or UNLIMITED"},
      {"Prolog=/x\n", "slurm.conf:4: Prolog=/x is not supported: Muster runs no such program yet"},
      {"KillWait=1\nKillWait=2\n",
       "slurm.conf:5: KillWait is set a second time: keep one of the two"},
      {"SlurmctldHost=a(\n", "SlurmctldHost=a(: the value must be NAME or NAME(ADDRESS)"},
      {"EnforcePartLimits=ANY\n", "write ALL"},
      {"EnforcePartLimits=2\n", "YES or NO"},
      {"SelectType=select/linear\n", "OverSubscribe=EXCLUSIVE"},
      {"SelectTypeParameters=CR_Socket\n", "write one of CR_CPU"},
      {"SelectTypeParameters=CR_CPU,CR_Core\n", "write one of CR_CPU"},
      {"SelectTypeParameters=CR_Core_Memory,CR_ONE_TASK_PER_CORE\n",
       "CR_ONE_TASK_PER_CORE is not supported"},
      {"SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK\n", "must be CR_CPU"},
      {"TaskPlugin=task/none,task/x\n", "write one of task/none, task/affinity, task/cgroup"},
      {"RequeueExit=0\n", "exit codes from 1 to 255"},
      {"RequeueExit=5-300\n", "exit codes from 1 to 255"},
      {"MaxJobId=8\n", "slurm.conf:4: MaxJobId=8 is not supported: ids rise"},
      {"InactiveLimit=7\n", "InactiveLimit=7 is not supported"},
      {"SchedulerParameters=nonsense\n", "not nonsense"},
      {"DefMemPerCPU=1\nDefMemPerNode=1\n",
       "slurm.conf: DefMemPerCPU and DefMemPerNode are both set"},
      {"NodeSet=x Nodes=n1\n", "slurm.conf:4: NodeSet is not supported"},
      {"DownNodes=n1 State=DOWN\n", "write State=DOWN and Reason="},
      {"NodeName=n1\n", "slurm.conf:5: node n1 is configured a second time"},
      {"NodeName=x[1-2] NodeAddr=a\n", "NodeAddr=a has 1 entries for 2 nodes"},
      {"NodeName=x[1-3] Port=[1-2]\n", "Port=[1-2] has 2 entries for 3 nodes"},
      {"NodeName=x Port=0\n", "Port=0 is no port"},
      {"NodeName=x[ CPUs=1\n", "Invalid hostlist: x["},
      {"NodeName=x CPUs=3 Sockets=2\n",
       "CPUs=3 contradicts Sockets=2 CoresPerSocket=1 ThreadsPerCore=1"},
      {"NodeName=x Sockets=999 CoresPerSocket=999\n", "998001 CPUs are too many"},
      {"NodeName=x State=CLOUD\n", "write UNKNOWN, DOWN"},
      {"NodeName=x Gres=mps:1\n",
       "slurm.conf:4: Gres mps is not in GresTypes: add mps to GresTypes"},
      {"NodeName=x Gres=gpu::\n", "Invalid generic resource"},
      {"NodeName=x TmpDisk=9000T\n", "below 4 PiB"},
      {"PartitionName=q Nodes=n[1-2],n9\n", "slurm.conf:4: Nodes=n[1-2],n9: there is no node n9"},
      {"PartitionName=q OverSubscribe=FORCE\n", "write NO, or EXCLUSIVE"},
      {"PartitionName=q MaxNodes=0\n", "MaxNodes=0"},
      {"PartitionName=q MaxNodes=0\n", "a whole number from 1"},
      {"PartitionName=q PriorityTier=65534\n", "65533"},
      {"PartitionName=q PriorityJobFactor=65534\n", "65533"},
      {"PartitionName=q State=OPEN\n", "UP, DOWN, DRAIN or INACTIVE"},
      {"PartitionName=q DefMemPerCPU=1 DefMemPerNode=1\n",
       "slurm.conf:4: DefMemPerCPU and DefMemPerNode are both set"},
      {"PartitionName=p\n", "partition p is configured a second time"},
      {"PartitionName=q Default=YES\n", "partitions q and p are both the default"},
      {"KillWait\n", "Key=Value is expected"},
  };
  for (const auto& [lines, text] : cases) {
    EXPECT_NE(error_of(lines).find(text), std::string::npos)
        << lines << " gives " << error_of(lines);
  }
}

TEST(SlurmConf, NeedsItsFourCornerstones) {
  const std::string lines[] = {"ClusterName=c\n", "SlurmctldHost=h\n", "NodeName=n\n",
                               "PartitionName=p Nodes=\"\"\n"};
  const std::string_view names[] = {"ClusterName", "SlurmctldHost", "NodeName", "PartitionName"};
  for (std::size_t left_out = 0; left_out < 4; ++left_out) {
    std::string text;
    for (std::size_t i = 0; i < 4; ++i) text += i == left_out ? "" : lines[i];
    EXPECT_EQ(parse_slurm_conf("f", text).error().message,
              "f: " + std::string(names[left_out]) + " is missing");
  }
  EXPECT_TRUE(parse_slurm_conf("f", lines[0] + lines[1] + lines[2] + lines[3]).has_value());
}

TEST(SlurmConf, SaysHowHttpIsServed) {
  const HttpSettings usual = parse("").value().daemons.http;
  EXPECT_EQ(usual.listen, "");
  EXPECT_EQ(usual.token_days, 30U);
  const HttpSettings http =
      parse(
          "MusterHttp=head:80\nMusterHttpHosts=a.example,*.b.example\nMusterHttpServices=head:"
          "81\nMusterHttpServicesUrl=https://s\n"
          "MusterHttpConnections=64\nMusterHttpPeerConnections=8\nMusterHttpUserRequests="
          "4\nMusterHttpTokenDays=3\n"
          "MusterDefaults=/etc/muster/defaults.yaml\n")
          .value()
          .daemons.http;
  EXPECT_EQ(http.listen, "head:80");
  EXPECT_EQ(http.hosts, (std::vector<std::string>{"a.example", "*.b.example"}));
  EXPECT_EQ(http.services_listen + " " + http.services_url, "head:81 https://s");
  EXPECT_EQ(http.connections_max, 64U);
  EXPECT_EQ(http.peer_connections_max, 8U);
  EXPECT_EQ(http.user_requests_max, 4U);
  EXPECT_EQ(http.token_days, 3U);
  EXPECT_NE(error_of("MusterHttpTokenDays=0\n").find("MusterHttpTokenDays=0"), std::string::npos);
  for (const std::string key : {"MusterHttp", "MusterHttpServices"}) {
    for (const std::string address :
         {"h:65536", "h:4294967297", "h:18446744073709551617", "h:", "h", "h:http", "h:-1", "8080"})
      EXPECT_NE(error_of(key + "=" + address + "\n").find("the port from 0"), std::string::npos)
          << address;
  }
  for (const auto& [written, read] :
       {std::pair("127.0.0.1:08080", "127.0.0.1:8080"), std::pair("[::1]:00", "[::1]:0"),
        std::pair(":65535", ":65535")})
    EXPECT_EQ(parse(fmt::format("MusterHttp={}\n", written)).value().daemons.http.listen, read);
  const auto old = parse("MusterHttpOpenUser=determined\n");
  ASSERT_EQ(old->findings.size(), 1U) << "a file of an earlier version still starts the cluster";
  EXPECT_NE(old->findings[0].remedy.find("nobody logs in without a password"), std::string::npos);
}

TEST(SlurmConf, CpusMayCountCores) {
  EXPECT_EQ(parse("NodeName=x CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n")
                .value()
                .cluster.nodes[0]
                .cpus,
            8U);
}

TEST(SlurmConf, EveryKeyIsThereOnceAndEveryReasonIsGiven) {
  std::set<std::string> names;
  for (const SlurmConfKey& key : slurm_conf_keys()) {
    EXPECT_TRUE(names.insert(std::string(key.record) + "." + lower(key.name)).second) << key.name;
    EXPECT_EQ(key.reason.empty(), key.handling == ConfHandling::kHonoured) << key.name;
  }
  EXPECT_GT(names.size(), 200U);
}

TEST(SlurmConf, EveryAcceptedOrRefusedKeyOfTheClusterDoesWhatItsRowSays) {
  for (const SlurmConfKey& key : slurm_conf_keys()) {
    if (!key.record.empty() || key.handling == ConfHandling::kHonoured) continue;
    const std::string text = error_of(std::string(key.name) + "=some/value\n");
    const bool is_refused = key.handling == ConfHandling::kRefused;
    EXPECT_EQ(text == "no error", !is_refused) << key.name;
    EXPECT_EQ(text.find(key.reason) != std::string::npos, is_refused) << key.name;
  }
}

TEST(SlurmConf, OldSpellingsAreTakenWithTheNewOne) {
  const auto conf = parse_slurm_conf(
      "slurm.conf",
      "ClusterName=c\nControlMachine=head\nControlAddr=10.0.0.1\nSlurmctldPort=6820-"
      "6830\nFastSchedule=1\n"
      "TaskPlugin=affinity,cgroup\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n");
  ASSERT_TRUE(conf.has_value()) << conf.error().text();
  EXPECT_EQ(conf->daemons.controllers, (std::vector<ControllerHost>{{"head", "10.0.0.1"}}));
  EXPECT_EQ(conf->daemons.controller_port, 6820);
  EXPECT_FALSE(conf->daemons.is_config_override);
  EXPECT_EQ(
      findings(*conf),
      "slurm.conf:2: ControlMachine=head is an old spelling: write SlurmctldHost=head\n"
      "slurm.conf:3: ControlAddr=10.0.0.1 is an old spelling: write SlurmctldHost=head(10.0.0.1)\n"
      "slurm.conf:4: SlurmctldPort=6820-6830 is one port too many: one is enough, 6820 is used\n"
      "slurm.conf:5: FastSchedule=1 is an old spelling: take the key out: nodes are always held to "
      "their NodeName lines\n"
      "slurm.conf:6: TaskPlugin=affinity,cgroup has no effect: tasks are bound as their options "
      "say, and are not yet kept to their cores, memory and devices by cgroups\n");
}

TEST(SlurmConf, OldKeysAreFollowedInAnyOrder) {
  const std::string nodes = "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";
  const auto turned =
      parse_slurm_conf("f",
                       "ClusterName=c\nControlAddr=10.0.0.1\nControlMachine=head\nBackupController="
                       "b\nBackupAddr=10.0.0.2\nFastSchedule=2\n" +
                           nodes);
  ASSERT_TRUE(turned.has_value()) << turned.error().text();
  EXPECT_EQ(turned->daemons.controllers,
            (std::vector<ControllerHost>{{"head", "10.0.0.1"}, {"b", "b"}}));
  EXPECT_EQ(turned->cluster.settings.controller_host, "head");
  EXPECT_TRUE(turned->daemons.is_config_override);
  EXPECT_EQ(parse_slurm_conf("f", "ClusterName=c\nControlAddr=10.0.0.1\n" + nodes).error().text(),
            "f: SlurmctldHost is missing: add the line");
}

TEST(SlurmConf, ProcsCountsWhereCpusIsNotGiven) {
  EXPECT_EQ(parse("NodeName=x CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 Procs=4\n")
                .value()
                .cluster.nodes[0]
                .cpus,
            8U);
  EXPECT_EQ(parse("NodeName=x Procs=3\n").value().cluster.nodes[0].cpus, 3U);
}

TEST(SlurmConf, SocketsFollowFromCpus) {
  const auto conf = parse(
      "NodeName=x CPUs=128 ThreadsPerCore=1\nNodeName=y CPUs=16 CoresPerSocket=4 "
      "ThreadsPerCore=2\nNodeName=z CPUs=2 CoresPerSocket=2 ThreadsPerCore=2\n");
  ASSERT_TRUE(conf.has_value()) << conf.error().text();
  EXPECT_EQ(conf->cluster.nodes[0].sockets, 128U);
  EXPECT_EQ(conf->cluster.nodes[1].sockets, 2U);
  EXPECT_EQ(conf->cluster.nodes[2].sockets, 1U) << "CPUs may count cores";
  EXPECT_NE(error_of("NodeName=w CPUs=3 CoresPerSocket=2\n").find("CPUs=3 contradicts"),
            std::string::npos);
}

TEST(SlurmConf, HostListsAsSitesWriteThem) {
  const auto conf = parse(
      "NodeName=g-[0-1] NodeAddr=g-[0-1].svc.example Port=7000\nPartitionName=q "
      "Nodes=g-0,g-1,\nPartitionName=r Nodes=\"\"\n");
  ASSERT_TRUE(conf.has_value()) << conf.error().text();
  EXPECT_EQ(conf->cluster.nodes[1].address, "g-1.svc.example");
  EXPECT_EQ(conf->cluster.partitions[0].nodes.size(), 2U);
  EXPECT_TRUE(conf->cluster.partitions[1].nodes.empty());
  EXPECT_NE(error_of("NodeName=,\n").find("NodeName=, names no node"), std::string::npos)
      << error_of("NodeName=,\n");
}

TEST(SlurmConf, SharingThatAsksForNothingPasses) {
  for (const char* value : {"YES", "YES:4", "FORCE:1"}) {
    const auto conf = parse(fmt::format("PartitionName=q Nodes=n1 OverSubscribe={}\n", value));
    ASSERT_TRUE(conf.has_value()) << value;
    ASSERT_EQ(conf->findings.size(), 1U) << value;
    EXPECT_EQ(conf->findings[0].kind, ConfFindingKind::kNoEffect) << value;
  }
  for (const char* value : {"FORCE", "FORCE:2", "perhaps"}) {
    EXPECT_NE(error_of(fmt::format("PartitionName=q Nodes=n1 OverSubscribe={}\n", value))
                  .find("EXCLUSIVE"),
              std::string::npos)
        << value;
  }
}

}  // namespace
}  // namespace muster
