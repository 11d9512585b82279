#include "base/bitmap.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace muster {
namespace {

TEST(Bitmap, EqualSetsAreEqualWhateverTheirHistory) {
  Bitmap a;
  a.set(3);
  a.set(200);
  a.reset(200);
  EXPECT_EQ(a, Bitmap::range(3, 1));
  EXPECT_EQ(Bitmap::range(60, 10).count(), 10U);
  EXPECT_EQ(Bitmap::range(60, 10).lowest(2), Bitmap::range(60, 2));
  EXPECT_EQ(Bitmap::from_words({8, 0, 0}), a) << "trailing zeros are no part of the set";
  EXPECT_EQ(Bitmap::from_words({0, 0}), Bitmap());
}

TEST(Bitmap, SetAlgebra) {
  Bitmap a = Bitmap::range(0, 100);
  a -= Bitmap::range(10, 80);
  EXPECT_EQ(a.count(), 20U);
  EXPECT_FALSE(a.intersects(Bitmap::range(10, 80)));
  EXPECT_TRUE(a.contains(Bitmap::range(95, 5)));
  a &= Bitmap::range(0, 5);
  EXPECT_EQ(a, Bitmap::range(0, 5));
}

TEST(Bitmap, WordsMeetWithoutAGap) {
  for (const std::size_t index : {0U, 1U, 62U, 63U, 64U, 65U, 127U, 128U}) {
    const Bitmap one = Bitmap::range(index, 1);
    EXPECT_TRUE(one.test(index)) << index;
    EXPECT_FALSE(one.test(index + 1)) << index;
    EXPECT_FALSE(index > 0 && one.test(index - 1)) << index;
    EXPECT_EQ(one.indices(), std::vector<std::size_t>{index});
    EXPECT_EQ(one.words().size(), index / 64 + 1);
  }
}

TEST(Bitmap, AnEmptySetIsPartOfEverySetAndMeetsNone) {
  const Bitmap none;
  const Bitmap some = Bitmap::range(70, 3);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(Bitmap::range(5, 0), none);
  EXPECT_TRUE(none.contains(none));
  EXPECT_TRUE(some.contains(none));
  EXPECT_FALSE(none.contains(some));
  EXPECT_FALSE(some.intersects(none));
  EXPECT_EQ(none.lowest(3), none);
  EXPECT_EQ(some.lowest(0), none);
  EXPECT_EQ(some.lowest(99), some);
}

TEST(Bitmap, WhatIsNotThereCanBeTakenOut) {
  Bitmap set = Bitmap::range(0, 2);
  set.reset(1'000'000);
  set.reset(2);
  EXPECT_EQ(set, Bitmap::range(0, 2));
  EXPECT_FALSE(set.test(1'000'000));
}

using Indices = std::set<std::size_t>;

Bitmap bitmap_of(const Indices& indices) {
  Bitmap result;
  for (const std::size_t index : indices) result.set(index);
  return result;
}
Indices indices_of(const Bitmap& bitmap) {
  const auto indices = bitmap.indices();
  return {indices.begin(), indices.end()};
}

TEST(Bitmap, DoesWhatASetOfNumbersDoes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Indices a;
    Indices b;
    for (std::uint64_t i = rng.below(40); i > 0; --i) a.insert(rng.below(200));
    for (std::uint64_t i = rng.below(40); i > 0; --i)
      b.insert(rng.below(rng.chance(0.5) ? 60 : 200));
    Indices both;
    Indices left;
    Indices all = a;
    all.insert(b.begin(), b.end());
    for (const std::size_t index : a) (b.contains(index) ? both : left).insert(index);
    Bitmap sum = bitmap_of(a);
    Bitmap common = bitmap_of(a);
    Bitmap rest = bitmap_of(a);
    sum |= bitmap_of(b);
    common &= bitmap_of(b);
    rest -= bitmap_of(b);
    EXPECT_EQ(indices_of(sum), all);
    EXPECT_EQ(common, bitmap_of(both));
    EXPECT_EQ(rest, bitmap_of(left));
    EXPECT_EQ(sum.count(), all.size());
    EXPECT_EQ(bitmap_of(a).intersects(bitmap_of(b)), !both.empty());
    EXPECT_EQ(bitmap_of(a).contains(bitmap_of(b)), both == b);
    EXPECT_EQ(Bitmap::from_words(sum.words()), sum);
  }
}

}  // namespace
}  // namespace muster
