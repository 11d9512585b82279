// Where jobs serve, as they announce themselves every ten seconds. The book is in memory alone, and
// a controller that restarts learns it anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "model/ids.h"

namespace muster::api {

/// What one run of a job announced last.
struct Announcement {
  std::uint32_t run = 0;
  std::uint16_t port = 0;  ///< on the node that the job runs on; 0: it serves nothing
  std::string secret;   ///< goes with every request, so that it answers to nobody else; empty: it
                        ///< asks for none
  std::string failure;  ///< why it serves nothing, in its own words
  TimePoint heard;
};

class ServiceBook;

/// A slot of a connection, which its destruction releases.
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
  /// Stores what a run announces. When there are many, it forgets others that have been silent for
  /// long. Cost: O(log n), O(n) then.
  void announce(JobId job, Announcement announcement);
  /// Returns what the run announced; null: nothing. Lifetime: until the next `announce`.
  const Announcement* find(JobId job, std::uint32_t run) const;
  std::size_t size() const { return announcements_.size(); }

  /// Acquires a slot among the connections that are open to services; nullopt: there is none, for
  /// this job's or for all. One user's do not keep others from theirs. Lifetime: the book outlives
  /// it.
  std::optional<ConnectionSlot> acquire_slot(JobId job);

 private:
  friend class ConnectionSlot;
  std::map<JobId, Announcement> announcements_;
  std::map<JobId, std::size_t> connections_;
  std::size_t connection_count_ = 0;
};

}  // namespace muster::api
