// The jobs of each user, so that a poll of one's own jobs does not look at everybody's. It is
// derived from the state: a follower makes it at the first question and updates it event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "state/cluster_state.h"

namespace muster {

class UserIndex {
 public:
  /// Called when `event` has been applied to `state`. Cost: O(1) amortised.
  void on_event(const Event& event, const ClusterState& state);
  /// Returns the first `count_max` jobs of these users with ids from `first` on, in rising order,
  /// without those that have left memory. Cost: O(users * (log jobs + count_max)) and those that
  /// have left; but the first call looks at all.
  std::vector<const Job*> jobs_of(const std::vector<std::uint32_t>& uids, JobId first,
                                  std::size_t count_max, const ClusterState& state);

 private:
  /// Evicted jobs stay listed until there are this many and as many as half of all.
  static constexpr std::size_t kGoneMin = 1000;
  void build(const ClusterState& state);
  void add(const Job& job);

  bool is_built_ = false;
  std::map<UserId, std::vector<JobId>> jobs_;  ///< rising: ids rise with time
  std::size_t listed_ = 0;
  std::size_t gone_ = 0;
};

}  // namespace muster
