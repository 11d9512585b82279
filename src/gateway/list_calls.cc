// Long lists of jobs on their way to clients: a slice is made, goes out, and when the client has
// room for more the next is made. Who stops reading holds that slice alone, and who leaves nothing.
#include <kj/async.h>

#include <map>
#include <utility>

#include "gateway/gateway.h"
#include "records/page_codec.h"

namespace muster {
namespace {

/// Sends pages in order; a list without any is one empty page, because its reader is told by a page
/// that there was an answer.
class PageSender {
 public:
  explicit PageSender(SendPage send) : send_(std::move(send)) {}
  kj::Promise<void> send(Pages pages) {
    pages_ = std::move(pages);
    next_ = 0;
    return send_next();
  }
  kj::Promise<void> finish() {
    if (is_used_) return kj::READY_NOW;
    return send_(records::encode_page(Page()));
  }

 private:
  kj::Promise<void> send_next() {
    if (pages_ == nullptr || next_ == pages_->size()) {
      pages_ = nullptr;
      return kj::READY_NOW;
    }
    is_used_ = true;
    return send_((*pages_)[next_++]).then([this] { return send_next(); });
  }

  SendPage send_;
  Pages pages_;
  std::size_t next_ = 0;
  bool is_used_ = false;
};

/// Jobs or steps of the replica.
class JobStream {
 public:
  JobStream(QueryReplica& replica, ListTurns& turns, UserId user, Query query, SendPage send)
      : replica_(replica),
        turns_(turns),
        user_(user),
        query_(std::move(query)),
        sender_(std::move(send)) {}

  /// Before the first look at the list, unless nothing is asked of why jobs wait. Fulfilled with
  /// those of which it is.
  kj::Promise<std::vector<JobId>> find_waiting(JobListing listing, std::size_t count_max) {
    listing_ = std::move(listing);
    count_max_ = count_max;
    return look_on().then([this] { return std::move(waiting_); });
  }
  kj::Promise<std::optional<Error>> send(JobListing listing, std::map<JobId, Reasons> reasons) {
    listing_ = std::move(listing);
    reasons_ = std::move(reasons);
    return go_on().then([]() -> std::optional<Error> { return std::nullopt; });
  }

 private:
  kj::Promise<void> look_on() {
    if (listing_.is_done() || waiting_.size() >= count_max_) return kj::READY_NOW;
    return turns_
        .run(user_,
             [this] { return replica_.add_waiting(query_.filter, listing_, count_max_, waiting_); })
        .then([this] { return look_on(); });
  }
  kj::Promise<void> go_on() {
    if (listing_.is_done()) return sender_.finish();
    const auto made = [this] {
      slice_ = replica_.next_slice(query_, listing_, reasons_);
      return slice_.cost;
    };
    // Made in the user's turn; sent without one, at the client's pace.
    return turns_.run(user_, made)
        .then([this] { return sender_.send(std::exchange(slice_.pages, nullptr)); })
        .then([this] { return go_on(); });
  }

  QueryReplica& replica_;
  ListTurns& turns_;
  UserId user_;
  Query query_;
  PageSender sender_;
  JobListing listing_;
  std::map<JobId, Reasons> reasons_;
  std::vector<JobId> waiting_;
  std::size_t count_max_ = 0;
  ListSlice slice_;
};

/// What history and memory have.
class HistoryStream {
 public:
  HistoryStream(QueryReplica& replica, ListTurns& turns, GatewayPort& port, UserId user,
                HistoryListing listing, SendPage send)
      : replica_(replica),
        turns_(turns),
        port_(port),
        user_(user),
        listing_(std::move(listing)),
        sender_(std::move(send)) {}

  kj::Promise<std::optional<Error>> run() {
    return go_on().then([this] { return std::move(error_); });
  }

