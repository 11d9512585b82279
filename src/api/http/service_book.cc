// What running jobs say of themselves, in memory alone: a service announces itself every ten
// seconds, so that a controller that starts anew knows it within that time.

#include "api/http/service_book.h"

namespace muster::api {
namespace {

// One for each job that serves; more is a mistake of somebody's.
constexpr std::size_t kAnnouncementsMax = 1024;
constexpr std::size_t kConnectionsMax = 512;
constexpr std::size_t kConnectionsOfOneMax = 64;
/// Why a service failed can be asked for so long; one that lives says so many times meanwhile.
constexpr Duration kSilence = Duration::minutes(10);

}  // namespace

void ServiceBook::announce(JobId job, Announcement announcement) {
  const TimePoint now = announcement.heard;
  announcements_[job] = std::move(announcement);
  if (announcements_.size() <= kAnnouncementsMax) return;
  // Only what has fallen silent is thrown away.
  std::erase_if(announcements_, [&](const auto& one) { return now - one.second.heard > kSilence; });
  // None is silent: the oldest job's goes, and comes back when it speaks again.
  if (announcements_.size() > kAnnouncementsMax)
    announcements_.erase(announcements_.begin()->first == job ? std::next(announcements_.begin())
                                                              : announcements_.begin());
}

const Announcement* ServiceBook::find(JobId job, std::uint32_t run) const {
  const auto found = announcements_.find(job);
  return found == announcements_.end() || found->second.run != run ? nullptr : &found->second;
}

std::optional<ConnectionSlot> ServiceBook::acquire_slot(JobId job) {
  const auto own = connections_.find(job);
  // One job's connections must not use up those of all others.
  if (connection_count_ >= kConnectionsMax ||
      (own != connections_.end() && own->second >= kConnectionsOfOneMax))
    return std::nullopt;
  ++connections_[job];
  ++connection_count_;
  return ConnectionSlot(*this, job);
}

ConnectionSlot::~ConnectionSlot() {
  // One that was moved from has nothing to give back.
  if (book_ == nullptr) return;
  --book_->connection_count_;
  if (--book_->connections_[job_] == 0) book_->connections_.erase(job_);
}

}  // namespace muster::api
