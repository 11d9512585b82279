// Answers to clients' batches, kept for repeats.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/request.h"

namespace muster {

struct Answer {
  UserId user;
  TimePoint time;
  std::vector<Reply> replies;
};

/// Ten minutes of event time, and at most kMaxAnswers: as many as 3,000 requests/s make in that
/// time, and a tenth more. Every replica has one, so an entry must be small: an answer that says
/// nothing but a job's number is kept without its reply.
class AnswerTable {
 public:
  static constexpr std::size_t kMaxAnswers = 2'000'000;
  static constexpr Duration kKept = Duration::minutes(10);
  /// Requires: no answer of that id is kept; checked where the index is made.
  void add(RequestId id, const Answer& answer);
  /// Forgets answers older than kKept at `now`, the oldest few of them: asked before every event,
  /// it keeps up with what is added, and no event pays for a long silence before it.
  void expire(TimePoint now);
  /// The clock by which they are kept goes on `by` later.
  void move(Duration by);
  /// Cost: O(1), but the first call makes the index: only the writer asks.
  std::optional<Answer> find(RequestId id) const;
  std::size_t size() const { return entries_.size(); }
  /// The sum of the answers' hashes.
  std::uint64_t hash() const { return hash_; }

  /// Calls `visit(RequestId, Answer)` for each, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) visit(entry.id, entry.answer());
  }

 private:
  struct Entry {
    RequestId id;
    TimePoint time;
    UserId user;
    JobId job;  ///< of the only reply, which says nothing else
    std::unique_ptr<const std::vector<Reply>> replies;  ///< null: the reply is `job`
    Answer answer() const;
  };
  void drop_oldest();

  std::uint64_t hash_ = 0;
  std::deque<Entry> entries_;  ///< oldest first; entries do not move
  mutable std::optional<std::unordered_map<RequestId, const Entry*>> by_id_;
};

}  // namespace muster
