#include "fuzz/http_site.h"

#include <kj/async-io.h>
#include <kj/compat/http.h>

#include <cstdlib>
#include <filesystem>

#include "api/http_service.h"
#include "fuzz/fuzz.h"
#include "store/metrics/sqlite_metrics.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";
constexpr Identity kOperator{UserId(990), GroupId(990), true};

using api::Caller;

Caller caller_of(const Identity& identity, const std::string& name, TimePoint until) {
  TokenClaims claims;
  claims.user = identity.user;
  claims.group = identity.group;
  claims.user_name = name;
  claims.expiry = until;
  return Caller{claims, identity};
}

/// The controller behind HTTP, without threads between.
class Port final : public api::ApiPort {
 public:
  Port(kj::AsyncIoContext& io, const std::string& folder) : io_(io) {
    settings_.token_key = kKey;
    settings_.cluster_id = HttpSite::kClusterId;
    settings_.cluster_name = "c";
    settings_.version = "0";
    settings_.address = "localhost:8080";
    settings_.operator_user = UserId(0);
    settings_.operator_name = "root";
    SqliteMetricOptions options;
    options.path = folder + "/metrics.db";
    auto metrics = open_sqlite_metrics(options);
    FUZZ_EXPECT(metrics.has_value(), "no store of metrics");
    metrics_ = std::move(*metrics);
    auto tokens = TokenStore::open(folder + "/tokens", settings_.token_key, now());
    FUZZ_EXPECT(tokens.has_value(), "no store of tokens");
    tokens_ = std::move(*tokens);
    for (std::uint32_t trial = 1; trial <= 2; ++trial)
      jobs_.push_back(cluster().state().experiments().find(TrialId(trial))->job);
    cluster_ = nullptr;
  }
  ~Port() noexcept override = default;
  SmallCluster& cluster() {
    if (cluster_ == nullptr) cluster_ = std::make_unique<SmallCluster>(io_);
    return *cluster_;
  }
  void begin() {
    known_.clear();
    const TimePoint until = now() + Duration::hours(24);
    known_["alice"] = {caller_of(testing::kAlice, "alice", until), now()};
    known_["bob"] = {caller_of(testing::kBob, "bob", until), now()};
    known_["operator"] = {caller_of(kOperator, "operator", until), now()};
    known_["root"] = {caller_of(testing::kRoot, "root", until), now()};
    for (std::uint32_t trial = 1; trial <= 2; ++trial) {
      Caller task = caller_of(testing::kAlice, "alice", until);
      task.claims.scope = TokenScope::kTask;
      task.claims.trial = TrialId(trial);
      task.claims.run = 1;
      task.claims.job = jobs_[trial - 1];
      known_["task-" + std::to_string(trial)] = {task, now()};
    }
  }
  void finish() {
    if (cluster_ != nullptr) cluster_->expect_replay();
    cluster_ = nullptr;
  }

