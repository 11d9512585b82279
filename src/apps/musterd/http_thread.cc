// HTTP's thread: connections, handlers, and the gateway that they ask.
#include <fmt/format.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <unordered_map>

#include "api/http_service.h"
#include "apps/musterd/gateway_host.h"
#include "apps/musterd/machine_users.h"
#include "apps/musterd/threads.h"
#include "records/page_codec.h"
#include "wire/acceptor.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"
#include "wire/tcp_peer.h"

namespace muster::daemon {
namespace {

/// Determined's clients keep connections for this long without a word.
constexpr kj::Duration kIdle = 150 * kj::SECONDS;
/// Until all of a request's headers are there; and of the last connections that there are.
constexpr kj::Duration kHeaderTimeout = 10 * kj::SECONDS;
constexpr kj::Duration kProvingTimeout = 2 * kj::SECONDS;

class HttpThread final : public api::ApiPort {
 public:
  HttpThread(GatewayHost& host, kj::AsyncIoContext& io, ServerSettings server_settings)
      : host_(host),
        timer_(io.provider->getTimer()),
        network_(io.provider->getNetwork()),
        settings_(std::move(server_settings)) {}
  ~HttpThread() noexcept override = default;

  kj::Promise<std::vector<Reply>> submit(const api::Caller& caller,
                                         std::vector<Request> requests) override {
    // The run that a token was given to may have ended since the connection was made.
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value()) {
      Reply reply;
      reply.error = alive.error();
      return std::vector<Reply>(requests.size(), reply);
    }
    return gateway().submit(caller.identity, std::move(requests), RequestId());
  }
  kj::Promise<std::optional<Error>> report(const api::Caller& caller,
                                           MetricReport report) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return std::optional<Error>(alive.error());
    return gateway().report(caller.identity, std::move(report));
  }
  kj::Promise<Result<bool>> wait_stop(const api::Caller& caller, TrialRun run,
                                      kj::Duration timeout) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return Result<bool>(fail(alive.error()));
    return gateway().wait_stop(caller.identity, run, timeout);
  }
  kj::Promise<Result<std::string>> blob(BlobId id) override { return gateway().blob(id); }
  kj::Promise<Result<LogAnswer>> read_logs(const api::Caller& caller, LogQuery query,
                                           Duration wait) override {
    if (const Status alive = gateway().check_token(caller.claims); !alive.has_value())
      return Result<LogAnswer>(fail(alive.error()));
    return gateway().read_logs(caller.identity, std::move(query), wait);
  }
  kj::Promise<Status> ready() override {
    return gateway().refusal() ? Status(fail(*gateway().refusal())) : Status();
  }
  // At once: this replica changes on this thread alone, between two events of the loop.
  kj::Promise<Status> look(const api::Caller& caller,
                           std::function<void(const ClusterState&)> see) override {
    const Status alive = gateway().check_token(caller.claims);
    if (alive.has_value()) see(gateway().state());
    return alive;
  }
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) override {
    return host_.measure(std::move(questions));
  }
  kj::Promise<void> work(std::function<void()> computation) override {
    return host_.work(std::move(computation));
  }

  void set_progress(TrialId trial, double progress) override {
    runners_[trial].progress = progress;
  }
  void set_runner_state(TrialId trial, std::string text) override {
    runners_[trial].runner_state = std::move(text);
  }
  RunnerStatus runner_status(TrialId trial) const override {
    const auto found = runners_.find(trial);
    return found == runners_.end() ? RunnerStatus() : found->second;
  }
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) override {
    return host_.ask_tokens(std::move(question));
  }
  void forget_callers() override { known_.clear(); }
  api::KnownCallers& known() { return known_; }
  api::LoginGuard& logins() override { return logins_; }
  api::ServiceBook& services() override { return services_; }
  kj::Promise<kj::Own<kj::AsyncIoStream>> connect(const std::string& host,
                                                  std::uint16_t port) override {
    // KJ resolves names on a thread of its own. The address lives until the connection is made.
    return network_.parseAddress(host.c_str(), port).then([](kj::Own<kj::NetworkAddress> address) {
      auto connected = address->connect();
      return connected.attach(kj::mv(address));
    });
  }
  TimePoint now() const override { return cluster_now(); }
  kj::Timer& timer() override { return timer_; }
  const api::UserDirectory& users() const override { return users_; }
  const ServerSettings& settings() const override { return settings_; }

 private:
  Gateway& gateway() const { return host_.gateway(); }

  GatewayHost& host_;
  kj::Timer& timer_;
  kj::Network& network_;
  ServerSettings settings_;
  MachineUsers users_;
  std::unordered_map<TrialId, RunnerStatus> runners_;
  api::ServiceBook services_;
  api::KnownCallers known_;
  api::LoginGuard logins_;
};

