// Deletes logs that have been kept for long enough, in small steps between everything else that the
// log store does. Single-threaded.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "base/result.h"
#include "model/task_log.h"
#include "store/logs/log_store.h"

namespace muster {

class LogSweeper {
 public:
  explicit LogSweeper(LogStore& store) : store_(store) {}

  /// Sets all owners whose logs are to be deleted; those whose logs are gone already cost nothing.
  void expire(const std::vector<LogOwner>& owners);
  /// Called when something of the owner was stored: should it be expired again, there is something
  /// to delete.
  void on_output(LogOwner owner) { gone_.erase(owner); }
  bool has_work() const { return !waiting_.empty() || !is_swept_; }
  /// Deletes one owner's log, or frees a bounded part of the room of deleted ones. Errors:
  /// kUnavailable: the disk refuses; to be tried again. Cost: milliseconds.
  Status step();

 private:
  LogStore& store_;
  std::deque<LogOwner> waiting_;
  std::set<LogOwner> gone_;  ///< with nothing in the store
  bool is_swept_ = false;    ///< unknown after a start
};

}  // namespace muster