  kj::Promise<std::vector<Reply>> submit(const Caller& caller,
                                         std::vector<Request> requests) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value()) {
      Reply reply;
      reply.error = alive.error();
      return std::vector<Reply>(requests.size(), reply);
    }
    return gateway()
        .submit(caller.identity, std::move(requests), RequestId())
        .then([this](std::vector<Reply> replies) {
          for (const Reply& reply : replies) {
            FUZZ_EXPECT(!reply.error || reply.error->code != ErrorCode::kInternal,
                        "refused as a fault of ours: " + reply.error->text());
          }
          cluster().settle();
          return replies;
        });
  }
  kj::Promise<std::optional<Error>> report(const Caller& caller, MetricReport report) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return std::optional<Error>(alive.error());
    return gateway().report(caller.identity, std::move(report));
  }
  kj::Promise<Result<bool>> wait_stop(const Caller& caller, TrialRun run, kj::Duration) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return Result<bool>(fail(alive.error()));
    return gateway().wait_stop(caller.identity, run, 0 * kj::SECONDS);
  }
  kj::Promise<Result<std::string>> blob(BlobId id) override { return gateway().blob(id); }
  kj::Promise<Result<LogAnswer>> read_logs(const Caller& caller, LogQuery query,
                                           Duration wait) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return Result<LogAnswer>(fail(alive.error()));
    return gateway().read_logs(caller.identity, std::move(query), wait);
  }
  kj::Promise<Status> ready() override { return Status(); }
  kj::Promise<Status> look(const Caller& caller,
                           std::function<void(const ClusterState&)> see) override {
    const Status alive = gateway().check_token(caller.claims);
    if (alive.has_value()) see(gateway().state());
    return alive;
  }
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) override {
    return answer(*metrics_, questions);
  }
  kj::Promise<void> work(std::function<void()> computation) override {
    computation();
    return kj::READY_NOW;
  }
  void set_progress(TrialId, double) override {}
  void set_runner_state(TrialId, std::string) override {}
  RunnerStatus runner_status(TrialId) const override { return {}; }
  api::ServiceBook& services() override { return services_; }
  kj::Promise<kj::Own<kj::AsyncIoStream>> connect(const std::string&, std::uint16_t) override {
    return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                         kj::heapString("nobody serves"));
  }
  TimePoint now() const override { return TimePoint::from_seconds(1'000'000); }
  kj::Timer& timer() override { return io_.provider->getTimer(); }
  std::optional<std::pair<UserId, GroupId>> find_user(const std::string& name) override {
    for (const auto& [known, identity] :
         {std::pair("alice", testing::kAlice), std::pair("bob", testing::kBob),
          std::pair("operator", kOperator), std::pair("root", testing::kRoot)}) {
      if (name == known) return std::pair(identity.user, identity.group);
    }
    return std::nullopt;
  }
  UserAccount user_account(UserId) override { return {}; }
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) override {
    return answer(*tokens_, question);
  }
  void forget_callers() override { known_.clear(); }
  api::LoginGuard& logins() override { return logins_; }
  const ServerSettings& settings() const override { return settings_; }
  api::KnownCallers& known() { return known_; }

 private:
  Gateway& gateway() { return cluster().gateway(); }

  kj::AsyncIoContext& io_;
  ServerSettings settings_;
  std::unique_ptr<SmallCluster>
      cluster_;              ///< made when it is first asked for: most inputs never get so far
  std::vector<JobId> jobs_;  ///< of the trials
  std::unique_ptr<MetricStore> metrics_;
  std::unique_ptr<TokenStore> tokens_;
  api::ServiceBook services_;
  api::KnownCallers known_;
  api::LoginGuard logins_;
};

/// KJ says what it refuses on standard error, once for each input.
class Quiet final : public kj::ExceptionCallback {
 public:
  void logMessage(kj::LogSeverity, const char*, int, int, kj::String&&) override {}
};

/// What the door does with a failure of a handler is the daemon's; here it is found.
class Errors final : public kj::HttpServerErrorHandler {
 public:
  kj::Promise<void> handleApplicationError(kj::Exception exception,
                                           kj::Maybe<kj::HttpService::Response&>) override {
    const bool is_ours =
        std::string_view(exception.getFile()).find("compat/http") == std::string_view::npos &&
        exception.getType() != kj::Exception::Type::DISCONNECTED;
    FUZZ_EXPECT(!is_ours, std::string("a handler failed: ") + exception.getDescription().cStr());
    return kj::READY_NOW;
  }
};