/// A connection's failure is its own. Strangers hear what is wrong, never where in the program it
/// was found.
class QuietErrors final : public kj::HttpServerErrorHandler {
 public:
  kj::Promise<void> handleApplicationError(
      kj::Exception exception, kj::Maybe<kj::HttpService::Response&> response) override {
    if (exception.getType() == kj::Exception::Type::DISCONNECTED) return kj::READY_NOW;
    // What KJ's own reading of a request throws is the request's fault.
    const bool is_clients =
        std::string_view(exception.getFile()).find("compat/http") != std::string_view::npos;
    if (!is_clients) fmt::print(stderr, "musterd: HTTP: {}\n", exception.getDescription().cStr());
    KJ_IF_MAYBE (open, response) {
      const kj::StringPtr text = is_clients
                                     ? "the request is no HTTP/1.1 as it is understood here\n"_kj
                                     : "the controller failed: its log says where\n"_kj;
      const kj::HttpHeaderTable table;
      kj::HttpHeaders headers(table);
      headers.set(kj::HttpHeaderId::CONTENT_TYPE, "text/plain"_kj);
      auto out = open->send(is_clients ? 400 : 500,
                            is_clients ? "Bad Request"_kj : "Internal Server Error"_kj, headers,
                            text.size());
      auto written = out->write(text.begin(), text.size());
      return written.attach(kj::mv(out));
    }
    return kj::READY_NOW;
  }
};

/// Answers by what the core had done when the request came, and not by what this thread happens to
/// have heard of: who was answered elsewhere before sees it here.
class CurrentService final : public kj::HttpService {
 public:
  CurrentService(GatewayHost& host, kj::Own<kj::HttpService> service)
      : host_(host), service_(kj::mv(service)) {}
  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override {
    catch_up();
    return service_->request(method, url, headers, body, response);
  }

 private:
  /// What is thrown there ends the process, as in the pump: a replica that missed something is
  /// none.
  void catch_up() noexcept { host_.catch_up(); }

  GatewayHost& host_;
  kj::Own<kj::HttpService> service_;
};

/// Takes connections while there is room for them: one too many is told so and closed.
class Listener final : private kj::TaskSet::ErrorHandler {
 public:
  /// `proving`: for connections that must show a good token at once. Owns the listening socket.
  Listener(kj::AsyncIoContext& io, int fd, kj::HttpServer& server, kj::HttpServer& proving,
           api::ConnectionBook& book, UserId operator_user)
      : io_(io),
        fd_(fd),
        server_(server),
        proving_(proving),
        book_(book),
        operator_(operator_user),
        acceptor_(io, fd, [this](int connection) { adopt(connection); }) {}
  kj::Promise<void> accept() { return acceptor_.run(); }

