#include "model/text_pack.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
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

std::string text_of(std::size_t key) { return "text " + std::to_string(key); }

TEST(TextPack, EveryKeyHasItsText) {
  std::array<std::string, TextPack<JobText>::kSize> owned;
  std::array<std::string_view, TextPack<JobText>::kSize> texts;
  TextPack<JobText> pack;
  for (std::size_t key = owned.size(); key-- > 0;) {
    owned[key] = text_of(key);
    texts[key] = owned[key];
    pack.set(static_cast<JobText>(key), owned[key]);
  }
  for (std::size_t key = 0; key < owned.size(); ++key)
    EXPECT_EQ(pack.get(static_cast<JobText>(key)), text_of(key));
  EXPECT_EQ(TextPack<JobText>::of(texts), pack);
  EXPECT_EQ(pack.count(), owned.size());
}

TEST(TextPack, ARecordOfItReadsBack) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    TextPack<JobText> pack;
    std::map<std::size_t, std::string> expected;
    for (std::uint64_t i = rng.below(30); i > 0; --i) {
      const std::size_t key = rng.below(TextPack<JobText>::kSize);
      const std::string text(rng.below(4), static_cast<char>('a' + key % 26));
      pack.set(static_cast<JobText>(key), text);
      expected[key] = text;
    }
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0, end = 0; i < pack.count(); ++i)
      ends.push_back(static_cast<std::uint32_t>(end += pack.span_of(i).size()));
    TextPack<JobText> back;
    back.assign(pack.mask(), ends, pack.buffer());
    ASSERT_EQ(back, pack) << "seed " << seed;
    for (const auto& [key, text] : expected)
      ASSERT_EQ(back.get(static_cast<JobText>(key)), text) << "seed " << seed;
  }
}

TEST(TextPackDeathTest, ARecordThatIsWrongIsABug) {
  TextPack<JobText> pack;
  const std::vector<std::uint32_t> one{1};
  EXPECT_DEATH(pack.assign(3, one, "ab"), "popcount");
  EXPECT_DEATH(pack.assign(1, one, ""), "end <= buffer");
  EXPECT_DEATH(pack.assign(3, std::vector<std::uint32_t>{2, 1}, "ab"), "begin < end");
  for (const std::size_t bit : {TextPack<JobText>::kSize, std::size_t{63}})
    EXPECT_DEATH(pack.assign(std::uint64_t{1} << bit, one, "a"), "bit_width") << bit;
}

}  // namespace
}  // namespace muster
