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

}  // namespace
}  // namespace muster
