// How long a durable submission takes while the planner plans a deep queue and many people watch
// theirs. Imitates a busy afternoon: a full cluster, a queue of some 200 kinds of jobs that is
// planned again after each submission, one client submitting at a steady rate, and as many `watch
// -n 2 squeue --me` as told, each over a connection that stays open and under another user's name.
//
//   latency_bench ADDRESS [--queue N] [--lanes N] [--pollers N] [--period-ms N] [--rate N]
//   [--seconds N] [--beside COMMAND]
//
// --beside runs a shell command in a process of its own while submissions are measured, and says
// how long it took.
//
// Needs a running controller whose nodes are full, so that what is submitted waits. Pollers are
// processes, because the client's query is a call that waits. Checks that every submission got an
// id, that every answered poll was whole, and that every poller polled; prints one line of
// key=value.
#include <fmt/format.h>
#include <kj/async-io.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "wire/controller_client.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSteadySeconds = 60;

struct Options {
  std::string address;
  int queue = 10'000;
  int lanes = 200;
  int pollers = 0;
  int period_ms = 2000;
  int rate = 100;  ///< submissions a second
  int seconds = 10;
  std::string beside;  ///< a shell command; empty: none
};

/// What the pollers report, in memory that all of them share. Each writes its own entry.
struct PollerResult {
  volatile std::uint32_t polls = 0;  ///< read by the parent while it rises
  std::uint32_t failures = 0;
  double worst_ms = 0;
};

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// One of `lanes` requests: CPUs and a time limit that no free node has.
SubmitJob request(const Options& options, int number) {
  auto spec = std::make_shared<JobSpec>();
  const int lane = number % options.lanes;
  spec->text.set(JobText::kName, "busy" + std::to_string(number));
  spec->text.set(JobText::kWorkDir, "/tmp");
  spec->text.set(JobText::kStdOut, "/dev/null");
  spec->text.set(JobText::kCommand, "/tmp/bench.sh");
  spec->text.set(JobText::kSubmitLine, "sbatch /tmp/bench.sh");
  spec->request.edit()->cpus_per_task = static_cast<std::uint32_t>(1 + lane % 8);
  spec->time_limit = Duration::seconds(600 + 60 * (lane / 8));
  SubmitJob submit;
  submit.script = std::make_shared<const std::string>(fmt::format("#!/bin/sh\n# {}\n", number) +
                                                      std::string(2000, '#') + "\n");
  submit.environment = std::make_shared<const std::string>(std::string(3000, 'v'));
  submit.spec = std::move(spec);
  return submit;
}

[[noreturn]] void die(const std::string& text) {
  fmt::print(stderr, "latency_bench: {}\n", text);
  std::exit(1);
}

/// Submits `count` jobs, 64 at once.
class Filler {
 public:
  Filler(ControllerClient& client, const Options& options, int count)
      : client_(client), options_(options), count_(count) {}
  void run(kj::WaitScope& scope) {
    auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(64);
    for (int i = 0; i < 64; ++i) lanes.add(lane());
    kj::joinPromises(lanes.finish()).wait(scope);
  }

 private:
  kj::Promise<void> lane() {
    if (next_ == count_) return kj::READY_NOW;
    return client_.submit_async({request(options_, next_++)}, fresh_request_id())
        .then([this](std::vector<Reply> replies) {
          if (replies.size() != 1 || replies[0].error || replies[0].job.value() == 0)
            die("a submission was refused");
          return lane();
        });
  }
  ControllerClient& client_;
  const Options& options_;
  int count_;
  int next_ = 0;
};

/// A person who looks at their own jobs every so often, from a moment of their own on.
[[noreturn]] void poll(const Options& options, int index, PollerResult& result) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  [[maybe_unused]] const int ignored =
      ::nice(10);  // in life they are on other machines and take no CPU from the submitter
  auto io = kj::setupAsyncIo();
  auto client = ControllerClient::connect(io, options.address);
  if (!client.has_value()) {
    ++result.failures;
    ::_exit(1);
  }
  Query query;
  query.kind = QueryKind::kJobs;
  query.detail = QueryDetail::kBrief;
  query.filter.is_active_only = true;
  query.filter.uids = {100'000U + static_cast<std::uint32_t>(index)};
  auto& timer = io.provider->getTimer();
  timer
      .afterDelay(static_cast<std::int64_t>(options.period_ms) * index / options.pollers *
                  kj::MILLISECONDS)
      .wait(io.waitScope);
  for (;;) {
    const auto begin = Clock::now();
    int pages = 0;
    const Status asked = (*client)->query(query, [&pages](const Page&) { ++pages; });
    if (!asked.has_value() || pages == 0) ++result.failures;
    result.worst_ms = std::max(result.worst_ms, milliseconds_since(begin));
    result.polls = result.polls + 1;
    const auto rest = options.period_ms - static_cast<std::int64_t>(milliseconds_since(begin));
    timer.afterDelay(std::max<std::int64_t>(1, rest) * kj::MILLISECONDS).wait(io.waitScope);
  }
}

