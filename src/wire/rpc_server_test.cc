// The door itself, over a real socket: what it bounds and how it says so. Runs as whoever runs the
// tests.
#include "wire/rpc_server.h"

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>
#include <kj/io.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "records/fields.h"
#include "records/page_codec.h"
#include "records/wire_records.h"
#include "wire/agent_client.h"
#include "wire/controller_client.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster {
namespace {

/// Answers every batch at once; who waits, waits until the test says so.
class FakeClients final : public ClientCalls {
 public:
  ~FakeClients() noexcept override = default;
  kj::Promise<std::vector<Reply>> submit(const Identity&, std::vector<Request> requests,
                                         RequestId) override {
    ++batches;
    if (is_broken) KJ_FAIL_REQUIRE("what nobody had thought of");
    return std::vector<Reply>(requests.size());
  }
  /// Pages without an end, as long as there is somebody to read them.
  kj::Promise<std::optional<Error>> query(const Identity&, Query, SendPage send) override {
    ++queries;
    return send_on(std::move(send))
        .then([]() -> std::optional<Error> { return std::nullopt; })
        .attach(kj::defer([this] { --queries; }));
  }
  kj::Promise<void> send_on(SendPage send) {
    if (is_over) return kj::READY_NOW;
    ++pages;
    return send(page).then([this, send]() mutable { return send_on(std::move(send)); });
  }
  kj::Promise<WaitAnswer> wait(const Identity&, WaitFor what) override {
    wanted = what;
    auto paf = kj::newPromiseAndFulfiller<WaitAnswer>();
    waiting.push_back(kj::mv(paf.fulfiller));
    return kj::mv(paf.promise);
  }
  kj::Promise<Result<LogAnswer>> read_logs(const Identity&, LogQuery, Duration) override {
    return Result<LogAnswer>(LogAnswer{});
  }

