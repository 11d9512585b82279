#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

TEST(Time, SumsStopAtTheirEnds) {
  const Duration most = Duration::microseconds(std::numeric_limits<std::int64_t>::max() - 1);
  EXPECT_TRUE((most + most).is_infinite());
  EXPECT_TRUE((most * 3).is_infinite());
  EXPECT_LT(most * -3, Duration());
  EXPECT_TRUE((TimePoint::from_seconds(1'000'000) + most).is_never());
  EXPECT_EQ(Duration::seconds(2) * -3, Duration::seconds(-6));
}

}  // namespace
}  // namespace muster
