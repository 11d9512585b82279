// Entries lie in one queue by time, so that expiry takes from the front alone; the index by id
// points into the queue, whose elements stay where they are.
#include "state/answer_table.h"

#include "base/check.h"
#include "state/state_hash.h"

namespace muster {
namespace {

constexpr int kExpiredAtOnce = 16;

Reply reply_of(JobId job) {
  Reply reply;
  reply.job = job;
  return reply;
}

}  // namespace

Answer AnswerTable::Entry::answer() const {
  // Most answers are a job's number, which needs no vector of its own.
  return Answer{user, time, replies != nullptr ? *replies : std::vector<Reply>{reply_of(job)}};
}

void AnswerTable::add(RequestId id, const Answer& answer) {
  Entry entry{id, answer.time, answer.user, JobId(0), nullptr};
  if (answer.replies.size() == 1 &&
      answer.replies.front() == reply_of(answer.replies.front().job)) {
    entry.job = answer.replies.front().job;
  } else {
    entry.replies = std::make_unique<const std::vector<Reply>>(answer.replies);
  }
  hash_ += hash_of(id, answer);
  entries_.push_back(std::move(entry));
  // Only where the index is there: replicas are never asked.
  if (by_id_) CHECK(by_id_->emplace(id, &entries_.back()).second, "a second answer to one request");
  while (entries_.size() > kMaxAnswers) drop_oldest();
  // The bound holds whatever the clock does.
}

void AnswerTable::drop_oldest() {
  hash_ -= hash_of(entries_.front().id, entries_.front().answer());
  // Before the entry goes: the index points to it.
  if (by_id_) by_id_->erase(entries_.front().id);
  entries_.pop_front();
}

void AnswerTable::move(Duration by) {
  // Every entry changes, so that the sum is made anew.
  hash_ = 0;
  for (Entry& entry : entries_) {
    entry.time = entry.time + by;
    hash_ += hash_of(entry.id, entry.answer());
  }
}

void AnswerTable::expire(TimePoint now) {
  // A few with each event, so that none pays for all that a quiet hour left behind.
  for (int dropped = 0;
       dropped < kExpiredAtOnce && !entries_.empty() && entries_.front().time + kRetention <= now;
       ++dropped)
    drop_oldest();
}

std::optional<Answer> AnswerTable::find(RequestId id) const {
  // mutable: the index is no part of the state.
  if (!by_id_) {
    by_id_.emplace();
    for (const Entry& entry : entries_) by_id_->emplace(entry.id, &entry);
  }
  const auto found = by_id_->find(id);
  return found == by_id_->end() ? std::nullopt : std::optional(found->second->answer());
}

}  // namespace muster