  std::string page = std::string(100'000, 'x');
  bool is_over = false;    ///< no further page
  bool is_broken = false;  ///< fails in every batch
  WaitFor wanted;          ///< last
  int batches = 0;
  int queries = 0;  ///< under way
  int pages = 0;
  std::vector<kj::Own<kj::PromiseFulfiller<WaitAnswer>>> waiting;
};

/// Takes every agent for that of node 3.
class FakeAgents final : public AgentCalls {
 public:
  ~FakeAgents() noexcept override = default;
  Result<NodeIndex> agent_registered(const Identity&, const RegisterNode&,
                                     AgentSender& to) override {
    if (is_broken) KJ_FAIL_REQUIRE("what nobody had thought of");
    sender = &to;
    return NodeIndex(3);
  }
  ClusterIdentity cluster_identity() const override { return {"cluster", Epoch(1)}; }
  bool agent_message(NodeIndex, AgentSender&, const FromAgent&) override { return has_place; }
  bool has_place = true;   ///< of every agent
  bool is_broken = false;  ///< fails at every registration
  void agent_received(NodeIndex, AgentSender&, const StepId& step) override {
    received.push_back(step.job);
  }
  void agent_refused(NodeIndex, AgentSender&, const ToAgent& message, const std::string&) override {
    refused.push_back(message);
  }
  void agent_lost(NodeIndex node, AgentSender&, const std::vector<SignalStep>& signals) override {
    lost.push_back(node);
    unheard = signals;
  }
  AgentSender* sender = nullptr;
  std::vector<NodeIndex> lost;
  std::vector<SignalStep> unheard;
  std::vector<ToAgent> refused;
  std::vector<JobId> received;  ///< whose launches
};

class DoorTest : public ::testing::Test {
 protected:
  DoorTest() : io_(kj::setupAsyncIo()) {
    ::signal(SIGPIPE, SIG_IGN);  // as every daemon has it
    std::string folder = (std::getenv("TMPDIR") != nullptr ? std::string(std::getenv("TMPDIR"))
                                                           : std::string("/tmp")) +
                         "/door-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~DoorTest() noexcept override {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/socket"; }
  void open(ServerOptions options) {
    const auto fd = listen_unix(path(), 0600);
    ASSERT_TRUE(fd.has_value()) << fd.error().text();
    server_ = std::make_unique<RpcServer>(io_, *fd, &clients_, nullptr, std::move(options));
  }
  std::unique_ptr<ControllerClient> client() {
    auto made = ControllerClient::connect(io_, "unix:" + path());
    EXPECT_TRUE(made.has_value());
    return made.has_value() ? std::move(*made) : nullptr;
  }
  Result<std::vector<Reply>> submit(ControllerClient& client, std::size_t count) {
    return client.submit(std::vector<Request>(count, Request(RenewLease{JobId(1)})));
  }
  void pass(kj::Duration time) { io_.provider->getTimer().afterDelay(time).wait(io_.waitScope); }
  /// Sends bytes and waits for the other end to close. False: it does not within two seconds.
  bool is_closed_after(const std::vector<std::uint64_t>& words) {
    auto fd = connect_to("unix:" + path());
    EXPECT_TRUE(fd.has_value());
    EXPECT_EQ(::write(*fd, words.data(), words.size() * 8), static_cast<ssize_t>(words.size() * 8));
    std::array<char, 4096> buffer{};
    bool is_closed = false;
    for (int i = 0; i < 200 && !is_closed; ++i) {
      pass(10 * kj::MILLISECONDS);
      ssize_t size = 1;
      while (size > 0) size = ::read(*fd, buffer.data(), buffer.size());
      is_closed = size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
    ::close(*fd);
    return is_closed;
  }

  kj::AsyncIoContext io_;
  FakeClients clients_;
  std::string folder_;
  std::unique_ptr<RpcServer> server_;
};

/// Answers no call.
class DeafAgent final : public schema::Agent::Server {
 public:
  kj::Promise<void> deliver(DeliverContext) override { return kj::NEVER_DONE; }
};

/// A door for agents, and one that has registered.
class AgentDoorTest : public DoorTest {
 protected:
  ~AgentDoorTest() noexcept override {
    hang_up();
    server_ = nullptr;
  }
  /// `agent`: null for an object of the server's own.
  void register_agent(kj::Own<schema::Agent::Server> agent) {
    const auto listening = listen_unix(path(), 0600);
    ASSERT_TRUE(listening.has_value());
    server_ = std::make_unique<RpcServer>(io_, *listening, nullptr, &agents_, ServerOptions{});
    const auto fd = connect_to("unix:" + path());
    ASSERT_TRUE(fd.has_value());
    stream_ =
        io_.lowLevelProvider->wrapSocketFd(*fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                    kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                                                    kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
    client_ = kj::heap<capnp::TwoPartyClient>(*stream_);
    auto controller = client_->bootstrap();
    auto call = controller.castAs<schema::Controller>().registerNodeRequest();
    if (agent.get() == nullptr) {
      call.setAgent(controller.castAs<schema::Agent>());
    } else {
      call.setAgent(kj::mv(agent));
    }
    records::write(call.initHello(), FromAgent(RegisterNode{}));
    call.send().ignoreResult().wait(io_.waitScope);
  }
  void hang_up() {
    client_ = nullptr;
    stream_ = nullptr;
    pass(50 * kj::MILLISECONDS);
  }

  FakeAgents agents_;
  kj::Own<kj::AsyncIoStream> stream_;
  kj::Own<capnp::TwoPartyClient> client_;
};

/// What is reachable from itself goes with its connection all the same: else its node had an agent
/// for ever.
TEST_F(AgentDoorTest, AnAgentThatIsAnObjectOfOurOwnIsLostWithItsConnection) {
  ASSERT_NO_FATAL_FAILURE(register_agent(kj::Own<schema::Agent::Server>()));
  EXPECT_TRUE(agents_.lost.empty());
  hang_up();
  EXPECT_EQ(agents_.lost, std::vector{NodeIndex(3)});
}

TEST_F(AgentDoorTest, SignalsThatAnAgentDidNotHearAreKnownWhenItIsLost) {
  ASSERT_NO_FATAL_FAILURE(register_agent(kj::heap<DeafAgent>()));
  ASSERT_NE(agents_.sender, nullptr);
  agents_.sender->send(SignalStep{StepId{JobId(1), 0, 0}, SIGUSR1});
  agents_.sender->send(ForgetJob{JobId(2), 0});
  agents_.sender->send(SignalStep{StepId{JobId(1), 0, 0}, SIGUSR2});
  pass(20 * kj::MILLISECONDS);
  hang_up();
  ASSERT_EQ(agents_.unheard.size(), 2U);
  EXPECT_EQ(agents_.unheard[0].signal, SIGUSR1);
  EXPECT_EQ(agents_.unheard[1].signal, SIGUSR2);
}

/// Keeps what it is told; the first call is answered late, so that what follows gathers.
class KeepingAgent final : public schema::Agent::Server {
 public:
  struct Heard {
    std::vector<ToAgent> messages;
    std::vector<std::size_t> call_bytes;
  };
  /// `is_refused`: whether a call that has such a message fails.
  KeepingAgent(Heard& heard, kj::Timer& timer, std::function<bool(const ToAgent&)> is_refused)
      : heard_(heard), timer_(timer), is_refused_(std::move(is_refused)) {}
  kj::Promise<void> deliver(DeliverContext context) override {
    heard_.call_bytes.push_back(context.getParams().totalSize().wordCount * 8);
    std::vector<ToAgent> messages;
    for (const auto wire : context.getParams().getMessages())
      records::read(wire, messages.emplace_back());
    KJ_REQUIRE(std::ranges::none_of(messages, is_refused_), "it is not understood");
    for (ToAgent& message : messages) heard_.messages.push_back(std::move(message));
    if (heard_.call_bytes.size() > 1) return kj::READY_NOW;
    return timer_.afterDelay(50 * kj::MILLISECONDS);
  }

