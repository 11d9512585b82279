#include "slurm/conf/conf_finding.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

ConfFinding finding(ConfFindingKind kind, std::string place = "f:3") {
  return {kind, std::move(place), "Prolog", "Prolog=/x is not supported", "take the key out"};
}

TEST(ConfFinding, MistakesAndRefusalsKeepADaemonFromStarting) {
  EXPECT_TRUE(is_fatal(finding(ConfFindingKind::kWrong)));
  EXPECT_TRUE(is_fatal(finding(ConfFindingKind::kRefused)));
  EXPECT_FALSE(is_fatal(finding(ConfFindingKind::kNoEffect)));
  EXPECT_FALSE(is_fatal(finding(ConfFindingKind::kOld)));
}

TEST(ConfFinding, IsOneLineOfText) {
  EXPECT_EQ(conf_finding_text(finding(ConfFindingKind::kRefused)),
            "f:3: Prolog=/x is not supported: take the key out");
  EXPECT_EQ(conf_finding_text({ConfFindingKind::kWrong, "f", "", "what", ""}), "f: what");
}

TEST(ConfFinding, EachKindHasAWord) {
  EXPECT_EQ(conf_finding_word(ConfFindingKind::kWrong), "wrong");
  EXPECT_EQ(conf_finding_word(ConfFindingKind::kRefused), "refused");
  EXPECT_EQ(conf_finding_word(ConfFindingKind::kNoEffect), "without effect");
  EXPECT_EQ(conf_finding_word(ConfFindingKind::kOld), "old");
  EXPECT_EQ(conf_finding_word(static_cast<ConfFindingKind>(99)), "unknown");
}

TEST(ConfFinding, TheFirstThatIsFatalIsTheError) {
  EXPECT_TRUE(first_failure({}).has_value());
  EXPECT_TRUE(first_failure({finding(ConfFindingKind::kOld), finding(ConfFindingKind::kNoEffect)})
                  .has_value());
  const Status failed = first_failure({finding(ConfFindingKind::kOld, "f:1"),
                                       finding(ConfFindingKind::kRefused, "f:2"),
                                       finding(ConfFindingKind::kWrong, "f:3")});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error(), (Error{ErrorCode::kUnimplemented, "f:2: Prolog=/x is not supported",
                                   "take the key out"}));
  EXPECT_EQ(first_failure({finding(ConfFindingKind::kWrong)}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(ConfFinding, AnErrorBecomesAFindingAndBack) {
  const Error unsupported{ErrorCode::kUnimplemented, "not supported", "write NO"};
  const ConfFinding refused = failure_at("f:9", "Shared", unsupported);
  EXPECT_EQ(refused,
            (ConfFinding{ConfFindingKind::kRefused, "f:9", "Shared", "not supported", "write NO"}));
  EXPECT_EQ(first_failure({refused}).error().code, unsupported.code);
  EXPECT_EQ(failure_at("f:9", "", Error{ErrorCode::kNotFound, "gone", ""}).kind,
            ConfFindingKind::kWrong);
}

}  // namespace
}  // namespace muster
