#include "model/text_pack.h"

#include <gtest/gtest.h>

#include "model/job_spec.h"

namespace muster {
namespace {

TEST(TextPack, SettingOneLeavesTheOthers) {
  TextPack<JobText> pack;
  pack.set(JobText::kName, "train");
  pack.set(JobText::kComment, "a note");
  pack.set(JobText::kUserName, "ann");
  pack.set(JobText::kName, "t");
  EXPECT_EQ(pack.get(JobText::kName), "t");
  EXPECT_EQ(pack.get(JobText::kUserName), "ann");
  EXPECT_EQ(pack.get(JobText::kComment), "a note");
  EXPECT_EQ(pack.get(JobText::kQos), "");
}

TEST(TextPack, EqualTextsAreEqualHoweverTheyCameAbout) {
  TextPack<JobText> a;
  TextPack<JobText> b;
  a.set(JobText::kComment, "c");
  a.set(JobText::kName, "n");
  a.set(JobText::kQos, "gone");
  a.set(JobText::kQos, "");
  b.set(JobText::kName, "n");
  b.set(JobText::kComment, "c");
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.count(), 2U);
  b.set(JobText::kComment, "");
  b.set(JobText::kName, "");
  EXPECT_EQ(b, TextPack<JobText>());
}

TEST(TextPack, KeepsOnlyTheTextsAskedFor) {
  TextPack<JobText> pack;
  pack.set(JobText::kName, "train");
  pack.set(JobText::kComment, "a note");
  pack.set(JobText::kRlimits, "NOFILE=1");
  const auto few = pack.only(1ULL << static_cast<int>(JobText::kComment) |
                             1ULL << static_cast<int>(JobText::kQos));
  EXPECT_EQ(few.get(JobText::kComment), "a note");
  EXPECT_EQ(few.get(JobText::kName), "");
  EXPECT_EQ(few.get(JobText::kRlimits), "");
}

}  // namespace
}  // namespace muster
