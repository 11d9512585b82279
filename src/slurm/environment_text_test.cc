#include "slurm/environment_text.h"

#include <gtest/gtest.h>

#include "text/words.h"

namespace muster {
namespace {

const Environment& submitted() {
  static const Environment kEnvironment = {
      "PATH=/bin", "A=1", "SLURM_CONF=/c", "SPANK_X=y", "SLURM_JWT=secret", "EMPTY="};
  return kEnvironment;
}

std::string exported(std::string_view text) {
  const auto result = apply_export(text, submitted());
  if (!result.has_value()) return result.error().text();
  return join(result->variables, " ") + (result->wants_login_environment ? " +login" : "");
}

TEST(EnvironmentText, BlocksReadBack) {
  const std::string block = environment_block(submitted());
  EXPECT_EQ(block.substr(0, 14), std::string("PATH=/bin\0A=1\0", 14));
  EXPECT_EQ(parse_environment(block), submitted());
  EXPECT_EQ(parse_environment(std::string_view("A=1\0\0B=2", 8)), (Environment{"A=1", "B=2"}));
  EXPECT_EQ(parse_environment(""), Environment{});
}

TEST(EnvironmentText, SingleVariables) {
  Environment environment = {"AB=0", "A=1", "A=2", "BARE"};
  EXPECT_EQ(get_variable(environment, "A"), "1");
  EXPECT_EQ(get_variable(environment, "BARE"), std::nullopt);
  EXPECT_EQ(get_variable(environment, "C"), std::nullopt);
  set_variable(environment, "A", "x=y");
  set_variable(environment, "C", "");
  EXPECT_EQ(environment, (Environment{"AB=0", "A=x=y", "A=2", "BARE", "C="}));
  unset_variable(environment, "A");
  EXPECT_EQ(environment, (Environment{"AB=0", "BARE", "C="}));
}

TEST(EnvironmentText, ExportLetsThroughWhatTheManualSays) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "PATH=/bin A=1 SLURM_CONF=/c SPANK_X=y EMPTY="},
      {"all", "PATH=/bin A=1 SLURM_CONF=/c SPANK_X=y EMPTY="},
      {"NONE", "SLURM_CONF=/c SPANK_X=y +login"},
      {"NIL", "SLURM_CONF=/c SPANK_X=y"},
      {"A,B=c", "SLURM_CONF=/c SPANK_X=y A=1 B=c +login"},
      {"A=2,ALL,D=e", "PATH=/bin A=2 SLURM_CONF=/c SPANK_X=y EMPTY= D=e"},
      {"EMPTY,ABSENT", "SLURM_CONF=/c SPANK_X=y EMPTY= +login"},
      {"L='x,y',M=\"a b\"", "SLURM_CONF=/c SPANK_X=y L=x,y M=a b +login"},
      {"SLURM_JWT", "SLURM_CONF=/c SPANK_X=y +login"},
      {"NIL,SLURM_JWT=mine", "SLURM_CONF=/c SPANK_X=y SLURM_JWT=mine +login"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(exported(text), expected) << text;
}

TEST(EnvironmentText, RefusesWhatIsNoName) {
  for (const char* bad : {"A,,B", "1A", "A-B=1", "=x", ","}) {
    EXPECT_EQ(exported(bad).substr(0, 30), "Invalid --export specification") << bad;
  }
}

TEST(EnvironmentText, ManyVariablesOfAClientAreSetInOneGo) {
  Environment environment = {"A=1", "B=2", "A=3"};
  const std::vector<std::string> assignments = {"B=x=y", "C=", "D", "C=4"};
  ASSERT_TRUE(set_variables(environment, assignments).has_value());
  EXPECT_EQ(environment, (Environment{"A=1", "B=x=y", "A=3", "C=4"}));
  for (const std::string& wrong :
       {std::string("=1"), std::string("A\0B=1", 5), std::string("A=1\0B=2", 7)}) {
    const auto refused = set_variables(environment, std::vector<std::string>{wrong});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace muster