 private:
  Heard& heard_;
  kj::Timer& timer_;
  std::function<bool(const ToAgent&)> is_refused_;
};

std::uint32_t job_of(const ToAgent& message) {
  if (const auto* launch = get_if<LaunchStep>(&message)) return launch->id.job.value();
  const auto* forget = get_if<ForgetJob>(&message);
  return forget == nullptr ? 0 : forget->job.value();
}

/// An agent that keeps what it is told.
class KeepingDoorTest : public AgentDoorTest {
 protected:
  void register_keeping(std::function<bool(const ToAgent&)> is_refused = [](const ToAgent&) {
    return false;
  }) {
    register_agent(kj::heap<KeepingAgent>(heard, io_.provider->getTimer(), std::move(is_refused)));
  }
  void await(std::size_t count) {
    for (int i = 0; i < 200 && heard.messages.size() < count; ++i) pass(20 * kj::MILLISECONDS);
    ASSERT_EQ(heard.messages.size(), count);
  }
  KeepingAgent::Heard heard;
};

TEST_F(KeepingDoorTest, LaunchesThatAreLargeTogetherComeInSeveralCalls) {
  ASSERT_NO_FATAL_FAILURE(register_keeping());
  LaunchStep launch;
  launch.job = std::make_shared<JobSpec>();
  launch.script = std::make_shared<const std::string>(std::size_t{7} << 20, '#');
  for (std::uint32_t job = 1; job <= 20; ++job) {
    launch.id = StepId{JobId(job), 0, kBatchStep};
    agents_.sender->send(launch);
    agents_.sender->send(ForgetJob{JobId(100 + job), 0});
  }
  ASSERT_NO_FATAL_FAILURE(await(40));
  for (std::uint32_t job = 1; job <= 20; ++job) {
    EXPECT_EQ(job_of(heard.messages[2 * job - 2]), job);
    EXPECT_EQ(job_of(heard.messages[2 * job - 1]), 100 + job);
  }
  for (const std::size_t bytes : heard.call_bytes) EXPECT_LE(bytes, std::size_t{8} << 20);
  pass(100 * kj::MILLISECONDS);
  ASSERT_EQ(agents_.received.size(), 20U);
  for (std::uint32_t job = 1; job <= 20; ++job) EXPECT_EQ(agents_.received[job - 1], JobId(job));
  EXPECT_TRUE(agents_.refused.empty() && agents_.lost.empty());
}

TEST_F(KeepingDoorTest, SmallOnesShareCallsOfBoundedSize) {
  ASSERT_NO_FATAL_FAILURE(register_keeping());
  LaunchStep launch;
  launch.job = std::make_shared<JobSpec>();
  launch.environment = std::make_shared<const std::string>(60'000, 'x');
  constexpr std::uint32_t kLaunches = 200;
  for (std::uint32_t job = 1; job <= kLaunches; ++job) {
    launch.id = StepId{JobId(job), 0, kBatchStep};
    agents_.sender->send(launch);
  }
  ASSERT_NO_FATAL_FAILURE(await(kLaunches));
  for (std::uint32_t job = 1; job <= kLaunches; ++job)
    EXPECT_EQ(job_of(heard.messages[job - 1]), job);
  for (const std::size_t bytes : heard.call_bytes) EXPECT_LE(bytes, std::size_t{5} << 20);
  EXPECT_LE(heard.call_bytes.size(), 10U) << "many in one";
}

TEST_F(KeepingDoorTest, WhatAnAgentDoesNotTakeTakesNothingElseAlong) {
  const auto is_third = [](const ToAgent& message) { return job_of(message) == 3; };
  ASSERT_NO_FATAL_FAILURE(register_keeping(is_third));
  for (std::uint32_t job = 1; job <= 5; ++job) agents_.sender->send(ForgetJob{JobId(job), 0});
  ASSERT_NO_FATAL_FAILURE(await(4));
  std::vector<std::uint32_t> jobs;
  for (const ToAgent& message : heard.messages) jobs.push_back(job_of(message));
  EXPECT_EQ(jobs, (std::vector<std::uint32_t>{1, 2, 4, 5}));
  ASSERT_EQ(agents_.refused.size(), 1U);
  EXPECT_EQ(job_of(agents_.refused.front()), 3U);
  EXPECT_TRUE(agents_.lost.empty());
}

/// Answers each registration, and refuses whatever is told then.
class DeafController final : public schema::Controller::Server {
 public:
  kj::Promise<void> registerNode(RegisterNodeContext context) override {
    context.getResults().setController(kj::heap<RefusingPort>());
    return kj::READY_NOW;
  }

 private:
  class RefusingPort final : public schema::AgentPort::Server {
    kj::Promise<void> deliver(DeliverContext) override { KJ_FAIL_REQUIRE("not understood"); }
  };
};

/// Else it would say nothing any more on a connection that stands, until it counted as dead.
TEST_F(DoorTest, AnAgentThatIsNotUnderstoodGivesItsConnectionUp) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  auto stream =
      io_.lowLevelProvider->wrapSocketFd(fds[0], kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                     kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                                                     kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
  capnp::TwoPartyServer server(kj::heap<DeafController>());
  auto served = server.accept(*stream).eagerlyEvaluate(nullptr);
  AgentClient agent(io_, fds[1], [](const ToAgent&) {});
  ASSERT_FALSE(agent.register_node(RegisterNode{}).wait(io_.waitScope).refusal);
  bool is_given_up = false;
  auto over = agent.on_disconnect()
                  .then([] {}, [&](kj::Exception&&) { is_given_up = true; })
                  .eagerlyEvaluate(nullptr);
  agent.send(Heartbeat{});
  for (int i = 0; i < 50 && !is_given_up; ++i) pass(20 * kj::MILLISECONDS);
  EXPECT_TRUE(is_given_up);
}

/// Else it would hold itself for connected, and its node would be silent for as long.
TEST_F(AgentDoorTest, AnAgentThatHasLostItsPlaceHearsOfIt) {
  ASSERT_NO_FATAL_FAILURE(register_agent(kj::heap<DeafAgent>()));
  AgentClient agent(io_, connect_at_once("unix:" + path()).value(), [](const ToAgent&) {});
  ASSERT_FALSE(agent.register_node(RegisterNode{}).wait(io_.waitScope).refusal);
  bool is_over = false;
  auto over = agent.on_disconnect()
                  .then([] {},
                        [&](kj::Exception&& exception) {
                          is_over = exception.getType() == kj::Exception::Type::DISCONNECTED;
                        })
                  .eagerlyEvaluate(nullptr);
  agent.send(Heartbeat{});
  for (int i = 0; i < 10; ++i) pass(20 * kj::MILLISECONDS);
  EXPECT_FALSE(is_over);
  agents_.has_place = false;
  agent.send(Heartbeat{});
  for (int i = 0; i < 50 && !is_over; ++i) pass(20 * kj::MILLISECONDS);
  EXPECT_TRUE(is_over);
}

TEST_F(DoorTest, WhoDialsInALoopIsNotToldWhyEachTime) {
  ServerOptions options;
  options.quota.connections_max = 0;
  options.quota.connections_reserved = 0;
  open(options);
  int told = 0;
  int closed = 0;
  for (int i = 0; i < 600; ++i) {
    const kj::AutoCloseFd dialled(connect_to("unix:" + path()).value());
    pollfd readable{dialled.get(), POLLIN, 0};
    for (int round = 0; round < 1000 && ::poll(&readable, 1, 0) == 0; ++round) pass(kj::Duration());
    char reason[512];
    const ssize_t size = ::read(dialled.get(), reason, sizeof reason);
    ++(size > 0 ? told : closed);
  }
  EXPECT_GE(told, 100) << "people are";
  EXPECT_GE(closed, 100);
}

TEST_F(DoorTest, WhoIsGoneBeforeTheRefusalKeepsNobodyOut) {
  ServerOptions options;
  options.quota.connections_max = 1;
  options.quota.connections_reserved = 0;
  open(options);
  auto first = client();
  ASSERT_TRUE(submit(*first, 1).has_value());
  for (int i = 0; i < 300; ++i) {
    kj::AutoCloseFd(connect_to("unix:" + path()).value()) = nullptr;
    pass(kj::Duration());
  }
  pass(1100 * kj::MILLISECONDS);  // the next is told why again
  auto second = client();
  const auto refused = submit(*second, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  first.reset();
  pass(20 * kj::MILLISECONDS);
  EXPECT_TRUE(submit(*client(), 1).has_value());
}

TEST_F(DoorTest, WhoIsRefusedAConnectionReadsWhy) {
  ServerOptions options;
  options.quota.connections_max = 2;
  options.quota.connections_reserved = 0;
  open(options);
  auto first = client();
  auto second = client();
  ASSERT_TRUE(submit(*first, 1).has_value() && submit(*second, 1).has_value());
  auto third = client();
  const auto refused = submit(*third, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find(
                "Unable to contact slurm controller (too many connections: 2 are open"),
            std::string::npos)
      << refused.error().text();
  first.reset();
  pass(50 * kj::MILLISECONDS);
  auto fourth = client();
  EXPECT_TRUE(submit(*fourth, 1).has_value());
}

TEST_F(DoorTest, WhoIsNotAnsweredGivesUpWhenItsPatienceEnds) {
  open({});
  auto one = client();
  one->set_timeout(Duration::seconds(1));
  const auto answer = one->wait(WaitFor{StepId{JobId(1), 2, 3}, WaitUntil::kStepEnded, 4});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(clients_.wanted.what, (StepId{JobId(1), 2, 3}));
  EXPECT_EQ(clients_.wanted.until, WaitUntil::kStepEnded);
  EXPECT_EQ(clients_.wanted.launch_key, 4U);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().message, "Unable to contact slurm controller (no answer for 1 s)");
  for (auto& waiting : clients_.waiting) waiting->fulfill(WaitAnswer());
  pass(50 * kj::MILLISECONDS);
}

TEST_F(DoorTest, WhoTakesLongOverAPageIsNotUnanswered) {
  open({});
  Page page;
  page.bytes = std::string(100'000, 'x');
  clients_.page = records::encode_page(page);
  auto one = client();
  one->set_timeout(Duration::milliseconds(200));
  int visited = 0;
  const Status told = one->query({}, [&](Page) {
    if (++visited <= 3) ::usleep(300'000);  // as one whose output nobody reads for a while
    clients_.is_over = visited >= 3;
  });
  EXPECT_TRUE(told.has_value()) << told.error().text();
  EXPECT_GE(visited, 3);
}

TEST_F(DoorTest, ABatchHasAThousandRequestsAtMost) {
  open({});
  auto one = client();
  EXPECT_TRUE(submit(*one, kRequestsMax).has_value());
  const auto refused = submit(*one, kRequestsMax + 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("too many requests in one batch"), std::string::npos)
      << refused.error().text();
  EXPECT_TRUE(submit(*one, 1).has_value());  // the connection is of use as before
  EXPECT_EQ(clients_.batches, 2);
}

TEST_F(DoorTest, WhatFailsTellsNothingOfOurMemory) {
  const auto listening = listen_unix(path(), 0600);
  ASSERT_TRUE(listening.has_value());
  FakeAgents agents;
  server_ = std::make_unique<RpcServer>(io_, *listening, &clients_, &agents, ServerOptions{});
  clients_.is_broken = agents.is_broken = true;
  const auto fd = connect_to("unix:" + path());
  ASSERT_TRUE(fd.has_value());
  auto stream = socket_stream(io_, *fd);
  capnp::TwoPartyClient raw(*stream);
  auto door = raw.bootstrap().castAs<schema::Controller>();
  std::vector<std::string> told;
  const auto note = [&](kj::Exception failed) {
    EXPECT_EQ(failed.getRemoteTrace().size(), 0U);
    told.emplace_back(kj::str(failed.getDescription()).cStr());
  };
  door.submitRequest().send().ignoreResult().then([] {}, note).wait(io_.waitScope);
  auto hello = door.registerNodeRequest();
  hello.setAgent(kj::heap<DeafAgent>());
  records::write(hello.initHello(), FromAgent(RegisterNode{}));
  hello.send().ignoreResult().then([] {}, note).wait(io_.waitScope);
  ASSERT_EQ(told.size(), 2U);
  for (const std::string& text : told) {
    EXPECT_NE(text.find("what nobody had thought of"), std::string::npos) << text;
    EXPECT_EQ(text.find("stack"), std::string::npos) << text;
    EXPECT_EQ(text.find("0x"), std::string::npos) << text;
    EXPECT_EQ(text.find(".cc"), std::string::npos) << text;
  }
}

TEST_F(DoorTest, AConnectionThatIsSilentIsClosedAndOneThatWaitsIsNot) {
  ServerOptions options;
  options.idle_limit = Duration::milliseconds(500);
  open(options);
  auto waits = client();
  bool is_answered = false;
  auto answer = waits->wait_async(WaitFor{StepId{JobId(1), 0, 0}})
                    .then([&](WaitAnswer) { is_answered = true; })
                    .eagerlyEvaluate(nullptr);
  EXPECT_TRUE(is_closed_after({}));
  pass(1 * kj::SECONDS);
  ASSERT_EQ(clients_.waiting.size(), 1U);
  clients_.waiting.front()->fulfill(WaitAnswer{});
  answer.wait(io_.waitScope);
  EXPECT_TRUE(is_answered);
}

/// Takes pages and never says that there is room for more.
class FullSink final : public schema::PageSink::Server {
 public:
  kj::Promise<void> page(PageContext) override { return kj::NEVER_DONE; }
};

/// Asks for a list and reads nothing of it.
class SlowClient {
 public:
  SlowClient(kj::AsyncIoContext& io, int fd)
      : stream_(io.lowLevelProvider->wrapSocketFd(fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP)),
        client_(*stream_) {}
  kj::Promise<void> ask() {
    auto call = client_.bootstrap().castAs<schema::Controller>().queryRequest();
    call.setSink(kj::heap<FullSink>());
    return call.send().ignoreResult();
  }

 private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyClient client_;
};

TEST_F(DoorTest, WhoDoesNotReadIsSentNoMoreAndWhoDoesNotWantItEndsIt) {
  open({});
  const auto fd = connect_to("unix:" + path());
  ASSERT_TRUE(fd.has_value());
  auto slow = std::make_unique<SlowClient>(io_, *fd);
  {
    auto answer = slow->ask();
    pass(100 * kj::MILLISECONDS);
    const int pages = clients_.pages;
    EXPECT_GE(pages, 1);
    EXPECT_LE(pages, 10) << "a megabyte is on its way to somebody who takes nothing";
    pass(100 * kj::MILLISECONDS);
    EXPECT_EQ(clients_.pages, pages);
    EXPECT_EQ(clients_.queries, 1);
  }
  pass(50 * kj::MILLISECONDS);
  EXPECT_EQ(clients_.queries, 0) << "the call was given up";
  auto again = slow->ask();
  pass(50 * kj::MILLISECONDS);
  EXPECT_EQ(clients_.queries, 1);
  { auto dropped = kj::mv(again); }
  slow.reset();
  pass(50 * kj::MILLISECONDS);
  EXPECT_EQ(clients_.queries, 0) << "the connection has ended";
}

TEST_F(DoorTest, PagesOnTheirWayCountAmongTheirReadersBytes) {
  if (::getuid() == 0) GTEST_SKIP() << "root is bound by no share";
  ServerOptions options;
  options.quota.bytes_of_user_max = 250'000;
  open(options);
  const auto fd = connect_to("unix:" + path());
  ASSERT_TRUE(fd.has_value());
  SlowClient slow(io_, *fd);
  std::vector<kj::Promise<void>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(slow.ask());
  pass(100 * kj::MILLISECONDS);
  EXPECT_LE(clients_.queries, 2);
}

TEST_F(DoorTest, AMessageIsBoundedBeforeMemoryIsSetAside) {
  ServerOptions options;
  options.message_words_max = 1024;
  open(options);
  EXPECT_TRUE(is_closed_after({std::uint64_t{1025} << 32}));        // one segment of 1025 words
  EXPECT_TRUE(is_closed_after({std::uint64_t{0xffffffff} << 32}));  // of 32 GiB
  EXPECT_TRUE(is_closed_after({std::uint64_t{512}}));               // 513 segments
  auto one = client();
  EXPECT_TRUE(submit(*one, 1).has_value());
}

TEST(ListenUnix, ALivingSocketIsNotPushedAside) {
  char folder[] = "/tmp/muster-listen-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s";
  const auto first = listen_unix(path, 0600);
  ASSERT_TRUE(first.has_value()) << first.error().text();
  const auto second = listen_unix(path, 0600);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(second.error().message.find(path), std::string::npos);
  const auto client = connect_at_once("unix:" + path);
  ASSERT_TRUE(client.has_value()) << "the first still has its place";
  ::close(*client);
  ::close(*first);
  const auto third = listen_unix(path, 0600);
  EXPECT_TRUE(third.has_value()) << "what nobody listens on is in nobody's way";
  if (third.has_value()) ::close(*third);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
