// Values that wait to be worked on, each of an owner. Owners take turns, so that one who adds many
// values delays mostly his own.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace muster {

/// A queue that returns one value of each owner in turn: owners in rising order, then from the
/// lowest again; the values of one owner in the order in which they were added. An owner whose
/// values are all returned is not in the queue any more, and its turn is not kept. Cost: O(log
/// owners) for each call. Requires: Owner is ordered by <.
template <class Owner, class T>
class TurnQueue {
 public:
  void add(const Owner& owner, T value) {
    waiting_[owner].push_back(std::move(value));
    ++size_;
  }
  /// Removes and returns the next value, which is of the first owner behind the one served last.
  /// Nullopt: none waits.
  std::optional<T> next() {
    if (waiting_.empty()) return std::nullopt;
    auto turn = last_ ? waiting_.upper_bound(*last_) : waiting_.begin();
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_ = turn->first;
    T value = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    --size_;
    return value;
  }
  /// How many values of all owners wait.
  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }

 private:
  std::map<Owner, std::deque<T>> waiting_;  ///< none of the lists is empty
  std::optional<Owner> last_;               ///< who had the last turn
  std::size_t size_ = 0;
};

}  // namespace muster
