// Files beside slurm.conf: each is read for its keys, and what of them has no effect here is said.
// Nothing of them is taken: devices, cgroups and networks are described in slurm.conf, or are not
// Slurm's to describe.

#include "slurm/conf/conf_companions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kGresReason =
    "how many devices a node has stands in Gres= on its NodeName line, and tasks get their numbers";
constexpr std::string_view kNoLimits =
    "a step's processes are held together by cgroups; cores, memory, swap and devices are not "
    "limited by them yet";
constexpr std::string_view kOwnPlace = "the place of cgroups is found out on each node";
constexpr std::string_view kNoTopology = "the network's topology is not known";
constexpr std::string_view kNoNamespaces = "jobs see their node's own /tmp";
constexpr std::string_view kNoPmix = "there is no PMIx";
constexpr std::string_view kNotMeasured = "energy, networks and file systems are not measured";

struct Key {
  std::string_view name;
  std::string_view reason;
};
constexpr Key kGresKeys[] = {
    {"Name", kGresReason},
    {"NodeName", kGresReason},
    {"Type", kGresReason},
    {"Count", kGresReason},
    {"File", kGresReason},
    {"MultipleFiles", kGresReason},
    {"AutoDetect", kGresReason},
    {"Cores", "devices and cores are chosen apart"},
    {"CPUs", "devices and cores are chosen apart; Cores= is today's spelling"},
    {"Links", "devices and cores are chosen apart"},
    {"Flags", kGresReason}};
constexpr Key kCgroupKeys[] = {
    {"ConstrainCores", kNoLimits},
    {"ConstrainDevices", kNoLimits},
    {"ConstrainRAMSpace", kNoLimits},
    {"ConstrainSwapSpace", kNoLimits},
    {"ConstrainKmemSpace", kNoLimits},
    {"AllowedRAMSpace", kNoLimits},
    {"AllowedSwapSpace", kNoLimits},
    {"AllowedKmemSpace", kNoLimits},
    {"AllowedDevicesFile", kNoLimits},
    {"MaxRAMPercent", kNoLimits},
    {"MaxSwapPercent", kNoLimits},
    {"MaxKmemPercent", kNoLimits},
    {"MinRAMSpace", kNoLimits},
    {"MinKmemSpace", kNoLimits},
    {"MemorySwappiness", kNoLimits},
    {"TaskAffinity", "it is an old key: tasks are bound as their options say"},
    {"CgroupMountpoint", kOwnPlace},
    {"CgroupAutomount", kOwnPlace},
    {"CgroupPlugin", kOwnPlace},
    {"CgroupReleaseAgentDir", kOwnPlace},
    {"CgroupSlice", kOwnPlace},
    {"CgroupJobIdPaths", kOwnPlace},
    {"EnableControllers", kOwnPlace},
    {"EnableExtraControllers", kOwnPlace},
    {"IgnoreSystemd", kOwnPlace},
    {"IgnoreSystemdOnFailure", kOwnPlace},
    {"SystemdTimeout", kOwnPlace},
    {"SignalChildrenProcesses", "every process of a step is signalled"}};
constexpr Key kTopologyKeys[] = {{"SwitchName", kNoTopology}, {"Switches", kNoTopology},
                                 {"Nodes", kNoTopology},      {"LinkSpeed", kNoTopology},
                                 {"BlockName", kNoTopology},  {"BlockSizes", kNoTopology}};
constexpr Key kContainerKeys[] = {{"AutoBasePath", kNoNamespaces},
                                  {"BasePath", kNoNamespaces},
                                  {"Dirs", kNoNamespaces},
                                  {"Shared", kNoNamespaces},
                                  {"InitScript", kNoNamespaces},
                                  {"NodeName", kNoNamespaces},
                                  {"EntireStepInNS", kNoNamespaces},
                                  {"CloneNSScript", kNoNamespaces},
                                  {"CloneNSEpilog", kNoNamespaces},
                                  {"CloneNSScript_Wait", kNoNamespaces},
                                  {"CloneNSEpilog_Wait", kNoNamespaces}};
constexpr Key kMpiKeys[] = {{"PMIxCliTmpDirBase", kNoPmix},
                            {"PMIxCollFence", kNoPmix},
                            {"PMIxDebug", kNoPmix},
                            {"PMIxDirectConn", kNoPmix},
                            {"PMIxDirectConnEarly", kNoPmix},
                            {"PMIxDirectConnUCX", kNoPmix},
                            {"PMIxDirectSameArch", kNoPmix},
                            {"PMIxEnv", kNoPmix},
                            {"PMIxFenceBarrier", kNoPmix},
                            {"PMIxNetDevicesUCX", kNoPmix},
                            {"PMIxShareServerTopology", kNoPmix},
                            {"PMIxTimeout", kNoPmix},
                            {"PMIxTlsUCX", kNoPmix}};

