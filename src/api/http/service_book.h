// Where jobs serve, as they say themselves, every ten seconds: kept in memory alone, and learned
// anew by a controller that restarts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "model/ids.h"

namespace muster::api {

/// What one run of a job said last.
struct Announcement {
  std::uint32_t run = 0;
  std::uint16_t port = 0;  ///< on the node that the job runs on; 0: it serves nothing
  std::string secret;   ///< goes with every request, so that it answers to nobody else; empty: it
                        ///< asks for none
  std::string failure;  ///< why it serves nothing, in its own words
  TimePoint heard;
};

class ServiceBook;

/// Given back when it goes.
class ConnectionSlot {
 public:
  ConnectionSlot(ServiceBook& book, JobId job) : book_(&book), job_(job) {}
  ConnectionSlot(ConnectionSlot&& other) noexcept
      : book_(std::exchange(other.book_, nullptr)), job_(other.job_) {}
  ConnectionSlot& operator=(ConnectionSlot&&) = delete;
  ~ConnectionSlot();

 private:
  ServiceBook* book_;
  JobId job_;
};

class ServiceBook {
 public:
  /// Forgets others that have been silent for long when there are many. Cost: O(log n), O(n) then.
  void announce(JobId job, Announcement announcement);
  /// Null: that run has said nothing. Lifetime: until the next `announce`.
  const Announcement* find(JobId job, std::uint32_t run) const;
  std::size_t size() const { return announcements_.size(); }

  /// A place among the connections that are open to services; nullopt: there is none, for this
  /// job's or for all. One user's do not keep others from theirs. Lifetime: the book outlives it.
  std::optional<ConnectionSlot> acquire_slot(JobId job);

 private:
  friend class ConnectionSlot;
  std::map<JobId, Announcement> announcements_;
  std::map<JobId, std::size_t> connections_;
  std::size_t connection_count_ = 0;
};

}  // namespace muster::api