class Folder {
 public:
  Folder() { FUZZ_EXPECT(::mkdtemp(path.data()) != nullptr, "no folder can be made"); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = std::filesystem::exists("/dev/shm") ? "/dev/shm/muster-http-fuzz.XXXXXX"
                                                         : "/tmp/muster-http-fuzz.XXXXXX";
};

/// Unlike KJ's own, what has come is there while more is awaited.
kj::Promise<void> read_all(kj::AsyncInputStream& stream, std::string& into) {
  auto buffer = kj::heapArray<char>(4096);
  auto& bytes = *buffer.begin();
  return stream.tryRead(&bytes, 1, 4096)
      .then([&stream, &into, buffer = kj::mv(buffer)](std::size_t size) -> kj::Promise<void> {
        into.append(buffer.begin(), size);
        return size == 0 ? kj::Promise<void>(kj::READY_NOW) : read_all(stream, into);
      });
}

}  // namespace

struct HttpSite::State {
  std::string exchange(std::string_view bytes, std::optional<Duration> timeout);
  State() : hosts({"localhost"}) { settings.errorHandler = errors; }

  kj::AsyncIoContext io = kj::setupAsyncIo();
  Folder folder;
  kj::HttpHeaderTable::Builder builder;
  api::HeaderIds ids{builder};
  kj::Own<kj::HttpHeaderTable> table = builder.build();
  api::Router router = api::make_router();
  api::OwnHosts hosts;
  api::Counter busy;
  api::BodyBook bodies;
  Errors errors;
  kj::HttpServerSettings settings;
  Port port{io, folder.path};
};

HttpSite::HttpSite() : state_(std::make_unique<State>()) {}
HttpSite::~HttpSite() = default;

std::string HttpSite::exchange(std::string_view bytes) {
  return state_->exchange(bytes, std::nullopt);
}
std::string HttpSite::exchange_for(std::string_view bytes, Duration timeout) {
  return state_->exchange(bytes, timeout);
}

std::string HttpSite::State::exchange(std::string_view bytes, std::optional<Duration> timeout) {
  const Quiet quiet;
  State& state = *this;
  state.port.begin();
  auto pipe = kj::newTwoWayPipe();
  kj::HttpServer server(
      state.io.provider->getTimer(), *state.table,
      [&state](kj::AsyncIoStream& connection) -> kj::Own<kj::HttpService> {
        const api::ServiceParts parts{state.port,         state.router, *state.table, state.ids,
                                      state.port.known(), state.hosts,  state.busy,   100,
                                      state.bodies};
        return kj::heap<api::HttpService>(parts, api::Entrance{}, connection);
      },
      state.settings);
  std::string answer;
  auto& mine = *pipe.ends[0];
  auto drained = read_all(mine, answer).eagerlyEvaluate([](kj::Exception&&) {});
  auto served = server.listenHttp(kj::mv(pipe.ends[1]));
  auto written = mine.write(bytes.data(), bytes.size())
                     .then([&mine] { mine.shutdownWrite(); }, [](kj::Exception&&) {})
                     .eagerlyEvaluate(nullptr);
  auto limit =
      state.io.provider->getTimer()
          .afterDelay(timeout ? timeout->microseconds() * kj::MICROSECONDS : 20 * kj::SECONDS)
          .then([&] { FUZZ_EXPECT(timeout, "a request is never answered"); });
  served.catch_([](kj::Exception&&) {}).exclusiveJoin(kj::mv(limit)).wait(state.io.waitScope);
  if (!timeout) drained.wait(state.io.waitScope);
  state.port.finish();
  return answer;
}

SmallCluster& HttpSite::cluster() { return state_->port.cluster(); }
const api::Router& HttpSite::router() const { return state_->router; }

std::string filled(const std::string& pattern,
                   const std::function<std::string(const std::string& name)>& value) {
  std::string path;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '{') {
      path += pattern[at++];
      continue;
    }
    const std::size_t end = pattern.find('}', at);
    path += value(pattern.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return path;
}

const char* name_of(api::Method method) {
  switch (method) {
    case api::Method::kGet: return "GET";
    case api::Method::kPost: return "POST";
    case api::Method::kPut: return "PUT";
    case api::Method::kPatch: return "PATCH";
    case api::Method::kDelete: return "DELETE";
  }
  return "GET";
}

}  // namespace muster::fuzz
