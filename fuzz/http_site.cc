#include "fuzz/http_site.h"

#include <kj/async-io.h>
#include <kj/compat/http.h>

#include <cstdlib>
#include <filesystem>

#include "api/http_service.h"
#include "fuzz/fuzz.h"
#include "store/logs/sqlite_logs.h"
#include "store/metrics/sqlite_metrics.h"
#include "trials/determined_text.h"

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
/// The four that have tokens.
class KnownUsers final : public api::UserDirectory {
 public:
  std::optional<std::pair<UserId, GroupId>> find(const std::string& name) const override {
    for (const auto& [known, identity] :
         {std::pair("alice", testing::kAlice), std::pair("bob", testing::kBob),
          std::pair("operator", kOperator), std::pair("root", testing::kRoot)}) {
      if (name == known) return std::pair(identity.user, identity.group);
    }
    return std::nullopt;
  }
  api::UserAccount account(UserId) const override { return {}; }
};

class Port final : public api::ApiPort {
 public:
  Port(kj::AsyncIoContext& io, const std::string& folder, bool is_lasting)
      : io_(io), is_lasting_(is_lasting) {
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
    if (is_lasting) {
      auto logs = open_sqlite_logs({.path = folder + "/logs.db"});
      FUZZ_EXPECT(logs.has_value(), "no store of logs");
      logs_ = std::move(*logs);
      return;
    }
    for (std::uint32_t trial = 1; trial <= 2; ++trial)
      jobs_.push_back(cluster().state().experiments().find(TrialId(trial))->job);
    cluster_ = nullptr;
  }
  ~Port() noexcept override = default;
  SmallCluster& cluster() {
    if (cluster_ == nullptr) {
      const ClusterStart start{is_lasting_, is_lasting_ ? metrics_.get() : nullptr, logs_.get()};
      cluster_ = std::make_unique<SmallCluster>(io_, start);
    }
    return *cluster_;
  }
  void begin() {
    known_.clear();
    const TimePoint until = now() + Duration::hours(24);
    known_["alice"] = {caller_of(testing::kAlice, "alice", until), now()};
    known_["bob"] = {caller_of(testing::kBob, "bob", until), now()};
    known_["operator"] = {caller_of(kOperator, "operator", until), now()};
    known_["root"] = {caller_of(testing::kRoot, "root", until), now()};
    if (is_lasting_) return begin_of_state(until);
    for (std::uint32_t trial = 1; trial <= 2; ++trial)
      know_task("task-" + std::to_string(trial), {TrialId(trial), 1}, jobs_[trial - 1], until);
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
          cluster().run_until_idle();
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
  void set_progress(TrialId trial, double progress) override { said_[trial].progress = progress; }
  void set_runner_state(TrialId trial, std::string text) override {
    said_[trial].runner_state = std::move(text);
  }
  RunnerStatus runner_status(TrialId trial) const override {
    const auto found = said_.find(trial);
    return found == said_.end() ? RunnerStatus() : found->second;
  }
  api::ServiceBook& services() override { return services_; }
  kj::Promise<kj::Own<kj::AsyncIoStream>> connect(const std::string& host,
                                                  std::uint16_t port) override {
    if (connect_) {
      if (auto stream = connect_(host, port); stream.get() != nullptr) return kj::mv(stream);
    }
    return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                         kj::heapString("nobody serves"));
  }
  TimePoint now() const override {
    return cluster_ == nullptr ? TimePoint::from_seconds(1'000'000) : cluster_->now();
  }
  kj::Timer& timer() override { return io_.provider->getTimer(); }
  const api::UserDirectory& users() const override { return users_; }
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) override {
    return answer(*tokens_, question);
  }
  void forget_callers() override { known_.clear(); }
  api::LoginGuard& logins() override { return logins_; }
  const ServerSettings& settings() const override { return settings_; }
  api::KnownCallers& known() { return known_; }
  ServerSettings& own_settings() { return settings_; }
  LogStore& logs() { return *logs_; }
  TokenStore& tokens() { return *tokens_; }
  void set_connect(Connect connect) { connect_ = std::move(connect); }

 private:
  Gateway& gateway() { return cluster().gateway(); }
  void know_task(const std::string& name, TrialRun run, JobId job, TimePoint until) {
    Caller task = caller_of(testing::kAlice, "alice", until);
    if (is_lasting_) {
      const auto& experiments = cluster().state().experiments();
      const ExperimentSpec& spec = *experiments.find(experiments.find(run.trial)->experiment)->spec;
      task = caller_of({spec.user, spec.job->group, false}, spec.user_name, until);
    }
    task.claims.scope = TokenScope::kTask;
    task.claims.trial = run.trial;
    task.claims.run = run.run;
    task.claims.job = job;
    known_[name] = {task, now()};
  }
  /// Tokens of every run and job that there is.
  void begin_of_state(TimePoint until) {
    const ClusterState& state = cluster().state();
    for (const auto& [id, trial] : state.experiments().trials()) {
      const Job* job = state.jobs().find(trial.job);
      const std::uint32_t present = job == nullptr ? 1 : std::max(1U, run_number(*job));
      const std::string name = "task-" + std::to_string(id.value());
      know_task(name, {id, present}, trial.job, until);
      for (std::uint32_t run = 1; run <= present + 1; ++run)
        know_task(name + "." + std::to_string(run), {id, run}, trial.job, until);
    }
    state.jobs().for_each([&](const Job& job) {
      Caller owner = caller_of({job.spec->user, job.spec->group, false},
                               std::string(job.spec->get(JobText::kUserName)), until);
      owner.claims.scope = TokenScope::kOwner;
      owner.claims.job = job.id;
      known_["job-" + std::to_string(job.id.value())] = {owner, now()};
    });
  }

  kj::AsyncIoContext& io_;
  bool is_lasting_;
  ServerSettings settings_;
  KnownUsers users_;
  std::unique_ptr<MetricStore> metrics_;
  std::unique_ptr<TokenStore> tokens_;
  std::unique_ptr<LogStore> logs_;  ///< null where nothing lasts
  std::unique_ptr<SmallCluster>
      cluster_;              ///< made when it is first asked for: most inputs never get so far
  std::vector<JobId> jobs_;  ///< of the trials
  std::map<TrialId, RunnerStatus> said_;
  Connect connect_;
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
  explicit State(bool is_lasting) : port(io, folder.path, is_lasting) {
    settings.errorHandler = errors;
  }
  std::string exchange(std::string_view bytes, std::optional<Duration> timeout);

  kj::AsyncIoContext io = kj::setupAsyncIo();
  Folder folder;
  kj::HttpHeaderTable::Builder builder;
  api::HeaderIds ids{builder};
  kj::Own<kj::HttpHeaderTable> table = builder.build();
  api::Router router = api::make_router();
  api::OwnHosts hosts{std::vector<std::string>{"localhost"}};
  api::Counter busy;
  api::BodyBook bodies;
  Errors errors;
  kj::HttpServerSettings settings;
  Port port;
};

