// Values that wait until somebody has time for one, each of an owner: the owners take turns, so
// that who adds many delays mostly himself.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace muster {

/// Determinism: owners in rising order, each owner's values in the order in which they came. Cost:
/// O(log owners).
template <class Owner, class T>
class TurnQueue {
 public:
  void add(const Owner& owner, T value) {
    waiting_[owner].push_back(std::move(value));
    ++size_;
  }
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
  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }

 private:
  std::map<Owner, std::deque<T>> waiting_;  ///< none of the lists is empty
  std::optional<Owner> last_;               ///< who had the last turn
  std::size_t size_ = 0;
};

}  // namespace muster
