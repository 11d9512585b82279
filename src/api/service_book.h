// Where jobs serve, as they say themselves, every ten seconds: kept in memory alone, and learned anew by a controller that restarts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "model/ids.h"

namespace muster::api {

/// What one run of a job said last.
struct Announcement {
  std::uint32_t run = 0;
  std::uint16_t port = 0;   ///< on the node that the job runs on; 0: it serves nothing
  std::string secret;       ///< goes with every request, so that it answers to nobody else; empty: it asks for none
  std::string failure;      ///< why it serves nothing, in its own words
  TimePoint heard;
};

class ServiceBook {
 public:
  /// Forgets others that have been silent for long when there are many. Cost: O(log n), O(n) then.
  void announce(JobId job, Announcement announcement);
  /// Null: that run has said nothing. Lifetime: until the next `announce`.
  const Announcement* find(JobId job, std::uint32_t run) const;
  std::size_t size() const { return announcements_.size(); }

 private:
  std::map<JobId, Announcement> announcements_;
};

}  // namespace muster::api
