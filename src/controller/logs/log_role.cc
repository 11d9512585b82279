#include "controller/logs/log_role.h"

#include <algorithm>
#include <set>

namespace muster {
namespace {

constexpr Duration kRetry = Duration::seconds(1);

}  // namespace

void LogRole::on_output(NodeIndex node, LogFragment fragment) {
  fragments_.push_back(std::move(fragment));
  nodes_.push_back(node);
}

void LogRole::store(TimePoint now) {
  if (fragments_.empty() || (is_refused_ && now < retry_time_)) return;
  const auto offsets = store_.append(fragments_);
  if (!offsets.has_value()) {
    if (!std::exchange(is_refused_, true)) port_.complain(offsets.error());
    retry_time_ = now + kRetry;
    return;
  }
  is_refused_ = false;
  for (std::size_t i = 0; i < fragments_.size(); ++i) {
    port_.acknowledge(nodes_[i], OutputReceived{fragments_[i].id(), (*offsets)[i], fragments_[i].is_end});
  }
  if (!waiting_.empty()) show_new(now);
  fragments_.clear();
  nodes_.clear();
}

void LogRole::show_new(TimePoint now) {
  std::set<LogOwner> owners;
  for (const LogFragment& fragment : fragments_) owners.insert(fragment.owner);
  for (const LogOwner owner : owners) {
    const auto [begin, end] = waiting_.equal_range(owner);
    std::vector<Waiting> again;
    for (auto entry = begin; entry != end; ++entry) again.push_back(std::move(entry->second));
    waiting_.erase(begin, end);
    for (Waiting& one : again) on_read(std::move(one.query), one.until - now, one.token, now);
  }
}

void LogRole::on_read(LogQuery query, Duration wait, std::uint64_t token, TimePoint now) {
  auto page = store_.read(query);
  const bool is_kept = page.has_value() && page->lines.empty() && page->is_end && !query.is_backward && wait > Duration();
  if (!is_kept) return port_.answer(token, std::move(page));
  query.from = page->next;
  const LogOwner owner = query.owner;
  waiting_.emplace(owner, Waiting{std::move(query), token, now + wait});
}

void LogRole::answer_empty(const Waiting& waiting) {
  LogPage page;
  page.next = waiting.query.from;
  page.is_end = true;
  port_.answer(waiting.token, std::move(page));
}

void LogRole::wake(LogOwner owner) {
  const auto [begin, end] = waiting_.equal_range(owner);
  for (auto entry = begin; entry != end; ++entry) answer_empty(entry->second);
  waiting_.erase(begin, end);
}

void LogRole::on_tick(TimePoint now) {
  store(now);
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second.until > now) return false;
    answer_empty(entry.second);
    return true;
  });
}

TimePoint LogRole::next_tick() const {
  TimePoint next = fragments_.empty() ? TimePoint::never() : retry_time_;
  for (const auto& [owner, waiting] : waiting_) next = std::min(next, waiting.until);
  return next;
}

}  // namespace muster
