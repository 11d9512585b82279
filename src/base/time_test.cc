#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/rng.h"

namespace muster {
namespace {

constexpr std::int64_t kLastMicros = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFirstMicros = std::numeric_limits<std::int64_t>::min();
constexpr Duration kLongest = Duration::microseconds(kLastMicros - 1);
constexpr Duration kLeast = Duration::microseconds(-kLastMicros);
constexpr TimePoint kEarliest = TimePoint::from_microseconds(-kLastMicros);

TEST(Duration, UnitsAgree) {
  EXPECT_EQ(Duration::seconds(1), Duration::microseconds(1'000'000));
  EXPECT_EQ(Duration::milliseconds(1500).microseconds(), 1'500'000);
  EXPECT_EQ(Duration::minutes(2), Duration::seconds(120));
  EXPECT_EQ(Duration::hours(-3), Duration::minutes(-180));
  EXPECT_EQ(Duration(), Duration::seconds(0));
}

TEST(Duration, PartsAreCutTowardsZero) {
  EXPECT_EQ(Duration::microseconds(1'999'999).seconds(), 1);
  EXPECT_EQ(Duration::microseconds(-1'999'999).seconds(), -1);
  EXPECT_EQ(Duration::microseconds(-1999).milliseconds(), -1);
  EXPECT_EQ(Duration::seconds(7) / 2, Duration::milliseconds(3500));
}

TEST(Duration, UnitsStopAtTheEnds) {
  EXPECT_TRUE(Duration::milliseconds(kLastMicros).is_infinite());
  EXPECT_TRUE(Duration::seconds(kLastMicros / 1'000'000 + 1).is_infinite());
  EXPECT_TRUE(Duration::minutes(kLastMicros / 2).is_infinite());
  EXPECT_TRUE(Duration::hours(kLastMicros).is_infinite());
  EXPECT_FALSE(Duration::seconds(kLastMicros / 1'000'000).is_infinite());
  EXPECT_EQ(Duration::seconds(kFirstMicros), kLeast);
  EXPECT_EQ(Duration::hours(kFirstMicros), kLeast);
}

TEST(Duration, InfinityAbsorbs) {
  constexpr Duration kInfinite = Duration::infinite();
  EXPECT_TRUE((kInfinite + Duration::seconds(1)).is_infinite());
  EXPECT_TRUE((kInfinite - Duration::seconds(1)).is_infinite());
  EXPECT_TRUE((kInfinite - kInfinite).is_infinite());
  EXPECT_TRUE((Duration::seconds(-1) + kInfinite).is_infinite());
  EXPECT_TRUE((kInfinite * 2).is_infinite());
  EXPECT_TRUE((kInfinite / 1000).is_infinite());
  Duration sum = Duration::seconds(1);
  sum += kInfinite;
  EXPECT_TRUE(sum.is_infinite());
}

TEST(Duration, SumsStopAtTheirEnds) {
  EXPECT_TRUE((kLongest + kLongest).is_infinite());
  EXPECT_TRUE((kLongest * 3).is_infinite());
  EXPECT_LT(kLongest * -3, Duration());
  EXPECT_EQ(kLeast + kLeast, kLeast);
  EXPECT_EQ(Duration::seconds(2) * -3, Duration::seconds(-6));
}

TEST(Duration, DifferencesStopAtTheirEnds) {
  EXPECT_TRUE((kLongest - kLeast).is_infinite());
  EXPECT_TRUE((kLongest - Duration::microseconds(-2)).is_infinite());
  EXPECT_EQ(kLeast - kLongest, kLeast);
  EXPECT_EQ(Duration::seconds(-5) - Duration::infinite(), kLeast);
  EXPECT_EQ(Duration::seconds(5) - Duration::infinite(), kLeast);
  EXPECT_EQ(kLongest - kLongest, Duration());
  EXPECT_EQ(Duration::seconds(1) - Duration::seconds(3), Duration::seconds(-2));
}

TEST(TimePoint, NeverComesAfterEverythingAndStaysThere) {
  constexpr TimePoint kNever = TimePoint::never();
  EXPECT_TRUE((TimePoint::from_seconds(5) + Duration::infinite()).is_never());
  EXPECT_TRUE((kNever - Duration::hours(1)).is_never());
  EXPECT_TRUE((kNever + Duration::hours(-1)).is_never());
  EXPECT_TRUE((kNever - TimePoint::from_seconds(5)).is_infinite());
  EXPECT_TRUE((kNever - kNever).is_infinite());
  EXPECT_LT(TimePoint::from_microseconds(kLastMicros - 1), kNever);
  EXPECT_LT(TimePoint::unset(), kNever);
  EXPECT_FALSE(TimePoint::unset().is_set());
  EXPECT_TRUE(kNever.is_set());
}

TEST(TimePoint, SumsStopAtTheirEnds) {
  EXPECT_TRUE((TimePoint::from_seconds(1'000'000) + kLongest).is_never());
  EXPECT_EQ(kEarliest + Duration::seconds(-1), kEarliest);
  EXPECT_TRUE(TimePoint::from_seconds(kLastMicros).is_never());
  EXPECT_EQ(TimePoint::from_seconds(kFirstMicros), kEarliest);
}

TEST(TimePoint, DifferencesStopAtTheirEnds) {
  const TimePoint late = TimePoint::from_microseconds(kLastMicros - 1);
  EXPECT_TRUE((late - kEarliest).is_infinite());
  EXPECT_TRUE((late - TimePoint::from_seconds(-1)).is_infinite());
  EXPECT_EQ(kEarliest - late, kLeast);
  EXPECT_EQ(TimePoint::from_seconds(-5) - TimePoint::never(), kLeast);
  EXPECT_EQ(TimePoint::from_seconds(5) - TimePoint::never(), kLeast);
  EXPECT_EQ(kEarliest - Duration::seconds(1), kEarliest);
  EXPECT_EQ(TimePoint::from_seconds(-5) - Duration::infinite(), kEarliest);
  EXPECT_TRUE((late - Duration::seconds(-1)).is_never());
  EXPECT_EQ((TimePoint::from_seconds(5) - TimePoint::from_seconds(2)).seconds(), 3);
}

TEST(TimePoint, ArithmeticIsExactWhereItFitsAndKeepsTheOrderWhereNot) {
  __extension__ using Wide = __int128;
  const auto clamped = [](Wide value) {
    return static_cast<std::int64_t>(value > kLastMicros    ? kLastMicros
                                     : value < -kLastMicros ? -kLastMicros
                                                            : value);
  };
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    // Of every size: shifted by any number of bits.
    const auto any = [&] {
      return rng.between(-kLastMicros + 1, kLastMicros - 1) >> rng.below(63);
    };
    const std::int64_t a = any();
    const std::int64_t b = any();
    const TimePoint point = TimePoint::from_microseconds(a);
    const Duration span = Duration::microseconds(b);
    EXPECT_EQ((point + span).microseconds(), clamped(Wide{a} + b)) << "seed " << seed;
    EXPECT_EQ((point - span).microseconds(), clamped(Wide{a} - b)) << "seed " << seed;
    EXPECT_EQ((point - TimePoint::from_microseconds(b)).microseconds(), clamped(Wide{a} - b))
        << "seed " << seed;
    EXPECT_EQ((Duration::microseconds(a) + span).microseconds(), clamped(Wide{a} + b));
    EXPECT_EQ((Duration::microseconds(a) - span).microseconds(), clamped(Wide{a} - b));
    EXPECT_EQ((Duration::microseconds(a) * b).microseconds(), clamped(Wide{a} * b));
    EXPECT_EQ(Duration::seconds(a).microseconds(), clamped(Wide{a} * 1'000'000));
  }
}

}  // namespace
}  // namespace muster
