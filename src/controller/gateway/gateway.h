// Owns what clients see: decodes and prepares their requests, hands them to the core in order, answers their reads.
// Lives on the gateway's thread; everything else is reached through the port.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "controller/command.h"
#include "controller/core.h"
#include "controller/gateway/query_replica.h"
#include "controller/prepare.h"
#include "wire/controller_calls.h"

namespace muster {

/// A job and its steps as history has them.
using HistoryRows = std::vector<std::pair<JobView, std::vector<StepView>>>;

/// What the gateway needs of the other threads.
class GatewayPort {
 public:
  virtual ~GatewayPort() = default;
  /// To the core. Gateway::on_reply follows.
  virtual void command(Command command) = 0;
  virtual kj::Promise<Result<HistoryRows>> history(Query query) = 0;
  virtual kj::Promise<Result<std::string>> blob(BlobId id) = 0;
  /// May take long: runs elsewhere.
  virtual kj::Promise<CallerNames> names(UserId user, GroupId group) = 0;
  /// As LogStore::read. A page without lines, forward, is kept back until there are some, wake_log_readers, or `wait` is over.
  virtual kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) = 0;
  virtual void wake_log_readers(LogOwner owner) = 0;
};

class Gateway final : public ClientCalls, private kj::TaskSet::ErrorHandler {
 public:
  Gateway(GatewayPort& port, kj::Timer& timer, QueryReplica& replica);

  // From clients.
  kj::Promise<std::vector<Reply>> submit(const Identity& identity, std::vector<Request> requests, RequestId id) override;
  kj::Promise<std::optional<Error>> query(const Identity& identity, Query query, SendPage send) override;
  kj::Promise<WaitAnswer> wait(const Identity& identity, JobId job, std::uint32_t attempt, WaitUntil until,
                               std::uint32_t step) override;
  kj::Promise<Result<LogAnswer>> read_logs(const Identity& identity, LogQuery query, Duration wait) override;

  // From the core, in the order in which it said them.
  void on_update(const DurableUpdate& update);
  void on_reply(std::uint64_t token, std::vector<Reply> replies);

 private:
  struct Waiter {
    std::uint32_t attempt = 0;
    WaitUntil until = WaitUntil::kStarted;
    std::uint32_t step = 0;
    kj::Own<kj::PromiseFulfiller<WaitAnswer>> fulfiller;
  };
  kj::Promise<std::vector<Reply>> submit_named(const Identity& identity, std::vector<Request> requests, RequestId id,
                                               const CallerNames& names);
  kj::Promise<std::optional<Error>> query_history(Query query, SendPage send);
  kj::Promise<std::optional<Error>> query_script(const Identity& identity, const Query& query, SendPage send);
  std::optional<WaitAnswer> answer_now(JobId job, const Waiter& waiter) const;
  void wake_waiters(const EventBatch& batch);
  void taskFailed(kj::Exception&&) override {}

  GatewayPort& port_;
  kj::Timer& timer_;
  QueryReplica& replica_;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, kj::Own<kj::PromiseFulfiller<std::vector<Reply>>>> replies_;
  std::unordered_map<JobId, std::map<std::uint64_t, Waiter>> waiters_;
  std::unordered_map<UserId, CallerNames> names_;
  LastBlob environments_;
};

}  // namespace muster
