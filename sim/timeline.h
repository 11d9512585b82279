// Virtual time: what is to happen next, in an order that the seed alone decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace muster::sim {

/// A queue of actions. Determinism: actions of one instant run in the order in which they were
/// added.
class Timeline {
 public:
  using Action = std::function<void()>;

  TimePoint now() const { return now_; }
  void at(TimePoint time, Action action) {
    heap_.push_back(Entry{std::max(time, now_), ++count_, std::move(action)});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }
  /// Runs the next action. False: there is none before `end`; time then stands at `end`.
  bool step(TimePoint end) {
    if (heap_.empty() || heap_.front().time > end) {
      now_ = std::max(now_, end);
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    CHECK(entry.time >= now_);
    now_ = entry.time;
    entry.action();
    return true;
  }
  std::uint64_t count() const { return count_; }

 private:
  struct Entry {
    TimePoint time;
    std::uint64_t order = 0;
    Action action;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  TimePoint now_ = TimePoint::from_seconds(1'800'000'000);
  std::uint64_t count_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace muster::sim
