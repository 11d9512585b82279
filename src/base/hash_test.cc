#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/rng.h"

namespace muster {
namespace {

enum class Colour : std::uint8_t { kRed = 3 };

TEST(Hash, TextBoundariesMatter) {
  EXPECT_NE(Hasher().add("ab").add("c").digest(), Hasher().add("a").add("bc").digest());
  EXPECT_EQ(Hasher().add("ab").add(7).digest(), Hasher().add("ab").add(7).digest());
  EXPECT_NE(Hasher().add("").digest(), Hasher().digest());
}

TEST(Hash, TheOrderMatters) {
  EXPECT_NE(Hasher().add(1).add(2).digest(), Hasher().add(2).add(1).digest());
  EXPECT_NE(Hasher().add("a").add("b").digest(), Hasher().add("b").add("a").digest());
}

TEST(Hash, ANumberCountsByItsValueNotByItsType) {
  const std::uint64_t three = Hasher().add(3).digest();
  EXPECT_EQ(Hasher().add(std::uint8_t{3}).digest(), three);
  EXPECT_EQ(Hasher().add(std::uint64_t{3}).digest(), three);
  EXPECT_EQ(Hasher().add(Colour::kRed).digest(), three);
  EXPECT_EQ(Hasher().add(std::int32_t{-1}).digest(), Hasher().add(std::int64_t{-1}).digest());
  EXPECT_NE(Hasher().add(-1).digest(), Hasher().add(1).digest());
}

TEST(Hash, ADigestDoesNotEndTheSequence) {
  Hasher hasher;
  hasher.add(1);
  const std::uint64_t before = hasher.digest();
  EXPECT_EQ(hasher.digest(), before);
  hasher.add(2);
  EXPECT_EQ(hasher.digest(), Hasher().add(1).add(2).digest());
}

TEST(Hash, EveryByteOfATextCountsHoweverLongItIs) {
  for (std::size_t size = 1; size <= 40; ++size) {
    const std::string text(size, 'a');
    const std::uint64_t digest = Hasher().add(text).digest();
    EXPECT_NE(Hasher().add(text + '\0').digest(), digest) << size;
    for (std::size_t i = 0; i < size; ++i) {
      std::string changed = text;
      changed[i] = '\xe1';  // differs in the byte's highest bit alone
      EXPECT_NE(Hasher().add(changed).digest(), digest) << size << " " << i;
    }
  }
}

TEST(Hash, OneBitChangesHalfOfTheDigestsBits) {
  constexpr std::uint64_t kSeed = 23;
  Rng rng(kSeed);
  int changed = 0;
  constexpr int kRounds = 1000;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t value = rng.next();
    const std::uint64_t other = value ^ (std::uint64_t{1} << rng.below(64));
    changed += std::popcount(Hasher().add(value).digest() ^ Hasher().add(other).digest());
  }
  EXPECT_GT(changed, kRounds * 31) << "seed " << kSeed;
  EXPECT_LT(changed, kRounds * 33) << "seed " << kSeed;
}

TEST(Hash, SmallNumbersDoNotCollide) {
  std::set<std::uint64_t> digests;
  for (int i = 0; i < 10'000; ++i) digests.insert(Hasher().add(i).digest());
  EXPECT_EQ(digests.size(), 10'000U);
}

}  // namespace
}  // namespace muster
