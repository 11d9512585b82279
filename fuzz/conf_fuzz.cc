// slurm.conf with what it includes, and the files beside it: what an administrator, or a tool of
// his, writes.
#include "fuzz/fuzz.h"
#include "slurm/conf/conf_companions.h"
#include "slurm/conf/slurm_conf.h"

namespace muster::fuzz {

std::vector<std::string> seeds() {
  const std::string head = "ClusterName=c\nSlurmctldHost=h(10.0.0.1)\n";
  const std::string tail =
      "NodeName=n[0-3] CPUs=4 RealMemory=1000 Gres=gpu:2\nPartitionName=main Nodes=n[0-3] "
      "Default=YES\n";
  std::vector<std::string> all = {
      head + tail,
      head +
          "SlurmUser=root\nSlurmctldPort=6817-6819\nTaskPlugin=task/affinity,task/"
          "cgroup\nSlurmdParameters=config_overrides\nGresTypes=gpu,nic\n" +
          tail,
      head + "Include a.conf\n" + tail + '\0' + "NodeName=x CPUs=1\nInclude b.conf\n",
      head +
          "# a comment\nNodeName=DEFAULT CPUs=2 \\\n  RealMemory=500 "
          "State=UNKNOWN\nNodeName=a-[0-9,12],b Weight=3 Feature=\"x,y\"\nPartitionName=DEFAULT "
          "MaxTime=1-00:00:00\n"
          "PartitionName=p Nodes=ALL AllowGroups=a,b OverSubscribe=YES:4\nPartitionName=q "
          "Nodes=a-[0-9],b State=DOWN\n",
  };
  std::string every = head;
  for (const SlurmConfKey& key : slurm_conf_keys()) {
    if (key.record.empty()) every += std::string(key.name) + "=1\n";
  }
  all.push_back(every + tail);
  all.push_back(
      "AutoDetect=nvml\nNodeName=n[0-3] Name=gpu Type=h100 File=/dev/nvidia[0-7] Cores=0-3 "
      "Links=-1,16\nInclude x.conf\n");
  all.push_back(
      "CgroupPlugin=autodetect\nConstrainCores=yes\nConstrainRAMSpace=yes\nAllowedRAMSpace=99.5 # "
      "percent\n");
  return all;
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = muster::fuzz::bytes_of(data, size);
  // Behind the first NUL: what every file that is included has.
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::string included(all.substr(std::min(end + 1, all.size())));
  const auto include = [&](std::string_view) { return muster::Result<std::string>(included); };
  const auto conf = muster::parse_slurm_conf("slurm.conf", all.substr(0, end), include);
  FUZZ_EXPECT(conf.has_value() || !conf.error().message.empty(), "an error without a word");
  for (const std::string_view name : muster::companion_files()) {
    for (const muster::ConfFinding& finding :
         muster::check_companion(name, name, all.substr(0, end), include))
      FUZZ_EXPECT(!finding.text.empty(), "a finding without a word");
  }
  return 0;
}
