#include "state/answer_table.h"

#include "base/check.h"

namespace muster {
namespace {

Reply reply_of(JobId job) {
  Reply reply;
  reply.job = job;
  return reply;
}

}  // namespace

Answer AnswerTable::Entry::answer() const {
  return Answer{user, time, replies != nullptr ? *replies : std::vector<Reply>{reply_of(job)}};
}

void AnswerTable::add(RequestId id, const Answer& answer) {
  Entry entry{id, answer.time, answer.user, JobId(0), nullptr};
  if (answer.replies.size() == 1 && answer.replies.front() == reply_of(answer.replies.front().job)) {
    entry.job = answer.replies.front().job;
  } else {
    entry.replies = std::make_unique<const std::vector<Reply>>(answer.replies);
  }
  entries_.push_back(std::move(entry));
  if (by_id_) CHECK(by_id_->emplace(id, &entries_.back()).second, "a second answer to one request");
  while (entries_.size() > kMaxAnswers) drop_oldest();
}

void AnswerTable::drop_oldest() {
  if (by_id_) by_id_->erase(entries_.front().id);
  entries_.pop_front();
}

void AnswerTable::expire(TimePoint now) {
  while (!entries_.empty() && entries_.front().time + kKept <= now) drop_oldest();
}

std::optional<Answer> AnswerTable::find(RequestId id) const {
  if (!by_id_) {
    by_id_.emplace();
    for (const Entry& entry : entries_) by_id_->emplace(entry.id, &entry);
  }
  const auto found = by_id_->find(id);
  return found == by_id_->end() ? std::nullopt : std::optional(found->second->answer());
}

}  // namespace muster
