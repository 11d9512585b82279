#include "cli/slurm/config_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/lib/text_file.h"
#include "slurm/conf/conf_companions.h"
#include "slurm/conf/slurm_conf.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// A folder of its own for one test.
class Folder {
 public:
  Folder() {
    std::string form = std::filesystem::temp_directory_path() / "muster_config_XXXXXX";
    path_ = ::mkdtemp(form.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string shown(const std::vector<ConfFinding>& findings, const std::string& folder) {
  std::string text;
  for (const ConfFinding& finding : findings) {
    std::string line =
        fmt::format("{}: {}: {}\n", finding.place, conf_finding_word(finding.kind), finding.text);
    for (std::size_t at = line.find(folder + "/"); at != std::string::npos;
         at = line.find(folder + "/"))
      line.erase(at, folder.size() + 1);
    text += line;
  }
  return text;
}

constexpr const char* kSound =
    "ClusterName=c\nSlurmctldHost=h\nNodeName=n1\nPartitionName=p Nodes=n1\n";

TEST(ConfigCheck, HasNothingToSayOfASoundFile) {
  const Folder folder;
  const auto findings = check_conf_file(folder.write("slurm.conf", kSound));
  ASSERT_TRUE(findings.has_value());
  EXPECT_EQ(shown(*findings, folder.path()), "");
  EXPECT_EQ(conf_summary(*findings), "nothing to say");
}

TEST(ConfigCheck, SaysAllInTheOrderOfFilesAndLines) {
  const Folder folder;
  folder.write("more.conf", "Epilog=/y\nInclude deep/last.conf\nTreeWidth=3\n");
  folder.write("deep/last.conf", "KillWait=x\n");
  folder.write("gres.conf",
               "AutoDetect=nvml\nInclude more_gres.conf\nName=gpu File=/dev/nvidia0\nNmae=gpu\n");
  folder.write("more_gres.conf", "Name=gpu Cores=0-3\n");
  folder.write("plugstack.conf", "required spank_pyxis.so\n");
  const auto findings = check_conf_file(folder.write(
      "slurm.conf",
      fmt::format("Prolog=/x\nInclude more.conf\nword\n{}ControlMachine=h\n", kSound)));
  ASSERT_TRUE(findings.has_value());
  EXPECT_EQ(shown(*findings, folder.path()),
            "slurm.conf:1: refused: Prolog=/x is not supported\n"
            "slurm.conf:3: wrong: Key=Value is expected\n"
            "slurm.conf:8: old: ControlMachine=h is an old spelling\n"
            "slurm.conf:8: without effect: controller h is no backup of h\n"
            "more.conf:1: refused: Epilog=/y is not supported\n"
            "more.conf:3: without effect: TreeWidth=3 has no effect\n"
            "deep/last.conf:1: wrong: KillWait=x: the value must be a whole number or UNLIMITED\n"
            "gres.conf:1: without effect: AutoDetect=nvml has no effect\n"
            "gres.conf:3: without effect: File=/dev/nvidia0 has no effect\n"
            "gres.conf:4: wrong: unknown key 'Nmae'\n"
            "more_gres.conf:1: without effect: Name=gpu has no effect, here and 1 more times\n"
            "more_gres.conf:1: without effect: Cores=0-3 has no effect\n"
            "plugstack.conf: without effect: plugstack.conf has no effect\n");
  EXPECT_EQ(conf_summary(*findings), "3 wrong, 2 refused, 7 without effect, 1 old");
}

TEST(ConfigCheck, FollowsWhatCgroupConfIncludes) {
  const Folder folder;
  folder.write("cgroup.conf", "Include more_cgroup.conf\n");
  folder.write("more_cgroup.conf", "ConstrainCores=maybe\nNoSuchKey=1\n");
  const auto findings = check_conf_file(folder.write("slurm.conf", kSound));
  ASSERT_TRUE(findings.has_value());
  const std::string text = shown(*findings, folder.path());
  EXPECT_NE(text.find("more_cgroup.conf:2: wrong: unknown key 'NoSuchKey'\n"), std::string::npos)
      << text;
}

TEST(ConfigCheck, SaysWhatIsMissing) {
  const Folder folder;
  const auto findings = check_conf_file(folder.write("slurm.conf", "KillWait=3\n"));
  EXPECT_EQ(
      shown(*findings, folder.path()),
      "slurm.conf: wrong: ClusterName is missing\nslurm.conf: wrong: SlurmctldHost is missing\n"
      "slurm.conf: wrong: NodeName is missing\nslurm.conf: wrong: PartitionName is missing\n");
  EXPECT_EQ(check_conf_file(folder.path() + "/none.conf").error().code, ErrorCode::kNotFound);
}

TEST(ConfigCheck, TakesOneOfTheFilesBesideAlone) {
  const Folder folder;
  const auto findings = check_conf_file(folder.write("cgroup.conf", "ConstrainCores=yes\n"));
  EXPECT_EQ(shown(*findings, folder.path()),
            "cgroup.conf:1: without effect: ConstrainCores=yes has no effect\n");
}

// ---- configurations of real sites, which lie beside the source tree ----

std::string sites_folder() {
  const char* source = std::getenv("MUSTER_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/../shared/data/sites";
}

TEST(ConfigCheckOfSites, EveryFamilyGetsAFullReport) {
  if (!std::filesystem::exists(sites_folder())) GTEST_SKIP() << "no " << sites_folder();
  std::size_t families = 0;
  for (const auto& entry : std::filesystem::directory_iterator(sites_folder())) {
    const std::string file = entry.path() / "slurm.conf";
    if (!entry.is_directory() || !std::filesystem::exists(file)) continue;
    ++families;
    const auto findings = check_conf_file(file);
    ASSERT_TRUE(findings.has_value()) << file;
    EXPECT_GT(findings->size(), 5U) << file << ": every site uses something that is not there yet";
    for (const ConfFinding& finding : *findings) {
      const std::string text = conf_finding_text(finding);
      EXPECT_EQ(text.find("unknown key"), std::string::npos) << text;
      EXPECT_FALSE(finding.remedy.empty()) << text;
      EXPECT_NE(finding.place.find(".conf"), std::string::npos) << text;
    }
    // The last line of a file was reached as well: whatever follows is in the report.
    const std::string whole = read_file(file).value() + "\nNoSuchKey=1\n";
    const SlurmConf read = read_slurm_conf(file, whole);
    EXPECT_TRUE(std::ranges::any_of(read.findings, [](const ConfFinding& finding) {
      return finding.key == "NoSuchKey";
    })) << file;
  }
  EXPECT_EQ(families, 8U);
}

/// The names in the first cell of a table's row: "Nodes (also nodes)" is both.
std::vector<std::string> names_in(std::string_view row) {
  const auto cells = split(row, '|');
  if (cells.size() < 3) return {};
  const std::string_view cell = trim(cells[1]);
  const std::size_t also = cell.find(" (also ");
  std::vector<std::string> names = {std::string(cell.substr(0, also))};
  if (also == std::string_view::npos) return names;
  for (const std::string_view name : split(cell.substr(also + 7, cell.size() - also - 8), ','))
    names.emplace_back(trim(name));
  return names;
}

/// The record that a section of KEYS.md is about; nullopt: no table of keys.
std::optional<std::string> record_of(std::string_view title) {
  if (title == "slurm.conf: keys of the cluster") return "";
  if (title == "slurm.conf: NodeName lines") return "NodeName";
  if (title == "slurm.conf: PartitionName lines") return "PartitionName";
  if (title == "slurm.conf: NodeSet lines") return "NodeSet";
  if (title == "slurm.conf: DownNodes lines") return "DownNodes";
  if (title.ends_with(".conf")) return std::string(title);
  return std::nullopt;
}

TEST(ConfigCheckOfSites, EveryKeyThatSitesUseIsKnown) {
  const auto text = read_file(sites_folder() + "/KEYS.md");
  if (!text.has_value()) GTEST_SKIP() << "no " << sites_folder() << "/KEYS.md";
  std::set<std::string> known;
  std::vector<SlurmConfKey> keys = slurm_conf_keys();
  std::ranges::move(companion_keys(), std::back_inserter(keys));
  for (const SlurmConfKey& key : keys)
    known.insert(lower(fmt::format("{}/{}", key.record, key.name)));
  // Pairs of a PowerAction line, which is refused whole, and the end of a quote that a site forgot
  // to close.
  const std::set<std::string> no_keys = {"/location",         "/program",
                                         "/poweraction",      "/ttl",
                                         "nodename/nodename", "partitionname/partitionname"};
  EXPECT_TRUE(known.contains("poweraction/poweraction"));
  std::size_t checked = 0;
  std::optional<std::string> record;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("## ")) record = record_of(trim(line.substr(3)));
    const bool is_row = record && line.starts_with("| ") && !line.starts_with("| key ");
    if (!is_row) continue;
    for (const std::string& name : names_in(line)) {
      const bool is_line_refused = *record == "NodeSet" || *record == "DownNodes";
      const std::string wanted =
          lower(is_line_refused ? *record + "/" + *record : *record + "/" + name);
      ++checked;
      if (lower(name) == "include" || no_keys.contains(wanted)) continue;
      EXPECT_TRUE(known.contains(wanted)) << *record << " " << name << " is in no table";
    }
  }
  EXPECT_GT(checked, 250U);
}

}  // namespace
}  // namespace muster::cli
