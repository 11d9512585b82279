#include "slurm/update_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "text/words.h"

namespace muster {
namespace {

constexpr UpdateKind kKinds[] = {UpdateKind::kJob, UpdateKind::kNode, UpdateKind::kPartition};

TEST(UpdateKeys, EveryKeyIsTakenInAnyCaseAndStandsOnce) {
  for (const UpdateKind kind : kKinds) {
    std::set<std::string> seen;
    for (const std::string_view key : update_keys(kind)) {
      EXPECT_TRUE(is_update_key(kind, key)) << key;
      EXPECT_TRUE(is_update_key(kind, lower(key))) << key;
      EXPECT_FALSE(is_update_key(kind, key.substr(0, key.size() - 1)) &&
                   !std::ranges::count(update_keys(kind), key.substr(0, key.size() - 1)))
          << "a beginning of " << key << " is another word";
      EXPECT_TRUE(seen.insert(lower(key)).second) << key;
    }
    EXPECT_FALSE(seen.empty());
  }
}

TEST(UpdateKeys, EachKindHasItsOwn) {
  EXPECT_TRUE(is_update_key(UpdateKind::kJob, "timelimit"));
  EXPECT_FALSE(is_update_key(UpdateKind::kNode, "timelimit"));
  EXPECT_TRUE(is_update_key(UpdateKind::kNode, "WEIGHT"));
  EXPECT_FALSE(is_update_key(UpdateKind::kJob, "Weight"));
  EXPECT_TRUE(is_update_key(UpdateKind::kPartition, "MaxTime"));
  EXPECT_FALSE(is_update_key(UpdateKind::kPartition, "Reason"));
  for (const UpdateKind kind : kKinds) EXPECT_FALSE(is_update_key(kind, ""));
}

TEST(UpdateKeys, StepsCannotBeUpdated) {
  EXPECT_TRUE(update_keys(UpdateKind::kStep).empty());
  EXPECT_FALSE(is_update_key(UpdateKind::kStep, "TimeLimit"));
}

}  // namespace
}  // namespace muster
