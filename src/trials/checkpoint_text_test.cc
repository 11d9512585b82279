#include "trials/checkpoint_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CheckpointText, EachStateHasDeterminedsWord) {
  EXPECT_EQ(checkpoint_state_name(CheckpointState::kActive), "ACTIVE");
  EXPECT_EQ(checkpoint_state_name(CheckpointState::kCompleted), "COMPLETED");
  EXPECT_EQ(checkpoint_state_name(CheckpointState::kError), "ERROR");
  EXPECT_EQ(checkpoint_state_name(CheckpointState::kDeleted), "DELETED");
  EXPECT_EQ(checkpoint_state_name(CheckpointState::kPartiallyDeleted), "PARTIALLY_DELETED");
  EXPECT_EQ(checkpoint_state_name(static_cast<CheckpointState>(99)), "");
}

}  // namespace
}  // namespace muster