struct HttpSite::Call::State {
  State(HttpSite::State& of, std::string_view said, api::Door entered)
      : site(of), bytes(said), door(entered) {
    drained =
        read_all(*pipe.ends[0], answer)
            .then([this] { is_answered = true; }, [this](kj::Exception&&) { is_answered = true; })
            .fork();
    served = server.listenHttp(kj::mv(pipe.ends[1])).catch_([](kj::Exception&&) {}).fork();
    written = pipe.ends[0]
                  ->write(bytes.data(), bytes.size())
                  .then([this] { pipe.ends[0]->shutdownWrite(); }, [](kj::Exception&&) {})
                  .eagerlyEvaluate(nullptr);
  }
  kj::Own<kj::HttpService> service(kj::AsyncIoStream& connection) {
    const api::ServiceParts parts{site.port,         site.router, *site.table, site.ids,
                                  site.port.known(), site.hosts,  site.busy,   100,
                                  site.bodies};
    return kj::heap<api::HttpService>(parts, api::Entrance{door}, connection);
  }

  HttpSite::State& site;
  std::string bytes;
  api::Door door;
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  kj::HttpServer server{site.io.provider->getTimer(), *site.table,
                        [this](kj::AsyncIoStream& connection) { return service(connection); },
                        site.settings};
  std::string answer;
  bool is_answered = false;
  kj::ForkedPromise<void> drained = nullptr;
  kj::ForkedPromise<void> served = nullptr;
  kj::Promise<void> written = nullptr;
};

HttpSite::Call::Call(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpSite::Call::~Call() = default;
const std::string& HttpSite::Call::answer() const { return state_->answer; }
bool HttpSite::Call::run() {
  const Quiet quiet;
  state_->site.io.waitScope.poll();
  return state_->is_answered;
}
bool HttpSite::Call::wait(Duration timeout) {
  const Quiet quiet;
  bool is_over = false;
  auto limit = state_->site.io.provider->getTimer()
                   .afterDelay(timeout.microseconds() * kj::MICROSECONDS)
                   .then([&is_over] { is_over = true; });
  auto done = state_->served.addBranch().then([this] { return state_->drained.addBranch(); });
  done.exclusiveJoin(kj::mv(limit)).wait(state_->site.io.waitScope);
  return !is_over;
}

HttpSite::HttpSite(bool is_lasting) : state_(std::make_unique<State>(is_lasting)) {}
HttpSite::~HttpSite() = default;

std::unique_ptr<HttpSite::Call> HttpSite::open(std::string_view bytes, api::Door door) {
  state_->port.begin();
  return std::unique_ptr<Call>(new Call(std::make_unique<Call::State>(*state_, bytes, door)));
}
std::string HttpSite::exchange(std::string_view bytes) {
  const auto call = open(bytes);
  FUZZ_EXPECT(call->wait(Duration::seconds(20)), "a request is never answered");
  state_->port.finish();
  return call->answer();
}
std::string HttpSite::exchange_for(std::string_view bytes, Duration timeout) {
  std::string answer;
  {
    const auto call = open(bytes);
    call->wait(timeout);
    answer = call->answer();
  }
  state_->port.finish();
  return answer;
}
LogStore& HttpSite::logs() { return state_->port.logs(); }
TokenStore& HttpSite::tokens() { return state_->port.tokens(); }
api::ApiPort::ServerSettings& HttpSite::settings() { return state_->port.own_settings(); }
kj::AsyncIoContext& HttpSite::io() { return state_->io; }
void HttpSite::set_connect(Connect connect) { state_->port.set_connect(std::move(connect)); }

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