 private:
  void adopt(int fd) {
    auto connection = socket_stream(io_, fd);
    const int one = 1;  // an answer is not kept back until the one before it was acknowledged
    connection->setsockopt(IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Counted by whom the kernel says it is.
    const TcpPeer peer = tcp_peer(*connection);
    const auto entry =
        book_.acquire(peer.name, peer.user && (*peer.user == operator_ || peer.user->value() == 0));
    if (entry.slot == nullptr) return refuse(*connection);
    kj::HttpServer& server = entry.must_prove ? proving_ : server_;
    // With the connection its part of the limits ends.
    tasks_.add(
        server.listenHttp(kj::mv(connection)).attach(kj::heap<api::Counter::Slot>(entry.slot)));
  }
  /// As far as the socket takes it at once: nobody is waited for.
  static void refuse(kj::AsyncIoStream& connection) {
    constexpr std::string_view kText =
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: "
        "52\r\nConnection: close\r\n\r\n"
        "too many connections are open: close some of yours.\n";
    KJ_IF_MAYBE (fd, connection.getFd()) [[maybe_unused]]
      const auto sent = ::send(*fd, kText.data(), kText.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void taskFailed(kj::Exception&&) override {}

  kj::AsyncIoContext& io_;
  kj::AutoCloseFd fd_;  ///< outlives the acceptor
  kj::HttpServer& server_;
  kj::HttpServer& proving_;
  api::ConnectionBook& book_;
  UserId operator_;
  Acceptor acceptor_;
  kj::TaskSet tasks_{*this};
};

/// A client that goes away in the middle of an answer is no error of ours, and KJ's server would
/// say so each time.
class OwnWords final : public kj::ExceptionCallback {
 public:
  void logMessage(kj::LogSeverity severity, const char*, int, int, kj::String&& text) override {
    const std::string_view said(text.begin(), text.size());
    if (severity < kj::LogSeverity::ERROR || said.find("HTTP message body incomplete") != said.npos)
      return;
    fmt::print(stderr, "musterd: HTTP: {}\n", said);
  }
};

/// The names of this machine and of the cluster's controller.
api::OwnHosts own_hosts(const DaemonOptions& options) {
  std::vector<std::string> names = options.own_hosts;
  names.insert(names.end(), options.http.hosts.begin(), options.http.hosts.end());
  // HOST:PORT without the port.
  names.push_back(options.http.listen.substr(0, options.http.listen.rfind(':')));
  char host[256] = {};
  // Browsers may also ask by what /etc/hosts calls this machine's addresses.
  if (::gethostname(host, sizeof host - 1) == 0) {
    std::ifstream file("/etc/hosts");
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    for (std::string& name : api::names_in_hosts_file(text, host)) names.push_back(std::move(name));
  }
  return api::OwnHosts(names);
}

/// What handlers are told of this controller. A user without an entry goes by number.
api::ApiPort::ServerSettings server_settings_of(const DaemonOptions& options,
                                                const ServedHttp& served) {
  api::ApiPort::ServerSettings settings;
  settings.token_key = served.token_key;
  settings.cluster_id = served.cluster_id;
  settings.cluster_name = options.cluster_name;
  settings.version = options.version;
  settings.address = served.address;
  settings.operator_user = UserId(options.operator_uid);
  for (const std::uint32_t uid : options.operators) settings.operators.push_back(UserId(uid));
  settings.operator_group = GroupId(::getegid());
  settings.services_port = served.services_port;
  settings.services_url = options.http.services_url;
  settings.token_days = options.http.token_days;
  settings.site_defaults = options.site_defaults;
  std::vector<char> buffer(1 << 16);
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(options.operator_uid, &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr;
  settings.operator_name = is_known ? found->pw_name : std::to_string(options.operator_uid);
  return settings;
}

}  // namespace

void run_http(Channels& channels, QueryReplica& replica, const DaemonOptions& options,
              const ServedHttp& served) {
  const OwnWords words;
  auto io = kj::setupAsyncIo();
  GatewayHost host(channels, channels.http, kHttpTokens, replica, io, options.http);
  HttpThread thread(host, io, server_settings_of(options, served));
  kj::HttpHeaderTable::Builder builder;
  const api::HeaderIds ids(builder);
  const auto table = builder.build();
  const api::Router router = api::make_router();
  // By the descriptors that this process may have open: each connection needs one.
  api::ConnectionLimits limits = api::connection_limits(
      open_files_max(), options.http.connections_max, options.http.peer_connections_max);
  api::ConnectionBook connections(limits);
  api::Counter busy;
  api::BodyBook bodies;
  // Of one user or job by default: a quarter of as many requests as there may be connections.
  const std::size_t user_requests_max = options.http.user_requests_max != 0
                                            ? options.http.user_requests_max
                                            : std::max<std::size_t>(limits.all / 4, 64);
  const api::OwnHosts hosts = own_hosts(options);
  const api::ServiceParts parts{
      thread, router, *table, ids, thread.known(), hosts, busy, user_requests_max, bodies};
  QuietErrors errors;
  kj::HttpServerSettings settings;
  settings.headerTimeout = kHeaderTimeout;
  // Between two requests of one connection.
  settings.pipelineTimeout = kIdle;
  settings.errorHandler = errors;
  kj::Timer& timer = io.provider->getTimer();
  kj::HttpServerSettings proving_settings = settings;
  // Of the last connections, which must show a token at once.
  proving_settings.headerTimeout = kProvingTimeout;
  // Two servers for each port, because KJ has timeouts for a server and not for a connection.
  const auto serve = [&](api::Door door, bool must_prove) {
    const api::Entrance entrance{door, must_prove};
    return kj::heap<kj::HttpServer>(
        timer, *table,
        [&parts, &host, entrance](kj::AsyncIoStream& connection) -> kj::Own<kj::HttpService> {
          return kj::heap<CurrentService>(host,
                                          kj::heap<api::HttpService>(parts, entrance, connection));
        },
        must_prove ? proving_settings : settings);
  };
  // The listener refers to both servers and comes last, so that it ends first.
  struct Port {
    kj::Own<kj::HttpServer> server;
    kj::Own<kj::HttpServer> proving;
    Listener listener;
    Port(kj::AsyncIoContext& io, int fd, kj::Own<kj::HttpServer> all, kj::Own<kj::HttpServer> last,
         api::ConnectionBook& book, UserId user)
        : server(kj::mv(all)),
          proving(kj::mv(last)),
          listener(io, fd, *server, *proving, book, user) {}
  };
  const auto open_port = [&](api::Door door, int fd) {
    return kj::heap<Port>(io, fd, serve(door, false), serve(door, true), connections,
                          UserId(options.operator_uid));
  };
  auto api_port = open_port(api::Door::kApi, served.listen_fd);
  auto services_port = open_port(api::Door::kServices, served.services_fd);
  // None of the three ends but by an exception, and that ends the process.
  api_port->listener.accept()
      .exclusiveJoin(services_port->listener.accept())
      .exclusiveJoin(host.pump([&connections] { return connections.open_count() == 0; }))
      .wait(io.waitScope);
}

}  // namespace muster::daemon
