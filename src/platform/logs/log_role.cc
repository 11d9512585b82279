// A piece of output goes through three stages: new (not read), read with findings that somebody
// must answer first, stored and acknowledged. What a line sets off is durable before the line is
// stored, so that a crash leads to the line being sent and read again, never to its loss. Streams
// keep their order; those without findings do not wait for others.
#include "platform/logs/log_role.h"

#include <algorithm>
#include <set>

namespace muster {
namespace {

constexpr Duration kRetry = Duration::seconds(1);
/// Streams of which it is remembered where they are; of more than that it is read from the store
/// again.
constexpr std::size_t kStreamsMax = 4096;

// Codes by which the caller is to try again.
bool is_passing(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kResourceExhausted;
}

}  // namespace

void LogRole::on_output(NodeIndex node, LogFragment fragment) {
  sweeper_.on_output(fragment.owner);
  new_.push_back(Piece{node, std::move(fragment), 0, {}});
}

void LogRole::act_upon(Piece& piece) {
  piece.token = ++last_token_;
  acting_[piece.token] = &piece;
  port_.act_upon(piece.token, piece.findings);
}

void LogRole::on_done(std::uint64_t token, const std::optional<Error>& error, TimePoint now) {
  const auto found = acting_.find(token);
  if (found == acting_.end()) return;
  Piece& piece = *found->second;
  acting_.erase(found);
  // After a pause, so that a full or starting core is not asked in a loop.
  if (error && is_passing(*error)) {
    to_repeat_[token] = &piece;
    repeat_time_ = std::min(repeat_time_, now + kRetry);
    return;
  }
  // What is refused for good would be refused again, and hold up the stream for ever.
  piece.token = 0;
  piece.findings.clear();
}

Status LogRole::read_new() {
  while (!new_.empty()) {
    Piece& piece = new_.front();
    // The piece stays new where reading fails: nothing was taken from it.
    piece.findings = TRY(watch_.read(piece.node, piece.fragment));
    pieces_.splice(pieces_.end(), new_, new_.begin());
    if (!piece.findings.empty()) act_upon(piece);
  }
  return {};
}

/// Those that wait for nothing and have nothing of their stream before them.
std::list<LogRole::Piece> LogRole::extract_ready() {
  std::list<Piece> ready;
  std::set<LogStreamId> held;
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    const auto next = std::next(piece);
    const bool is_held =
        // Another of its stream waits before it: order within a stream.
        piece->token != 0 || (!held.empty() && held.contains(piece->fragment.id()));
    if (is_held) {
      held.insert(piece->fragment.id());
    } else {
      ready.splice(ready.end(), pieces_, piece);
    }
    piece = next;
  }
  return ready;
}

void LogRole::refuse(const Error& error, TimePoint now) {
  // Complained of once, until something could be stored again.
  if (!std::exchange(is_refused_, true)) port_.complain(error);
  retry_time_ = now + kRetry;
}

void LogRole::store(TimePoint now) {
  if ((new_.empty() && pieces_.empty()) || (is_refused_ && now < retry_time_)) return;
  if (const Status read = read_new(); !read.has_value()) return refuse(read.error(), now);
  std::list<Piece> ready = extract_ready();
  if (ready.empty()) {
    is_refused_ = false;
    return;
  }
  std::vector<LogFragment> fragments;
  // Moved and not copied; moved back where storing fails.
  for (Piece& piece : ready) fragments.push_back(std::move(piece.fragment));
  const auto offsets = store_.append(fragments);
  std::size_t i = 0;
  if (!offsets.has_value()) {
    // Back to the front: a stream is stored in its own order.
    for (Piece& piece : ready) piece.fragment = std::move(fragments[i++]);
    pieces_.splice(pieces_.begin(), ready);
    return refuse(offsets.error(), now);
  }
  is_refused_ = false;
  for (const Piece& piece : ready) {
    const LogStreamId stream = fragments[i].id();
    if (fragments[i].is_end) watch_.forget(stream);
    // Only now that it is stored: the node gives up what is acknowledged.
    port_.acknowledge(piece.node, OutputReceived{stream, (*offsets)[i], fragments[i].is_end});
    ++i;
  }
  // Only while nothing is under way can the positions be read from the store again.
  if (pieces_.empty() && watch_.stream_count() > kStreamsMax) watch_.forget_all();
  if (!waiting_.empty()) show_new(fragments, now);
}

void LogRole::show_new(const std::vector<LogFragment>& stored, TimePoint now) {
  std::set<LogOwner> owners;
  for (const LogFragment& fragment : stored) owners.insert(fragment.owner);
  for (const LogOwner owner : owners) {
    const auto [begin, end] = waiting_.equal_range(owner);
    std::vector<Waiting> again;
    // Taken out first: a reader whose wait is not over enters itself again.
    for (auto entry = begin; entry != end; ++entry) again.push_back(std::move(entry->second));
    waiting_.erase(begin, end);
    for (Waiting& one : again) on_read(std::move(one.query), one.until - now, one.token, now);
  }
}

void LogRole::on_read(LogQuery query, Duration wait, std::uint64_t token, TimePoint now) {
  auto page = store_.read(query);
  // Only a forward read at the end waits for more; anything else has its answer.
  const bool is_kept = page.has_value() && page->lines.empty() && page->is_end &&
                       !query.is_backward && wait > Duration();
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

// The reader asks again, with what has changed meanwhile.
void LogRole::wake(LogOwner owner) {
  const auto [begin, end] = waiting_.equal_range(owner);
  for (auto entry = begin; entry != end; ++entry) answer_empty(entry->second);
  waiting_.erase(begin, end);
}

void LogRole::on_tick(TimePoint now) {
  if (now >= repeat_time_) {
    repeat_time_ = TimePoint::never();
    for (const auto& [token, piece] : std::exchange(to_repeat_, {})) act_upon(*piece);
  }
  store(now);
  std::erase_if(waiting_, [&](const auto& entry) {
    // Its time is over: an empty page, from which it reads on.
    if (entry.second.until > now) return false;
    answer_empty(entry.second);
    return true;
  });
}

void LogRole::sweep(TimePoint now) {
  if (now < sweep_time_ || sweeper_.step().has_value()) return;
  sweep_time_ = now + kRetry;
}

TimePoint LogRole::next_tick() const {
  TimePoint next = is_refused_ && !(new_.empty() && pieces_.empty())
                       ? std::min(retry_time_, repeat_time_)
                       : repeat_time_;
  if (sweeper_.has_work()) next = std::min(next, sweep_time_);
  for (const auto& [owner, waiting] : waiting_) next = std::min(next, waiting.until);
  return next;
}

}  // namespace muster
