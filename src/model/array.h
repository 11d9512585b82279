// Job arrays: which elements exist, how many may run at once.
#pragma once

#include <cstdint>

#include "base/bitmap.h"

namespace muster {

/// What "--array=0-15:2%4" means. Requires: indices not empty.
struct ArraySpec {
  Bitmap indices;
  std::uint32_t throttle = 0;  ///< elements running at once; 0: no limit
  friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};

/// What every element of an array says in its environment about the whole array.
struct ArrayRange {
  std::uint32_t task_count = 0;
  std::uint32_t index_min = 0;
  std::uint32_t index_max = 0;
  std::uint32_t index_step = 1;
  friend bool operator==(const ArrayRange&, const ArrayRange&) = default;
};

}  // namespace muster
