// The least capacity in a window of steps that only moves on.
#pragma once

#include <cstddef>
#include <vector>

#include "sched/timeline/sums.h"

namespace muster::sched {

/// Two parts: of the older steps the least from each on is known, of the newer ones the least of
/// all. Each step is looked at twice at most, however long the window is.
class SlidingLeast {
 public:
  /// Begins anew. Lifetime: `all` does not change meanwhile.
  void begin(const std::vector<Capacity>& all) {
    all_ = &all;
    middle_ = last_ = 0;
    from_.clear();
  }
  /// Returns the least of the steps from `first` to before `last`. Requires: first < last, and
  /// neither goes back.
  Capacity of(std::size_t first, std::size_t last) {
    for (; last_ < last; ++last_) {
      if (last_ == middle_) newer_ = (*all_)[last_];
      limit(newer_, (*all_)[last_]);
    }
    if (first >= middle_) take_over(first);
    Capacity least = from_[first - begin_];
    if (middle_ < last_) limit(least, newer_);
    return least;
  }

 private:
  /// The newer steps become the older ones.
  void take_over(std::size_t first) {
    begin_ = first;
    middle_ = last_;
    from_.assign(all_->begin() + static_cast<std::ptrdiff_t>(first),
                 all_->begin() + static_cast<std::ptrdiff_t>(last_));
    for (std::size_t i = from_.size() - 1; i > 0; --i) limit(from_[i - 1], from_[i]);
  }

  const std::vector<Capacity>* all_ = nullptr;
  std::size_t begin_ = 0;   ///< of the older steps
  std::size_t middle_ = 0;  ///< behind them
  std::size_t last_ = 0;    ///< behind the newer ones
  std::vector<Capacity> from_;
  Capacity newer_;
};

}  // namespace muster::sched
