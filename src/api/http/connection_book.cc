// How much each caller may hold: requests, bodies, connections, failed logins. What is taken is
// given back by the destructor of what it was taken for, so that no path forgets.

#include "api/http/connection_book.h"

#include <algorithm>

namespace muster::api {

Counter::Slot Counter::acquire(const std::string& name, std::size_t most) {
  std::size_t& count = (*counts_)[name];
  if (count >= most) return nullptr;
  ++count;
  // The count is shared: it outlives the book when a request outlives its connection.
  return Slot(counts_.get(), [counts = counts_, name](void*) {
    const auto found = counts->find(name);
    if (--found->second == 0) counts->erase(found);
  });
}

bool BodyBook::Share::add(std::size_t bytes) {
  // What all hold together stands under the empty name, which nobody has.
  std::size_t& own = (*held_)[name_];
  std::size_t& all = (*held_)[""];
  // Operators reach what others may not, so that a flood of small bodies does not lock them out.
  const bool may_have_last = is_operator_ || own + bytes <= kSmallMax;
  const std::size_t most = may_have_last ? kAllMax : kAllMax - kReserved;
  was_refused_ = own + bytes > kUserMax || all + bytes > most;
  if (was_refused_) return false;
  own += bytes;
  all += bytes;
  bytes_ += bytes;
  return true;
}

BodyBook::Share::~Share() {
  const auto own = held_->find(name_);
  if (own == held_->end()) return;
  held_->at("") -= bytes_;
  if ((own->second -= bytes_) == 0) held_->erase(own);
}

std::size_t Counter::of(const std::string& name) const {
  const auto found = counts_->find(name);
  return found == counts_->end() ? 0 : found->second;
}

ConnectionLimits connection_limits(std::size_t descriptors, std::size_t wanted_all,
                                   std::size_t wanted_peer) {
  ConnectionLimits limits;
  // Agents and the command line must find descriptors when HTTP's callers hold as many as they can.
  limits.all = std::max<std::size_t>(descriptors / 2, 16);
  if (wanted_all != 0) limits.all = std::min(limits.all, wanted_all);
  // An eighth is kept for operators and callers with a token.
  limits.kept = limits.all / 8;
  limits.peer = wanted_peer != 0 ? wanted_peer : std::max<std::size_t>(limits.all / 4, 8);
  return limits;
}

ConnectionBook::Entry ConnectionBook::acquire(const std::string& peer, bool is_operator) {
  const std::size_t open = open_count();
  const std::size_t free = limits_.all - std::min(open, limits_.all);
  // Others than operators may not take the last half of what is kept; for the first half they must
  // show a token.
  const bool is_refused =
      free == 0 || (!is_operator && (free <= limits_.kept / 2 || peers_.of(peer) >= limits_.peer));
  if (is_refused) return {};
  // Both are given back together.
  auto slots = std::make_shared<std::pair<Counter::Slot, Counter::Slot>>(
      all_.acquire("", limits_.all), peers_.acquire(peer, limits_.all));
  return {slots, !is_operator && free <= limits_.kept};
}

bool LoginGuard::may_try(const std::string& peer, TimePoint now) const {
  const auto found = peers_.find(peer);
  // Failures are forgotten after the window: an attacker is slowed, not locked out.
  return found == peers_.end() || found->second.count < kFailuresMax ||
         found->second.since + kWindow <= now;
}

void LoginGuard::failed(const std::string& peer, TimePoint now) {
  if (peers_.size() >= kPeersMax)
    std::erase_if(peers_, [now](const auto& row) { return row.second.since + kWindow <= now; });
  // Nothing has run out: one entry goes, so that the list stays bounded.
  if (peers_.size() >= kPeersMax) peers_.erase(peers_.begin());
  Failures& failures = peers_[peer];
  if (failures.since + kWindow <= now) failures = {now, 0};
  ++failures.count;
}

}  // namespace muster::api