/// A file whose lines are no lines of keys, or whose keys nobody asks for one by one, has no keys
/// here.
struct Companion {
  std::string_view name;
  std::string_view reason;
  std::span<const Key> keys;
};
constexpr std::array<Companion, 11> kCompanions = {{
    {"gres.conf", kGresReason, kGresKeys},
    {"cgroup.conf", kNoLimits, kCgroupKeys},
    {"topology.conf", kNoTopology, kTopologyKeys},
    {"topology.yaml", kNoTopology, {}},
    {"job_container.conf", kNoNamespaces, kContainerKeys},
    {"mpi.conf", kNoPmix, kMpiKeys},
    {"plugstack.conf", "SPANK plugins cannot be loaded", {}},
    {"acct_gather.conf", kNotMeasured, {}},
    {"burst_buffer.conf", "there are no burst buffers", {}},
    {"helpers.conf", "features of nodes are not changed by programs", {}},
    {"oci.conf", "there are no containers", {}},
}};

// Named by its file, as slurm.conf itself is.
const Companion* find_companion(std::string_view name) {
  const auto found = std::ranges::find(kCompanions, name, &Companion::name);
  return found == kCompanions.end() ? nullptr : &*found;
}

/// Where a key stands first, and how many lines have it.
struct Seen {
  std::size_t order = 0;
  std::string place;
  std::string name;
  std::string value;
  std::size_t count = 0;
};

ConfFinding finding_of(const Companion& companion, const Seen& seen) {
  const auto is_it = [&](const Key& key) { return equal_ignoring_case(key.name, seen.name); };
  const auto key = std::ranges::find_if(companion.keys, is_it);
  if (key == companion.keys.end()) {
    // A misspelt key is more likely than a new one.
    std::vector<std::string_view> names;
    for (const Key& known : companion.keys) names.push_back(known.name);
    const auto nearest = nearest_word(seen.name, names);
    return {ConfFindingKind::kWrong, seen.place, seen.name,
            fmt::format("unknown key '{}'", seen.name),
            nearest ? fmt::format("the nearest known key is {}", *nearest)
                    : fmt::format("see {}(5) for the keys", companion.name)};
  }
  const std::string more =
      seen.count > 1 ? fmt::format(", here and {} more times", seen.count - 1) : "";
  return {ConfFindingKind::kNoEffect, seen.place, std::string(key->name),
          fmt::format("{}={} has no effect{}", key->name, seen.value, more),
          std::string(key->reason)};
}

}  // namespace

std::vector<std::string_view> companion_files() {
  std::vector<std::string_view> names;
  for (const Companion& companion : kCompanions) names.push_back(companion.name);
  return names;
}

std::string_view why_companion_has_no_effect(std::string_view name) {
  const Companion* companion = find_companion(name);
  return companion == nullptr ? std::string_view() : companion->reason;
}

std::vector<ConfFinding> check_companion(std::string_view name, std::string_view path,
                                         std::string_view text, const IncludeReader& read_include) {
  const Companion* companion = find_companion(name);
  if (companion == nullptr) return {};
  // Such a file has no keys: it is said once that it has no effect.
  if (companion->keys.empty()) {
    return {{ConfFindingKind::kNoEffect, std::string(path), "",
             fmt::format("{} has no effect", name), std::string(companion->reason)}};
  }
  std::vector<ConfFinding> findings;
  std::map<std::string, Seen> seen;
  for (const ConfLine& line : read_conf_lines(path, text, read_include, findings)) {
    for (const ConfPair& pair : line.pairs) {
      Seen& entry = seen[lower(pair.key)];
      if (entry.count++ == 0) entry = {seen.size(), line.place(), pair.key, pair.value, 1};
    }
  }
  std::vector<Seen> in_order;
  for (auto& [key, entry] : seen) in_order.push_back(std::move(entry));
  // In the order in which the file has them.
  std::ranges::sort(in_order, {}, &Seen::order);
  for (const Seen& entry : in_order) findings.push_back(finding_of(*companion, entry));
  return findings;
}

std::vector<SlurmConfKey> companion_keys() {
  std::vector<SlurmConfKey> all;
  for (const Companion& companion : kCompanions) {
    for (const Key& key : companion.keys)
      all.push_back({companion.name, key.name, ConfHandling::kNoEffect, key.reason});
  }
  return all;
}

}  // namespace muster
