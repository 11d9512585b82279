#include "slurm/dependency_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

std::string read_back_dependency(std::string_view text) {
  const auto set = parse_dependency(text);
  return set.has_value() ? dependency_text(*set) : set.error().text();
}

TEST(DependencyText, ReadsEveryKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"afterok:12", "afterok:12(unfulfilled)"},
      {"AfterOK:12:13,afterany:14_3",
       "afterok:12(unfulfilled),afterok:13(unfulfilled),afterany:14_3(unfulfilled)"},
      {"afternotok:1?aftercorr:9", "afternotok:1(unfulfilled)?aftercorr:9(unfulfilled)"},
      {"after:12+5:13", "after:12+5(unfulfilled),after:13(unfulfilled)"},
      {"singleton", "singleton(unfulfilled)"},
      {"afterok:12_*", "afterok:12(unfulfilled)"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(read_back_dependency(text), printed) << text;
}

TEST(DependencyText, KeepsTheParts) {
  const DependencySet set = parse_dependency("after:12_3+5").value();
  ASSERT_EQ(set.terms.size(), 1U);
  EXPECT_EQ(set.terms[0].job, JobId(12));
  EXPECT_EQ(set.terms[0].array_index, 3U);
  EXPECT_EQ(set.terms[0].delay, Duration::minutes(5));
  EXPECT_FALSE(set.is_any);
  EXPECT_TRUE(parse_dependency("afterok:1?afterok:2").value().is_any);
}

TEST(DependencyText, RefusesOtherTexts) {
  for (const char* bad : {"afterok", "afterok:", "afterok:x", "afterok:0", "12", "later:12",
                          "singleton:12", ",", "afterok:1,", "afterok:1,afterok:2?afterok:3",
                          "afterok:12+5", "after:12+", "afterok:12_x", "afterok:-1"}) {
    const auto set = parse_dependency(bad);
    ASSERT_FALSE(set.has_value()) << bad;
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_EQ(set.error().message, "Job dependency problem");
  }
  EXPECT_EQ(parse_dependency("expand:12").error().code, ErrorCode::kUnimplemented);
  EXPECT_NE(read_back_dependency("later:12").find("'later' is no type; use one of after, afterany"),
            std::string::npos);
}

TEST(DependencyText, ShowsWhatIsLeft) {
  DependencySet set = parse_dependency("afterok:1:2:3").value();
  set.terms[0].state = DependencyState::kFulfilled;
  set.terms[2].state = DependencyState::kFailed;
  EXPECT_EQ(dependency_text(set), "afterok:2(unfulfilled),afterok:3(failed)");
}

TEST(DependencyText, ReadsBackWhatIsLeft) {
  constexpr std::uint64_t kSeed = 41;
  Rng rng(kSeed);
  for (int round = 0; round < 1000; ++round) {
    DependencySet set;
    set.is_any = rng.chance(0.5);
    for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
      DependencyTerm term;
      term.kind = static_cast<DependencyKind>(rng.below(6));
      if (term.kind != DependencyKind::kSingleton) {
        term.job = JobId(static_cast<std::uint32_t>(rng.between(1, UINT32_MAX)));
        if (rng.chance(0.3)) term.array_index = static_cast<std::uint32_t>(rng.below(100));
      }
      if (term.kind == DependencyKind::kAfter && rng.chance(0.5))
        term.delay = Duration::minutes(rng.between(1, UINT32_MAX));
      set.terms.push_back(term);
    }
    std::string text = dependency_text(set);
    for (std::size_t at = text.find('('); at != text.npos; at = text.find('('))
      text.erase(at, text.find(')', at) + 1 - at);
    const auto back = parse_dependency(text);
    ASSERT_TRUE(back.has_value()) << "seed " << kSeed << " round " << round << ": " << text;
    set.is_any = set.is_any && set.terms.size() > 1;  // of one term there is nothing to choose
    EXPECT_EQ(*back, set) << "seed " << kSeed << " round " << round << ": " << text;
  }
}

TEST(DependencyText, AnAnyWithOneTermLeftIsShownAsItIs) {
  DependencySet set = parse_dependency("afterok:1?after:2+4294967295").value();
  EXPECT_EQ(set.terms[1].delay, Duration::minutes(4294967295));
  set.terms[0].state = DependencyState::kFulfilled;
  EXPECT_EQ(dependency_text(set), "after:2+4294967295(unfulfilled)");
  for (DependencyTerm& term : set.terms) term.state = DependencyState::kFulfilled;
  EXPECT_EQ(dependency_text(set), "");
  EXPECT_FALSE(parse_dependency("after:2+4294967296").has_value());
  EXPECT_FALSE(parse_dependency("afterok:4294967296").has_value());
}

}  // namespace
}  // namespace muster
