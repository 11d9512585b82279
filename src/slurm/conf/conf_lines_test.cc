#include "slurm/conf/conf_lines.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// "2 A=1 B=2; 5 C=3": each line's number and pairs.
std::string shown(std::string_view text, const IncludeReader& read_include = nullptr) {
  const auto lines = parse_conf_lines("slurm.conf", text, read_include);
  if (!lines.has_value()) return lines.error().text();
  std::string result;
  for (const ConfLine& line : *lines) {
    if (!result.empty()) result += "; ";
    result += std::to_string(line.line);
    for (const ConfPair& pair : line.pairs) result += " " + pair.key + "=" + pair.value;
  }
  return result;
}

TEST(ConfLines, ReadsWordsCommentsAndJoinedLines) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"# nothing\n\n   \n", ""},
      {"A=1\n\nB=2 # two\n", "1 A=1; 3 B=2"},
      {"NodeName=n[1-2] CPUs=4\tGres=gpu:2\r\n", "1 NodeName=n[1-2] CPUs=4 Gres=gpu:2"},
      {"A=1 \\\n  B=2 \\\n C=3\nD=4", "1 A=1 B=2 C=3; 4 D=4"},
      {"Nodes=a,\\\nb,c\\\n Default=YES", "1 Nodes=a,b,c Default=YES"},
      {"A = 1", "1 A=1"},
      {"A= 1 B =2", "1 A=1 B=2"},
      {"Reason=\"a b\" State=DOWN", "1 Reason=a b State=DOWN"},
      {"A=\"\"", "1 A="},
      {"A=x\\#y # z", "1 A=x#y"},
      {"A=b=c", "1 A=b=c"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), expected) << text;
}

TEST(ConfLines, NamesFileAndLine) {
  EXPECT_EQ(shown("A=1\nword\n"), "slurm.conf:2: Key=Value is expected: at 'word'");
  EXPECT_EQ(shown("A=1 =2"), "slurm.conf:1: Key=Value is expected: at '=2'");
  EXPECT_EQ(shown("A="), "slurm.conf:1: A has no value: write Key=Value, or take the key out");
  EXPECT_EQ(shown("Features= Gres=gpu:2"),
            "slurm.conf:1: Features has no value: write Key=Value, or take the key out");
  EXPECT_EQ(shown("\nA=\"x"), "slurm.conf:2: a quote is not closed: in 'x'");
}

TEST(ConfLines, IncludesThroughTheCaller) {
  const IncludeReader reader = [](std::string_view path) -> Result<std::string> {
    if (path == "loop") return "Include loop\n";
    if (path == "nodes.conf") return "NodeName=n1\n";
    return fail(ErrorCode::kNotFound, "no such file");
  };
  EXPECT_EQ(shown("A=1\nInclude nodes.conf\nB=2\n", reader), "1 A=1; 1 NodeName=n1; 3 B=2");
  EXPECT_EQ(shown("include=nodes.conf", reader), "1 NodeName=n1");
  EXPECT_EQ(parse_conf_lines("f", "Include nodes.conf", reader).value()[0].place(), "nodes.conf:1");
  EXPECT_EQ(shown("\nInclude other", reader), "slurm.conf:2: Include other: no such file");
  EXPECT_EQ(shown("ClusterName=nodes\nInclude \"%c.conf\"", reader),
            "1 ClusterName=nodes; 1 NodeName=n1");
  EXPECT_NE(shown("Include %c.conf", reader).find("stands before ClusterName"), std::string::npos);
  EXPECT_NE(shown("Include loop", reader).find("nested too deeply"), std::string::npos);
  EXPECT_NE(shown("Include nodes.conf").find("not allowed here"), std::string::npos);
  EXPECT_EQ(shown("IncludeAll=1", reader), "1 IncludeAll=1");
}

TEST(ConfLines, ReadsOnAfterAMistake) {
  std::vector<ConfFinding> findings;
  const auto lines = read_conf_lines("f", "A=1\nword\nB=\nC=3\n", nullptr, findings);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].place(), "f:4");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(conf_finding_text(findings[1]),
            "f:3: B has no value: write Key=Value, or take the key out");
}

TEST(ConfLines, AFileThatIncludesItselfOftenIsReadInBoundedTime) {
  const IncludeReader reader = [](std::string_view) -> Result<std::string> {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "Include x\n";
    return text;
  };
  std::vector<ConfFinding> findings;
  EXPECT_TRUE(read_conf_lines("f", "Include x\n", reader, findings).empty());
  EXPECT_FALSE(findings.empty());
  EXPECT_LT(findings.size(), 200'000U);
}

TEST(ConfLines, SkipsWhatIsNotWanted) {
  std::vector<ConfFinding> findings;
  const auto lines =
      read_conf_lines("f", "A=1\nNodeName=n broken\n", nullptr, findings,
                      [](std::string_view line) { return !line.starts_with("NodeName"); });
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_TRUE(findings.empty());
}

}  // namespace
}  // namespace muster