 private:
  kj::Promise<void> go_on() {
    if (error_) return kj::READY_NOW;
    if (listing_.is_done()) {
      error_ = damage_of(listing_);
      return sender_.finish();
    }
    if (listing_.needs_memory()) {
      return turns_.run(user_, [this] { return replica_.read_live(listing_); }).then([this] {
        return go_on();
      });
    }
    return port_.history(user_, std::move(listing_))
        .then([this](Result<HistorySlice> slice) { return send(std::move(slice)); })
        .then([this] { return go_on(); });
  }
  kj::Promise<void> send(Result<HistorySlice> slice) {
    if (!slice.has_value()) {
      // History's failure ends the list where it is: pages that were sent stay sent.
      error_ = slice.error();
      return kj::READY_NOW;
    }
    listing_ = std::move(slice->listing);
    return sender_.send(std::make_shared<const std::vector<std::string>>(std::move(slice->pages)));
  }

  QueryReplica& replica_;
  ListTurns& turns_;
  GatewayPort& port_;
  UserId user_;
  HistoryListing listing_;
  PageSender sender_;
  std::optional<Error> error_;
};

}  // namespace

kj::Promise<std::optional<Error>> Gateway::query_jobs(const Identity& identity, Query query,
                                                      SendPage send) {
  auto listing = replica_.begin_list(query.filter);
  if (!listing.has_value()) return std::optional<Error>(listing.error());
  auto stream =
      kj::heap<JobStream>(replica_, turns_, identity.user, std::move(query), std::move(send));
  auto sent = stream->send(std::move(listing).value(), {});
  return sent.attach(kj::mv(stream));
}

/// Only the planner knows all that stands in a job's way, and it is to have its time for planning.
kj::Promise<std::optional<Error>> Gateway::query_why(const Identity& identity, Query query,
                                                     SendPage send) {
  // Each costs O(nodes) of the planner's time; of more jobs the words of the last plan are shown.
  constexpr std::size_t kExplainedMax = 8;
  auto listing = replica_.begin_list(query.filter);
  if (!listing.has_value()) return std::optional<Error>(listing.error());
  const JobFilter filter = query.filter;
  auto stream =
      kj::heap<JobStream>(replica_, turns_, identity.user, std::move(query), std::move(send));
  JobStream& it = *stream;
  return it.find_waiting(std::move(listing).value(), kExplainedMax)
      .then([this](std::vector<JobId> waiting) { return port_.explain(std::move(waiting)); })
      .then([this, &it,
             filter](std::map<JobId, Reasons> reasons) -> kj::Promise<std::optional<Error>> {
        // The planner knows nothing of it, and the core starts nothing.
        for (auto& [job, why] : reasons) {
          if (refusal_)
            why.details.insert(why.details.begin(),
                               ReasonDetail{PendingReason::kResources,
                                            "nothing is started: " + refusal_->text(),
                                            0,
                                            0,
                                            {},
                                            {}});
        }
        // From the beginning again: looking for those that wait has used up the first list.
        auto again = replica_.begin_list(filter);
        if (!again.has_value()) return std::optional<Error>(again.error());
        return it.send(std::move(again).value(), std::move(reasons));
      })
      .attach(kj::mv(stream));
}

kj::Promise<std::optional<Error>> Gateway::query_history(const Identity& identity, Query query,
                                                         SendPage send) {
  return histories_.enter(identity.user)
      .then([this, user = identity.user, query = std::move(query),
             send = std::move(send)](kj::Own<ListGate::Ticket> ticket) mutable {
        HistoryListing listing;
        // History may know a number that memory does not, or no more.
        auto memory = replica_.begin_list(query.filter);
        listing.memory = memory.has_value() ? std::move(memory).value() : replica_.begin_nothing();
        listing.query = std::move(query);
        auto stream = kj::heap<HistoryStream>(replica_, turns_, port_, user, std::move(listing),
                                              std::move(send));
        auto sent = stream->run();
        return sent.attach(kj::mv(stream), kj::mv(ticket));
      });
}

}  // namespace muster
