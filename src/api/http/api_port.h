// What handlers need of the other threads of the controller. The port lives on the thread of HTTP;
// every promise is fulfilled there.
#pragma once

#include <kj/async.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/http/connection_book.h"
#include "api/http/http_message.h"
#include "api/http/service_book.h"
#include "api/http/user_directory.h"
#include "base/result.h"
#include "gateway/gateway.h"
#include "store/metrics/metric_questions.h"
#include "store/tokens/token_questions.h"
#include "trials/site_defaults.h"

namespace muster::api {

/// The name under which a report has the values of single batches.
inline constexpr std::string_view kBatchMetrics = "batch_metrics";

class ApiPort {
 public:
  virtual ~ApiPort() = default;

  /// Submits as a client of the command line does. There is one reply for each request.
  virtual kj::Promise<std::vector<Reply>> submit(const Caller& caller,
                                                 std::vector<Request> requests) = 0;
  virtual kj::Promise<std::optional<Error>> report(const Caller& caller, MetricReport report) = 0;
  virtual kj::Promise<Result<bool>> wait_stop(const Caller& caller, TrialRun run,
                                              kj::Duration timeout) = 0;
  virtual kj::Promise<Result<std::string>> blob(BlobId id) = 0;
  /// Calls ClientCalls::read_logs.
  virtual kj::Promise<Result<LogAnswer>> read_logs(const Caller& caller, LogQuery query,
                                                   Duration wait) = 0;

  /// Checks that new work is accepted. Errors: why not.
  virtual kj::Promise<Status> ready() = 0;

  /// Lets `look` see the state as it is on stable storage, at once. Errors: the caller's token is
  /// over.
  virtual kj::Promise<Status> look(const Caller& caller,
                                   std::function<void(const ClusterState&)> see) = 0;
  /// Calls `answer` of metric_questions.h on another thread.
  virtual kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) = 0;
  /// Runs what takes long on another thread: compression, large texts, look-ups of users. Requires:
  /// the computation uses values that nobody else has meanwhile, users() and settings(), and
  /// nothing else of this port.
  virtual kj::Promise<void> work(std::function<void()> computation) = 0;

  /// What runs say of themselves and nobody decides by: it is stored while the controller runs.
  struct RunnerStatus {
    double progress = 0;       ///< 0..1
    std::string runner_state;  ///< "training", "validating", ...; as the script says it
  };
  virtual void set_progress(TrialId trial, double progress) = 0;
  virtual void set_runner_state(TrialId trial, std::string text) = 0;
  virtual RunnerStatus runner_status(TrialId trial) const = 0;

  /// services() returns where jobs serve; connect() connects to a port of a node. Errors: what KJ
  /// throws.
  virtual ServiceBook& services() = 0;
  virtual kj::Promise<kj::Own<kj::AsyncIoStream>> connect(const std::string& host,
                                                          std::uint16_t port) = 0;

  virtual TimePoint now() const = 0;
  virtual kj::Timer& timer() = 0;
  /// Lives as long as the port.
  virtual const UserDirectory& users() const = 0;

  /// Calls `answer` of token_questions.h on another thread.
  virtual kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) = 0;
  /// Checks that what a token says still holds: it is not revoked, and its user is there under the
  /// same name and number. Returns the user's group. Errors: kPermissionDenied.
  kj::Promise<Result<GroupId>> confirm(const TokenClaims& claims);
  /// Forgets who was verified, because tokens were revoked: each is verified anew.
  virtual void forget_callers() = 0;
  virtual LoginGuard& logins() = 0;

  struct ServerSettings {
    std::string token_key;
    std::string cluster_id;  ///< a uuid
    std::string cluster_name;
    std::string version;
    std::string address;                 ///< host:port
    UserId operator_user;                ///< as whom the controller runs
    std::vector<UserId> operators = {};  ///< beside root and that one
    bool is_operator(UserId user) const {
      return user.value() == 0 || user == operator_user ||
             std::ranges::find(operators, user) != operators.end();
    }
    GroupId operator_group;
    std::string operator_name;
    std::uint16_t services_port = 0;  ///< where what jobs serve is shown
    std::string services_url;  ///< how browsers get there; empty: by the name that they asked with
    std::uint32_t token_days = 30;  ///< the longest that a token lasts
    SiteDefaults site_defaults;
  };
  /// Does not change while the controller runs.
  virtual const ServerSettings& settings() const = 0;
};

/// Returns the value of a look, or the error.
template <class T>
kj::Promise<Result<T>> look(ApiPort& port, const Caller& caller,
                            std::function<Result<T>(const ClusterState&)> see) {
  auto seen = std::make_shared<std::optional<Result<T>>>();
  return port
      .look(caller, [seen, see = std::move(see)](const ClusterState& state) { *seen = see(state); })
      .then([seen](Status status) -> Result<T> {
        if (!status.has_value()) return fail(status.error());
        return std::move(**seen);
      });
}

/// Returns the answer to one question about the tokens.
template <class Question>
kj::Promise<Result<typename Question::Answer>> ask_tokens(ApiPort& port, Question question) {
  using Answer = typename Question::Answer;
  return port.ask_tokens(std::move(question))
      .then([](Result<TokenAnswer> answer) -> Result<Answer> {
        if (!answer.has_value()) return fail(answer.error());
        return std::get<Answer>(std::move(answer).value());
      });
}

template <class T>
kj::Promise<Result<T>> work(ApiPort& port, std::function<Result<T>()> computation) {
  auto made = std::make_shared<std::optional<Result<T>>>();
  return port.work([made, computation = std::move(computation)] { *made = computation(); })
      .then([made] { return std::move(**made); });
}

}  // namespace muster::api
