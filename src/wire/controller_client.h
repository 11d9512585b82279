// A client's connection to the controller.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/controller_calls.h"

namespace muster {

/// The words with which the message of an error begins when the controller could not be asked; the
/// cause follows in brackets.
inline constexpr std::string_view kNoAnswer = "Unable to contact slurm controller";

/// One connection. Each call waits for its answer; the `_async` forms return promises for callers
/// with a loop of their own.
class ControllerClient {
 public:
  /// Connects. `limit`, where given: how long the connection may take to be made. Errors:
  /// kUnavailable when nobody listens.
  static Result<std::unique_ptr<ControllerClient>> connect(kj::AsyncIoContext& io,
                                                           const std::string& address,
                                                           std::optional<Duration> limit = {});
  ~ControllerClient();

  /// Sets how long the other end may be silent while one of the calls below waits for its answer;
  /// zero: without end. Then they fail with kUnavailable.
  void set_timeout(Duration timeout);

  Result<std::vector<Reply>> submit(const std::vector<Request>& requests, RequestId id = {});
  Result<Reply> submit_one(Request request, RequestId id = {});
  /// Sends a query, and calls `visit` for each page as it comes.
  Status query(const Query& query, const std::function<void(Page)>& visit);
  /// Does the same for jobs, one by one.
  Status query_jobs(const Query& query, const std::function<void(JobView&)>& visit);
  Result<WaitAnswer> wait(const WaitFor& wanted);

  /// Calls ClientCalls::read_logs.
  Result<LogAnswer> read_logs(const LogQuery& query, Duration wait);

  kj::Promise<Result<LogAnswer>> read_logs_async(const LogQuery& query, Duration wait);
  kj::Promise<std::vector<Reply>> submit_async(const std::vector<Request>& requests, RequestId id);
  kj::Promise<WaitAnswer> wait_async(const WaitFor& wanted);

 private:
  struct State;
  Status query_pages(const Query& query, const std::function<Status(std::string_view)>& visit);
  explicit ControllerClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Returns a request id that nobody else uses.
RequestId fresh_request_id();

}  // namespace muster
