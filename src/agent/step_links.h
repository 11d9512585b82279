// Finds the connection of a step's supervisor over which orders go.
#pragma once

#include <map>

#include "model/ids.h"

namespace muster {

/// The connections of supervisors by their steps. Of two of one step the newer one counts, because
/// a supervisor that lost its connection makes another before the agent has seen the first one end.
/// Links are held by their owner, who calls close() before one is gone.
template <class Link>
class StepLinks {
 public:
  /// Returns the step's link; null: no supervisor of the step is connected.
  Link* find(const StepId& step) const {
    const auto found = links_.find(step);
    return found == links_.end() ? nullptr : found->second;
  }
  /// Makes the link the step's from now on. Returns the one that it replaces; null: there was none.
  Link* open(const StepId& step, Link& link) {
    Link*& entry = links_[step];
    Link* before = entry;
    entry = &link;
    return before;
  }
  /// Undoes open(), whose result `before` is: the link turned out to be another launch's.
  void reopen(const StepId& step, Link* before) {
    if (before == nullptr) {
      links_.erase(step);
    } else {
      links_[step] = before;
    }
  }
  /// Removes a link that is gone. False: a newer one is the step's, which is connected as before.
  bool close(const StepId& step, const Link& link) {
    const auto found = links_.find(step);
    if (found == links_.end() || found->second != &link) return false;
    links_.erase(found);
    return true;
  }

 private:
  std::map<StepId, Link*> links_;
};

}  // namespace muster
