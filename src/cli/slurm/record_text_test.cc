#include "cli/slurm/record_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/lib/testing.h"

namespace muster::cli {
namespace {

using namespace testing;

TEST(JobRecord, PendingJob) {
  EXPECT_EQ(job_record(pending_job(), test_context(), false, false),
            "JobId=12 JobName=train\n"
            "   UserId=ada(1000) GroupId=lab(100) MCS_label=N/A\n"
            "   Priority=1 Nice=0 Account=(null) QOS=(null)\n"
            "   JobState=PENDING Reason=Resources Dependency=(null)\n"
            "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
            "   RunTime=00:00:00 TimeLimit=1-00:00:00 TimeMin=N/A\n"
            "   SubmitTime=2026-08-21T15:00:00 EligibleTime=2026-08-21T15:00:00\n"
            "   AccrueTime=2026-08-21T15:00:00\n"
            "   StartTime=Unknown EndTime=Unknown Deadline=N/A\n"
            "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main\n"
            "   Partition=gpu AllocNode:Sid=login:77\n"
            "   ReqNodeList=(null) ExcNodeList=(null)\n"
            "   NodeList=\n"
            "   NumNodes=2-2 NumCPUs=8 NumTasks=4 CPUs/Task=2 ReqB:S:C:T=0:0:*:*\n"
            "   ReqTRES=cpu=8,mem=8G,node=2,billing=8,gres/gpu=4,gres/gpu:h100=4\n"
            "   AllocTRES=(null)\n"
            "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
            "   MinCPUsNode=2 MinMemoryNode=4G MinTmpDiskNode=0\n"
            "   Features=(null) DelayBoot=00:00:00\n"
            "   OverSubscribe=OK Exclusive=NO Contiguous=0 Licenses=(null) LicensesAlloc=(null) "
            "Network=(null)\n"
            "   Command=/home/ada/train.sh\n"
            "   SubmitLine=sbatch train.sh\n"
            "   WorkDir=/home/ada\n"
            "   StdErr=/home/ada/slurm-12.out\n"
            "   StdIn=/dev/null\n"
            "   StdOut=/home/ada/slurm-12.out\n"
            "   TresPerNode=gres/gpu:h100:2\n\n");
}

TEST(JobRecord, DetailTellsDevicesPerNode) {
  const std::string text = job_record(running_job(), test_context(), true, false);
  EXPECT_NE(text.find("   JOB_GRES=gpu:h100:4\n     Nodes=n[1-2] CPU_IDs=0-3 Mem=4096 "
                      "GRES=gpu:h100:2(IDX:0-1)\n"),
            std::string::npos);
  EXPECT_NE(text.find("   NodeList=n[1-2]\n   BatchHost=n1\n"), std::string::npos);
  EXPECT_NE(text.find("   DerivedExitCode=0:0\n   RunTime=00:01:05 "), std::string::npos);
}

TEST(JobRecord, OneLineAndCause) {
  JobView job = running_job();
  job.state = JobState::kFailed;
  job.detail = "execve(): nosuch: No such file or directory";
  const std::string text = job_record(job, test_context(), false, true);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(
      text.find(
          " WorkDir=/home/ada SystemComment=execve(): nosuch: No such file or directory StdErr="),
      std::string::npos);
}

TEST(JobRecord, ReasonHasNoBlanks) {
  JobView job = pending_job();
  job.reasons.word = PendingReason::kNodesUnavailable;
  EXPECT_NE(job_record(job, test_context(), false, false)
                .find("Reason=Nodes_required_for_job_are_DOWN,_DRAINED_or"),
            std::string::npos);
}

TEST(JobRecord, Arrays) {
  EXPECT_EQ(job_record(array_job(), test_context(), false, true).substr(0, 74),
            "JobId=12 ArrayJobId=12 ArrayTaskId=3-15 ArrayTaskThrottle=4 JobName=train ");
}

TEST(NodeRecord, IsByteExact) {
  NodeView node = busy_node("n1", 4);
  node.status.conditions = node_condition::kDrain;
  node.status.reason = "bad disk";
  node.status.reason_time = test_now();
  EXPECT_EQ(node_record(node, test_context(), true, false),
            "NodeName=n1 Arch=x86_64 CoresPerSocket=8\n"
            "   CPUAlloc=4 CPUEfctv=8 CPUTot=8 CPULoad=0.25\n"
            "   AvailableFeatures=(null)\n"
            "   ActiveFeatures=(null)\n"
            "   Gres=gpu:h100:4\n"
            "   GresUsed=gpu:h100:2(IDX:0-1)\n"
            "   NodeAddr=n1 NodeHostName=n1 Version=0.1.0\n"
            "   RealMemory=16000 AllocMem=4096 FreeMem=9000 Sockets=1 Boards=1\n"
            "   State=MIXED+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
            "   Partitions=gpu\n"
            "   BootTime=None SlurmdStartTime=None\n"
            "   LastBusyTime=Unknown ResumeAfterTime=None\n"
            "   CfgTRES=cpu=8,mem=16000M,billing=8,gres/gpu=4,gres/gpu:h100=4\n"
            "   AllocTRES=cpu=4,mem=4G,gres/gpu=2,gres/gpu:h100=2\n"
            "   CurrentWatts=0 AveWatts=0\n"
            "   Reason=bad disk [root@2026-08-21T16:00:00]\n\n");
}

TEST(PartitionRecord, IsByteExact) {
  EXPECT_EQ(partition_record(test_partition("gpu", {"n1", "n2"}), false),
            "PartitionName=gpu\n"
            "   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
            "   AllocNodes=ALL Default=YES QoS=N/A\n"
            "   DefaultTime=NONE DisableRootJobs=NO Exclusive=NO GraceTime=0 Hidden=NO\n"
            "   MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
            "MaxCPUsPerSocket=UNLIMITED\n"
            "   Nodes=n[1-2]\n"
            "   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO\n"
            "   OverTimeLimit=0 PreemptMode=OFF\n"
            "   State=UP TotalCPUs=16 TotalNodes=2 SelectTypeParameters=NONE\n"
            "   JobDefaults=(null)\n"
            "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
            "   TRES=cpu=16,mem=32000M,node=2,billing=16\n\n");
}

TEST(ConfigText, AlignsValues) {
  ClusterSettings settings;
  settings.shown = {{"ClusterName", "tiny"}};
  EXPECT_EQ(config_text(settings, test_context()),
            "Configuration data as of 2026-08-21T16:00:00\nClusterName             = tiny\n");
}

}  // namespace
}  // namespace muster::cli
