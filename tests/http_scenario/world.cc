#include "tests/http_scenario/world.h"

#include <algorithm>

#include "text/words.h"

namespace muster::http_scenario {
namespace {

/// More rounds than any chain of answers, plans and decisions at one instant takes.
constexpr int kRoundsMax = 100;
/// What is answered at all is answered long before.
constexpr Duration kAnswerTimeout = Duration::seconds(10);
/// Beyond that time passes at once, and not second by second.
constexpr Duration kLivedMax = Duration::hours(1);

std::string request_bytes(const Asked& asked, const std::string& caller) {
  std::vector<std::pair<std::string, std::string>> headers{{"Host", "localhost"}};
  if (!caller.empty()) headers.emplace_back("Authorization", "Bearer " + caller);
  if (!asked.body.empty()) headers.emplace_back("Content-Type", "application/json");
  if (asked.method != "GET" && asked.method != "HEAD")
    headers.emplace_back("Content-Length", std::to_string(asked.body.size()));
  for (const auto& [name, value] : asked.headers) {
    std::erase_if(headers,
                  [key = lower(name)](const auto& one) { return lower(one.first) == key; });
    if (!value.empty()) headers.emplace_back(name, value);
  }
  std::string bytes = asked.method + " " + asked.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) bytes += name + ": " + value + "\r\n";
  return bytes + "\r\n" + asked.body;
}

Result<Answer> read_answer(const std::string& bytes, bool has_body) {
  std::string rest;
  Answer answer = TRY(parse_answer(bytes, has_body, rest));
  if (!rest.empty()) return fail(ErrorCode::kInvalidArgument, "more than one answer came", rest);
  return answer;
}

}  // namespace

/// One connection to a service: what it hears, and what it says when the request's head has come.
struct World::Visit {
  Visit(kj::Own<kj::AsyncIoStream> end, std::string says)
      : stream(kj::mv(end)), answer(std::move(says)), talk(listen().eagerlyEvaluate(nullptr)) {}

  kj::Promise<void> listen() {
    return stream->tryRead(buffer, 1, sizeof buffer)
        .then([this](std::size_t size) -> kj::Promise<void> {
          heard.append(buffer, size);
          if (size == 0) return kj::READY_NOW;
          const bool has_head = heard.find("\r\n\r\n") != std::string::npos;
          if (!has_head || std::exchange(has_answered, true)) return listen();
          return stream->write(answer.data(), answer.size()).then([this] {
            stream->shutdownWrite();
            return listen();
          });
        })
        .catch_([](kj::Exception&&) {});
  }

  kj::Own<kj::AsyncIoStream> stream;
  std::string answer;
  char buffer[4096];
  std::string heard;
  bool has_answered = false;
  kj::Promise<void> talk;
};

World::World() : nodes_(site_.cluster().state().nodes().all().size()) {
  site_.set_connect([this](const std::string&, std::uint16_t port) { return connect(port); });
  run_until_quiet();
}
World::~World() = default;

kj::Own<kj::AsyncIoStream> World::connect(std::uint16_t port) {
  const auto served = served_.find(port);
  if (served == served_.end()) return {};
  auto pipe = kj::newTwoWayPipe();
  visits_.push_back(std::make_unique<Visit>(kj::mv(pipe.ends[0]), served->second));
  return kj::mv(pipe.ends[1]);
}

std::string World::heard() {
  std::string all;
  for (const auto& visit : visits_) all += std::exchange(visit->heard, {});
  return all;
}

std::optional<Result<Answer>> World::ask(const Asked& asked) {
  return ask_bytes(request_bytes(asked, caller_), asked.method != "HEAD");
}

std::optional<Result<Answer>> World::ask_bytes(std::string_view bytes, bool has_body) {
  auto call = site_.open(bytes, door_);
  const bool is_answered = call->run();
  run_until_quiet();
  if (!is_answered && !call->run()) {
    waiting_ = std::move(call);
    has_waiting_body_ = has_body;
    return std::nullopt;
  }
  return read_answer(call->answer(), has_body);
}

Result<Answer> World::answer_waited_for() {
  if (waiting_ == nullptr) return fail(ErrorCode::kFailedPrecondition, "no request waits");
  const auto call = std::exchange(waiting_, nullptr);
  if (!call->wait(kAnswerTimeout))
    return fail(ErrorCode::kDeadlineExceeded, "the request that waits is not answered");
  run_until_quiet();
  return read_answer(call->answer(), has_waiting_body_);
}

void World::hear(NodeIndex node, const std::vector<FromAgent>& messages) {
  if (nodes_[node.value()].is_away) return;
  for (const FromAgent& message : messages) site_.cluster().hear(node, message);
}

void World::deliver() {
  for (const auto& [node, order] : site_.cluster().new_orders()) {
    if (!nodes_[node.value()].is_away) hear(node, nodes_[node.value()].receive(order));
  }
}

void World::run_until_quiet() {
  for (int i = 0; i < kRoundsMax; ++i) {
    const std::size_t before = site_.cluster().batches();
    site_.cluster().run_until_idle();
    deliver();
    if (site_.cluster().batches() == before) return;
  }
}

void World::advance(Duration span) {
  if (span > kLivedMax) {
    site_.cluster().stand_still(span);
    span = Duration::seconds(1);
  }
  for (; span > Duration(); span = span - Duration::seconds(1)) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) hear(NodeIndex(i), {Heartbeat{}});
    site_.cluster().pass(std::min(span, Duration::seconds(1)));
    run_until_quiet();
  }
}

bool World::end(JobId job, const StepDone& how) {
  bool is_found = false;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const KnownStep* running = nodes_[i].find(job, kBatchStep);
    if (running == nullptr) continue;
    is_found = true;
    StepDone done = how;
    done.id = running->id;
    hear(NodeIndex(i), nodes_[i].end(std::move(done)));
  }
  run_until_quiet();
  return is_found;
}

Status World::print(TrialId trial, LogFragment line) {
  line.owner = {LogOwnerKind::kTrial, trial.value()};
  line.bytes += '\n';
  line.received_time = site_.cluster().now();
  std::uint64_t& offset = written_[line.id()];
  line.offset = offset;
  offset += line.bytes.size();
  TRY(site_.logs().append({std::move(line)}));
  return {};
}

Result<std::string> World::make_token(const std::string& user, Duration life) {
  const TimePoint now = site_.cluster().now();
  const Identity& who = user == "bob"    ? testing::kBob
                        : user == "root" ? testing::kRoot
                                         : testing::kAlice;
  IssueToken question{{who.user, who.group, user}, TokenKind::kMade, now + life, now};
  const auto made = answer(site_.tokens(), TokenQuestion(std::move(question)));
  if (!made.has_value()) return fail(made.error());
  return std::get<std::string>(*made);
}

scenario::FakeNode* World::node(const std::string& name) {
  const auto& all = state().nodes().all();
  const auto found =
      std::ranges::find_if(all, [&](const Node& one) { return one.config.name == name; });
  return found == all.end() ? nullptr : &nodes_[static_cast<std::size_t>(found - all.begin())];
}

}  // namespace muster::http_scenario
