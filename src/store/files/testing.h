// What the property tests of the stores share: a disk that fails at random, and a check of what a
// refusal looks like.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "base/result.h"
#include "base/rng.h"
#include "env/faulty_disk.h"

namespace muster::testing {

/// The part of a story that is the same for every store. Both `rng_` and the disk follow from the
/// seed.
class DiskStory {
 public:
  std::uint64_t refused() const { return refused_; }

 protected:
  DiskStory(std::uint64_t seed, bool is_faulty)
      : rng_(seed), disk_(seed ^ 0xd15c), is_faulty_(is_faulty) {}

  /// Lets the disk fail at times in one of the next calls.
  void maybe_arm() {
    if (!is_faulty_ || !rng_.chance(0.4)) return;
    constexpr Fault kFaults[] = {Fault::kWriteError, Fault::kFull, Fault::kSyncError,
                                 Fault::kAnyError, Fault::kPowerLoss};
    disk_.arm(kFaults[rng_.below(5)], 1 + rng_.below(rng_.chance(0.5) ? 10 : 120),
              rng_.chance(0.3));
  }
  /// Checks a refusal: it is never damage, and never without a fault that struck.
  void refuse(const Error& error) {
    ++refused_;
    EXPECT_TRUE(disk_.has_struck()) << error.text();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable) << error.text();
  }
  /// Ends a session, at times with a crash. Requires: no connection is open.
  void end_session() {
    disk_.heal();
    if (disk_.is_gone() || (is_faulty_ && rng_.chance(0.3))) disk_.lose_power();
  }

  Rng rng_;
  FaultyDisk disk_;
  bool is_faulty_;

 private:
  std::uint64_t refused_ = 0;
};

/// The totals of all stories.
struct StorySum {
  std::uint64_t stored = 0;
  std::uint64_t refused = 0;
};

/// Runs one story for each seed from 1; ends at the first failure, which names its seed.
template <class Story>
StorySum run_stories(std::uint64_t seeds, bool is_faulty) {
  StorySum sum;
  for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Story story(seed, is_faulty);
    story.run();
    sum.stored += story.stored();
    sum.refused += story.refused();
  }
  return sum;
}

}  // namespace muster::testing
