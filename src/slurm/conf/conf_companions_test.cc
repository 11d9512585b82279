#include "slurm/conf/conf_companions.h"

#include <gtest/gtest.h>

#include <set>

#include "text/words.h"

namespace muster {
namespace {

std::string checked(std::string_view name, std::string_view text,
                    const IncludeReader& read_include = nullptr) {
  std::string all;
  for (const ConfFinding& finding : check_companion(name, "/etc/f", text, read_include))
    all += std::string(conf_finding_word(finding.kind)) + ": " + conf_finding_text(finding) + "\n";
  return all;
}

TEST(ConfCompanions, EveryFileHasAReasonAndNoOtherHas) {
  for (const std::string_view name : companion_files())
    EXPECT_NE(why_companion_has_no_effect(name), "") << name;
  for (const char* other : {"slurm.conf", "", "GRES.CONF", "gres.conf.bak"})
    EXPECT_EQ(why_companion_has_no_effect(other), "") << other;
}

TEST(ConfCompanions, EachKeyIsNamedOnceWhereItStandsFirst) {
  EXPECT_EQ(checked("cgroup.conf",
                    "# c\nConstrainCores=yes\nSystemdTimeout=5 constraincores=no\n"
                    "CONSTRAINCORES=yes\n"),
            "without effect: /etc/f:2: ConstrainCores=yes has no effect, here and 2 more times: a "
            "step's processes are held together by cgroups; cores, memory, swap and devices are "
            "not limited by them yet\n"
            "without effect: /etc/f:3: SystemdTimeout=5 has no effect: the place of cgroups is "
            "found out on each node\n");
}

TEST(ConfCompanions, AMistakeIsOneHereToo) {
  EXPECT_EQ(checked("gres.conf", "Nam=gpu\n"),
            "wrong: /etc/f:1: unknown key 'Nam': the nearest known key is Name\n");
  EXPECT_EQ(checked("gres.conf", "Colour=red\n"),
            "wrong: /etc/f:1: unknown key 'Colour': see gres.conf(5) for the keys\n");
  EXPECT_EQ(checked("mpi.conf", "word\n"), "wrong: /etc/f:1: Key=Value is expected: at 'word'\n");
}

TEST(ConfCompanions, FilesOfOtherSyntaxAreNotRead) {
  EXPECT_EQ(checked("plugstack.conf", "required spank.so\n"),
            "without effect: /etc/f: plugstack.conf has no effect: SPANK plugins cannot be "
            "loaded\n");
  EXPECT_NE(checked("topology.yaml", "- a: [\n").find("topology.yaml has no effect"),
            std::string::npos);
}

TEST(ConfCompanions, WhatIsNoCompanionIsNotChecked) {
  EXPECT_EQ(checked("slurm.conf", "word\n"), "");
  EXPECT_EQ(checked("gres.conf", ""), "");
}

TEST(ConfCompanions, IncludedFilesCountWithTheirPlaces) {
  const IncludeReader reader = [](std::string_view path) -> Result<std::string> {
    return path == "more" ? Result<std::string>("Name=gpu\n")
                          : Result<std::string>(fail(ErrorCode::kNotFound, "no such file"));
  };
  EXPECT_TRUE(checked("gres.conf", "Include more\n", reader)
                  .starts_with("without effect: more:1: Name=gpu has no effect: "));
  EXPECT_EQ(checked("gres.conf", "Include less\n", reader),
            "wrong: /etc/f:1: Include less: no such file\n");
}

TEST(ConfCompanions, EveryKeyIsThereOnceAndSaysWhy) {
  std::set<std::string> seen;
  for (const SlurmConfKey& key : companion_keys()) {
    EXPECT_TRUE(seen.insert(std::string(key.record) + "." + lower(key.name)).second) << key.name;
    EXPECT_EQ(key.handling, ConfHandling::kNoEffect);
    EXPECT_NE(key.reason, "") << key.name;
    const auto findings = check_companion(key.record, "f", std::string(key.name) + "=x\n", nullptr);
    ASSERT_EQ(findings.size(), 1U) << key.name;
    EXPECT_EQ(findings[0].kind, ConfFindingKind::kNoEffect) << key.name;
    EXPECT_EQ(findings[0].remedy, key.reason) << key.name;
  }
  EXPECT_GT(seen.size(), 50U);
}

}  // namespace
}  // namespace muster
