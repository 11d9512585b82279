// The answers to clients' recent batches: a client that lost its connection sends the batch again
// under the same number and is given the first answer, so nothing is done twice.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/request.h"

namespace muster {

/// What one batch was answered, to whom and when.
struct Answer {
  UserId user;
  TimePoint time;              ///< of the event RequestAnswered
  std::vector<Reply> replies;  ///< one for each request of the batch, in its order
};

/// Stores an answer for kRetention of event time; of more than kMaxAnswers the oldest are dropped
/// first. That bound is what 3,000 requests/s make in kRetention, and a tenth more. Every replica
/// has a table, so an entry must be small: a single reply that says nothing but a job's number is
/// stored as that number.
///
/// Changed by ClusterState alone. Invariants: entries are in the order of their times; `hash()` is
/// the sum of their hashes. Thread: one, even for const calls, because find() builds the index.
class AnswerTable {
 public:
  static constexpr std::size_t kMaxAnswers = 2'000'000;
  static constexpr Duration kRetention = Duration::minutes(10);
  /// Adds an answer. Requires: it is not older than the last one added; the table has none of that
  /// id. A second one of an id is caught only once find() has built the index: CHECK. Cost:
  /// O(replies).
  void add(RequestId id, const Answer& answer);
  /// Drops answers of kRetention ago or earlier, at most sixteen in a call. ClusterState calls it
  /// before every event, so it keeps up with what is added, and no single event pays for a long
  /// silence before it; until then find() still returns answers that are overdue.
  void expire(TimePoint now);
  /// Adds `by`, which may be negative, to the time of every answer, because the cluster's clock was
  /// stepped by as much. Cost: O(answers).
  void move(Duration by);
  /// Returns a copy of the answer; nullopt: there is none, or it was dropped. Cost: O(replies), but
  /// the first call builds an index of all answers. A table that is never asked has none.
  std::optional<Answer> find(RequestId id) const;
  std::size_t size() const { return entries_.size(); }
  std::uint64_t hash() const { return hash_; }

  /// Calls `visit(RequestId, Answer)` for each answer, oldest first.
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