class Pollers {
 public:
  explicit Pollers(const Options& options) : options_(options) {
    const std::size_t bytes =
        std::max<std::size_t>(1, static_cast<std::size_t>(options.pollers)) * sizeof(PollerResult);
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    results_ = static_cast<PollerResult*>(memory);
    for (int i = 0; i < options.pollers; ++i) {
      const pid_t child = ::fork();
      if (child < 0) die("fork");
      if (child == 0) poll(options, i, results_[i]);
      children_.push_back(child);
    }
  }
  /// True once each has been answered twice: the rush of their coming is over.
  bool is_steady() const {
    return std::all_of(results_, results_ + options_.pollers,
                       [](const PollerResult& result) { return result.polls >= 2; });
  }
  /// Forgets the slowest answers so far, which came from that rush.
  void begin() {
    for (int i = 0; i < options_.pollers; ++i) results_[i].worst_ms = 0;
  }
  /// Ends them; the sums of what they saw.
  PollerResult finish() {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    PollerResult sum;
    for (int i = 0; i < options_.pollers; ++i) {
      if (results_[i].polls == 0) die(fmt::format("poller {} never got an answer", i));
      sum.polls = sum.polls + results_[i].polls;
      sum.failures += results_[i].failures;
      sum.worst_ms = std::max(sum.worst_ms, results_[i].worst_ms);
    }
    if (sum.failures > 0) die(fmt::format("{} polls failed", sum.failures));
    return sum;
  }

 private:
  const Options& options_;
  PollerResult* results_ = nullptr;
  std::vector<pid_t> children_;
};

/// A command that runs while submissions are measured; ended with this object at the latest.
class Beside {
 public:
  explicit Beside(const std::string& command) {
    if (command.empty()) return;
    child_ = ::fork();
    if (child_ < 0) die("fork");
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ~Beside() {
    if (child_ <= 0 || has_ended_) return;
    ::kill(-child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  /// To be asked often: records when it has ended. A failure ends the measurement.
  void look() {
    int status = 0;
    if (child_ <= 0 || has_ended_ || ::waitpid(child_, &status, WNOHANG) != child_) return;
    if (status != 0) die(fmt::format("the command beside failed with status {}", status));
    has_ended_ = true;
    took_ms_ = milliseconds_since(begin_);
  }
  std::string text() const {
    if (child_ <= 0) return "";
    return has_ended_ ? fmt::format(" beside_ms={:.0f}", took_ms_) : " beside_ms=unfinished";
  }

 private:
  Clock::time_point begin_ = Clock::now();
  pid_t child_ = 0;
  bool has_ended_ = false;
  double took_ms_ = 0;
};

/// Milliseconds of each submission, one at a time, at a steady rate.
std::vector<double> submit_steadily(kj::AsyncIoContext& io, ControllerClient& client,
                                    const Options& options, Beside& beside) {
  std::vector<double> times;
  const auto begin = Clock::now();
  const int count = options.rate * options.seconds;
  // A controller that cannot keep up is not waited for: what it managed in three times the span
  // shows it.
  for (int i = 0; i < count && milliseconds_since(begin) < 3000.0 * options.seconds; ++i) {
    const auto due = begin + std::chrono::microseconds(1'000'000LL * i / options.rate);
    const auto early =
        std::chrono::duration_cast<std::chrono::microseconds>(due - Clock::now()).count();
    if (early > 0) io.provider->getTimer().afterDelay(early * kj::MICROSECONDS).wait(io.waitScope);
    const auto sent = Clock::now();
    auto replies = client.submit({request(options, options.queue + i)}, fresh_request_id());
    if (!replies.has_value()) die(replies.error().text());
    if (replies->size() != 1 || replies->front().error || replies->front().job.value() == 0)
      die("a submission was refused");
    times.push_back(milliseconds_since(sent));
    beside.look();
  }
  return times;
}

/// The pollers are forked before this process has an event loop of its own.
int measure(const Options& options) {
  {
    auto io = kj::setupAsyncIo();
    auto client = ControllerClient::connect(io, options.address);
    if (!client.has_value()) die(client.error().text());
    Filler(**client, options, options.queue).run(io.waitScope);
  }
  Pollers pollers(options);
  auto io = kj::setupAsyncIo();
  auto client = ControllerClient::connect(io, options.address);
  if (!client.has_value()) die(client.error().text());
  for (int waited = 0; waited == 0 || !pollers.is_steady(); ++waited) {
    if (waited == 4 * kSteadySeconds)
      die(fmt::format("not all pollers were answered within {} s", kSteadySeconds));
    io.provider->getTimer().afterDelay(250 * kj::MILLISECONDS).wait(io.waitScope);
  }
  pollers.begin();
  Beside beside(options.beside);
  std::vector<double> times = submit_steadily(io, **client, options, beside);
  const PollerResult polled = pollers.finish();
  std::sort(times.begin(), times.end());
  const auto at = [&times](double share) {
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  fmt::print(
      "submissions={} p50_ms={:.3f} p99_ms={:.3f} worst_ms={:.3f} polls={} "
      "worst_poll_ms={:.1f}{}\n",
      times.size(), at(0.5), at(0.99), times.back(), polled.polls, polled.worst_ms, beside.text());
  return 0;
}

int main_of(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr,
               "usage: latency_bench ADDRESS [--queue N] [--lanes N] [--pollers N] [--period-ms "
               "N] [--rate N] [--seconds N] "
               "[--beside COMMAND]\n");
    return 2;
  }
  Options options;
  options.address = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--queue") == 0) options.queue = value;
    if (std::strcmp(argv[i], "--lanes") == 0) options.lanes = std::max(1, value);
    if (std::strcmp(argv[i], "--pollers") == 0) options.pollers = value;
    if (std::strcmp(argv[i], "--period-ms") == 0) options.period_ms = std::max(1, value);
    if (std::strcmp(argv[i], "--rate") == 0) options.rate = std::max(1, value);
    if (std::strcmp(argv[i], "--beside") == 0) options.beside = argv[i + 1];
    if (std::strcmp(argv[i], "--seconds") == 0) options.seconds = std::max(1, value);
  }
  return measure(options);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::main_of(argc, argv); }
