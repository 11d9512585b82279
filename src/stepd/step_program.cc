// Three parties meet here: the agent (orders in, reports out), srun (streams), and the tasks as
// children. What to do is decided by StepSupervisor; this class has the cgroup, the files and the
// event loop. It ends when the step's end has been kept in the spool or taken by the agent, and
// srun has the last output.
#include "stepd/step_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <map>

#include "env/posix/clocks.h"
#include "env/posix/key_lock.h"
#include "env/posix/process_runner.h"
#include "env/posix/write_whole.h"
#include "records/log_record.h"
#include "records/page_codec.h"
#include "slurm/spool_path.h"
#include "slurm/task_output.h"
#include "stepd/io/srun_link.h"
#include "stepd/output_capture.h"
#include "stepd/step_supervisor.h"
#include "stepd/task_environment.h"
#include "stepd/task_launcher.h"
#include "stepd/task_view.h"
#include "text/words.h"
#include "trials/experiment_text.h"
#include "wire/message_link.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster {
namespace {

constexpr kj::Duration kRedial = 200 * kj::MILLISECONDS;
constexpr kj::Duration kTick = 100 * kj::MILLISECONDS;
constexpr Duration kPause = Duration::seconds(2);
/// How long a task's exit waits for the end of its output.
constexpr Duration kLingeringOutput = Duration::milliseconds(300);
/// How long the end of a step without srun waits for the end of its output when no process of it is
/// left.
constexpr Duration kOrphanedOutput = Duration::seconds(2);
/// How long the end of a step that was ended by order waits for a srun that takes no more output.
constexpr Duration kUnreadOutput = Duration::seconds(10);

/// How long a write of ours waits for whoever reads a FIFO.
constexpr int kReaderTakesMs = 200;

std::string local_time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

class StepProgram final : public StepPort, private kj::TaskSet::ErrorHandler {
 public:
  StepProgram(LaunchStep& launch, const StepdOptions& options, kj::AsyncIoContext& io)
      : launch_(launch),
        options_(options),
        io_(io),
        layout_(step_layout(launch)),
        supervisor_(launch, *this, steady_now()),
        cgroup_(make_cgroup(options.cgroup, cgroup_name(launch))),
        capture_(OutputCapture::make(launch, options)),
        tasks_(*this) {}

  ~StepProgram() noexcept override = default;

  /// `held`: whether its key could be locked.
  void run(const Status& held) {
    tasks_.add(agent_loop());
    // Ten times a second, for what no event announces: processes that are gone from the cgroup,
    // timeouts.
    tasks_.add(reap_loop());
    tasks_.add(tick_loop());
    // The key could not be locked, for want of a disk or otherwise: said as a failure to start.
    if (!held.has_value()) {
      supervisor_.on_started(0, held.error(), steady_now());
      // An srun lets the tasks start itself, when all nodes have dialled in (FrameKind::kStart).
    } else if (launch_.step != nullptr && !launch_.step->get(StepText::kIoAddress).empty()) {
      dial_srun();
    } else {
      start();
    }
    auto paf = kj::newPromiseAndFulfiller<void>();
    finished_ = kj::mv(paf.fulfiller);
    // A step that failed to start is over before anything happens.
    check_end();
    paf.promise.wait(io_.waitScope);
    cgroup_->remove();
    remove_task_view(launch_, options_);
    if (agent_ == nullptr)
      release_cgroup_host(options_.cgroup);  // nobody is there to start another step
  }

  // ---- StepPort ----
  void signal(std::uint16_t number, bool batch_only) override {
    if (batch_only) {
      for (const StartedTask& task : started_.tasks) ::kill(task.pid, number);
      return;
    }
    for (const pid_t pid : cgroup_->processes()) {
      // Not this process, which is in no task's way and has to report.
      if (pid != ::getpid()) ::kill(pid, number);
    }
  }
  void kill_all() override { cgroup_->kill_all(); }
  void suspend(bool is_suspend) override { cgroup_->freeze(is_suspend); }
  void show_stop(StopCall call) override {
    const std::string path = stop_path(options_.spool, launch_.id);
    // Made by whichever comes first, the script or this.
    ::mkdir(run_folder(options_.spool, launch_.id).c_str(), 0755);
    const int fd =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;  // the signal and the deadline are left
    const std::string line = std::string(stop_call_name(call)) + "\n";
    [[maybe_unused]] const int ignored = write_whole(fd, line);
    ::close(fd);
  }
  void notice(const std::string& cause) override {
    if (launch_.node_rank != noticing_node()) return;  // one line for the whole step
    const std::string what =
        launch_.step == nullptr
            ? fmt::format("JOB {}", launch_.id.job.value())
            : fmt::format("STEP {}.{}", launch_.id.job.value(), launch_.id.step);
    const std::string line = fmt::format("slurmstepd: error: *** {} ON {} CANCELLED AT {} {} ***\n",
                                         what, launch_.node_name, local_time_text(), cause);
    write_file(started_.notice_fd, line);
    if (capture_ != nullptr && launch_.step == nullptr) capture_->add(0, LogStream::kStderr, line);
    if (srun_ != nullptr) srun_->send(FrameKind::kNotice, 0, line);
  }
  void report(const FromAgent& message) override {
    last_report_ = records::encode_message(message);
    if (holds_alternative<StepDone>(message)) unkept_ = records::log_record(last_report_);
    // The spool first: an agent that dies with the message finds the end there.
    record_exit();
    if (agent_ != nullptr) agent_->send(last_report_);
  }

 private:
  /// The step's node that says why it is ended. Source: srun(1), SLURM_STEP_KILLED_MSG_NODE_ID.
  std::uint32_t noticing_node() const {
    if (launch_.step == nullptr || launch_.environment == nullptr) return 0;
    const Environment environment = parse_environment(*launch_.environment);
    const auto wanted =
        parse_whole32(get_variable(environment, "SLURM_STEP_KILLED_MSG_NODE_ID").value_or("0"));
    return wanted && *wanted < layout_.size() ? *wanted : 0;
  }
  static std::string cgroup_name(const LaunchStep& launch) {
    return fmt::format("{}_{}.{}.{}", launch.node_name, launch.id.job.value(), launch.id.attempt,
                       launch.id.step);
  }

  // ---- the end is kept in the spool before anybody is told ----
  /// What a full disk refuses is tried again until it is kept, or the agent has it. Where the spool
  /// itself is gone, so is whoever would have looked there.
  void record_exit() {
    if (unkept_.empty()) return;
    const int fd = ::open(options_.exit_log.c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == ENOENT) unkept_.clear();
    if (fd < 0) return;
    if (write_whole(fd, unkept_) == 0) unkept_.clear();
    ::close(fd);
  }

  // ---- the agent ----
  kj::Promise<void> agent_loop() {
    const auto fd = connect_to("unix:" + options_.spool + "/agent.sock");
    if (!fd.has_value()) {
      // The agent may be restarting: it is dialled until it answers.
      return io_.provider->getTimer().afterDelay(kRedial).then([this] { return agent_loop(); });
    }
    agent_ = std::make_unique<MessageLink>(socket_stream(io_, *fd));
    // Whoever listens now may be another agent than the one that was told.
    agent_->send(last_report_.empty() ? records::encode_message(FromAgent(hello())) : last_report_);
    return agent_
        ->run([this](std::string bytes) {
          const auto message = records::decode_to_agent(bytes);
          if (message.has_value()) supervisor_.on_message(*message, steady_now());
          // Proof that we are alive: an agent that hears nothing after this order ends us.
          const bool is_order = message.has_value() && holds_alternative<TerminateJob>(*message);
          if (is_order && !supervisor_.is_ended() && agent_ != nullptr)
            agent_->send(records::encode_message(FromAgent(hello())));
          check_end();
        })
        .then([this] {
          agent_ = nullptr;
          return io_.provider->getTimer().afterDelay(kRedial).then([this] { return agent_loop(); });
        });
  }
  /// Before the tasks run the agent learns who we are from a report of nothing done yet.
  StepRunning hello() const { return StepRunning{launch_.id, launch_.launch_key}; }

  // ---- srun ----
  void dial_srun() {
    // The address is the user's word: what he may not reach, we do not reach for him, and nobody
    // there takes us for root.
    const JobSpec& job = *launch_.job;
    const ProcessUser user{job.user.value(), job.group.value(),
                           std::string(job.get(JobText::kUserName))};
    Result<int> fd = fail(ErrorCode::kUnavailable, "cannot take the user's rights", "");
    [[maybe_unused]] const auto acted = act_as(user, [&] {
      fd = connect_at_once(std::string(launch_.step->get(StepText::kIoAddress)));
      return true;
    });
    if (!fd.has_value()) {
      supervisor_.on_started(
          0, Error{ErrorCode::kInvalidArgument, "cannot reach srun", fd.error().text()},
          steady_now());
      return;
    }
    srun_ = std::make_unique<SrunLink>(socket_stream(io_, *fd));
    srun_->send(FrameKind::kHello, 0,
                fmt::format("{} {}", launch_.step->get(StepText::kIoKey), launch_.node_rank));
    tasks_.add(srun_->run([this](Frame frame) { on_frame(std::move(frame)); }).then([this] {
      on_srun_gone();
    }));
  }
  void on_frame(Frame frame) {
    switch (frame.kind) {
      // A second start would start the tasks twice.
      case FrameKind::kStart:
        if (started_.tasks.empty() && !supervisor_.is_ended()) start();
        break;
      case FrameKind::kInput: feed(std::move(frame)); break;
      case FrameKind::kInputEnd: end_input(frame.task); break;
      case FrameKind::kSignal:
        supervisor_.on_message(
            SignalStep{launch_.id, static_cast<std::uint16_t>(frame.task), false}, steady_now());
        break;
      default: break;
    }
    check_end();
  }
  /// Nobody is left to see the output: the step ends as if cancelled.
  void on_srun_gone() {
    is_srun_gone_ = true;
    if (supervisor_.is_ended() || has_said_done_) {
      check_end();
      // srun leaves when it has been told that the step is done: then nothing was lost.
      return;
    }
    if (started_.tasks.empty()) {
      supervisor_.on_started(
          0, Error{ErrorCode::kInvalidArgument, "srun has gone away before the step started", ""},
          steady_now());
    } else {
      supervisor_.on_message(
          TerminateJob{launch_.id.job, launch_.id.attempt, "", launch_.kill_wait}, steady_now());
    }
    check_end();
  }

  struct TaskEnd {
    std::size_t local;
    ExitStatus exit;
    TimePoint time;
  };
  struct Input {
    kj::Own<kj::AsyncOutputStream> stream;
    kj::Promise<void> tail = kj::READY_NOW;
  };
  /// The bytes of one input frame, until every task that they are for has them or will not read
  /// them any more.
  struct InputChunk {
    std::string bytes;
    std::size_t waiting_tasks = 1;  ///< one for the feeding itself
  };
  void feed(Frame frame) {
    auto chunk = std::make_shared<InputChunk>(InputChunk{std::move(frame.payload)});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool is_for = frame.task == kAllTasks || started_.tasks[i].rank == frame.task;
      if (!is_for || inputs_[i] == nullptr) continue;
      // Counted before anything is written: a task that takes its bytes at once must not make the
      // count zero.
      ++chunk->waiting_tasks;
      Input& input = *inputs_[i];
      // Each task's input is a chain of writes: frames keep their order.
      input.tail = input.tail
                       .then([&input, chunk]() -> kj::Promise<void> {
                         if (input.stream.get() == nullptr) return kj::READY_NOW;
                         return input.stream->write(chunk->bytes.data(), chunk->bytes.size());
                       })
                       // The task reads no more: its input is closed, and the others go on.
                       .catch_([&input](kj::Exception&&) { input.stream = nullptr; })
                       .then([this, chunk] { on_taken(*chunk); })
                       .eagerlyEvaluate(nullptr);
    }
    on_taken(*chunk);
  }
  void on_taken(InputChunk& chunk) {
    // The number of bytes, so that srun sends as much again.
    if (--chunk.waiting_tasks == 0)
      srun_->send(FrameKind::kInputTaken, static_cast<std::uint32_t>(chunk.bytes.size()), "");
  }
  void end_input(std::uint32_t task) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if ((task != kAllTasks && started_.tasks[i].rank != task) || inputs_[i] == nullptr) continue;
      Input* input = inputs_[i].get();
      input->tail = input->tail.then([input] { input->stream = nullptr; })
                        .eagerlyEvaluate([](kj::Exception&&) {});
    }
  }

  // ---- tasks ----
  void start() {
    ExitStatus failed_with;
    auto started = start_tasks(launch_, options_, layout_, cgroup_->enter_file(),
                               capture_ != nullptr, failed_with);
    if (!started.has_value()) {
      // srun shows it and takes these exits for those of the tasks.
      if (srun_ != nullptr) report_failure(started.error(), failed_with);
      supervisor_.on_started(layout_[launch_.node_rank].size(), started.error(), steady_now(),
                             failed_with);
      check_end();
      return;
    }
    started_ = std::move(started).value();
    launch_.script = nullptr;  // it lies in its file, and may be the most of our memory
    open_streams_ = 0;
    for (const StartedTask& task : started_.tasks) {
      watch(task.output, FrameKind::kOutput, task.rank, task.output_file);
      watch(task.error, FrameKind::kErrorOutput, task.rank, task.error_file);
      std::unique_ptr<Input> input;
      if (task.input >= 0) {
        input = std::make_unique<Input>();
        input->stream = io_.lowLevelProvider->wrapOutputFd(
            task.input, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                            kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC);
      }
      inputs_.push_back(std::move(input));
    }
    // Reported before tasks that ended already are reaped.
    supervisor_.on_started(started_.tasks.size(), std::nullopt, steady_now());
    reap();
  }
  void report_failure(const Error& error, ExitStatus status) {
    srun_->send(FrameKind::kNotice, 0, fmt::format("slurmstepd: error: {}\n", error.text()));
    for (const std::uint32_t rank : layout_[launch_.node_rank])
      srun_->send(FrameKind::kTaskExit, rank, std::to_string(status.raw));
  }
  /// Where a task's stream goes: to srun, or into a file of this node, line by line with its label
  /// where that is asked for.
  struct Relay {
    Relay(int fd, const StepSpec* step)
        : file(fd),
          output(step != nullptr && step->is_label, step == nullptr ? 0 : step->task_count) {}
    kj::AutoCloseFd file;
    TaskOutput output;
    char buffer[64 * 1024];
  };
  void watch(int fd, FrameKind kind, std::uint32_t rank, int file) {
    if (fd < 0) return;
    ++open_streams_;
    ++open_streams_of_[rank];
    auto stream =
        io_.lowLevelProvider->wrapInputFd(fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                  kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC);
    auto to = kj::heap<Relay>(file, launch_.step.get());
    auto* raw = stream.get();
    Relay& target = *to;
    tasks_.add(relay(*raw, target, kind, rank)
                   .then([this, rank, &target] {
                     // A line without an end is written with its label as well.
                     write_file(target.file, target.output.finish());
                     --open_streams_;
                     --open_streams_of_[rank];
                     check_end();
                   })
                   .attach(kj::mv(stream), kj::mv(to)));
  }
  kj::Promise<void> relay(kj::AsyncInputStream& stream, Relay& to, FrameKind kind,
                          std::uint32_t rank) {
    return stream.tryRead(to.buffer, 1, sizeof to.buffer)
        .then([this, &stream, &to, kind, rank](std::size_t n) -> kj::Promise<void> {
          if (n == 0) return kj::READY_NOW;
          const std::string_view bytes(to.buffer, n);
          if (capture_ != nullptr) {
            capture_->add(
                rank, kind == FrameKind::kOutput ? LogStream::kStdout : LogStream::kStderr, bytes);
          }
          // To a file as it comes; to srun no faster than it reads.
          if (to.file.get() >= 0) {
            write_file(to.file, to.output.add(rank, bytes));
            return relay(stream, to, kind, rank);
          }
          srun_->send(kind, rank, bytes);
          return srun_->room().then(
              [this, &stream, &to, kind, rank] { return relay(stream, to, kind, rank); });
        });
  }
  /// Files take all or fail; what a full disk does not take is lost, as it is for a task that
  /// writes itself. So is what a FIFO or a terminal does not take soon: nobody else's step stands
  /// still for one who does not read.
  static void write_file(int fd, std::string_view bytes) {
    while (fd >= 0 && !bytes.empty()) {
      pollfd polled{fd, POLLOUT, 0};
      const int ready = ::poll(&polled, 1, kReaderTakesMs);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return;
      // A FIFO that has room at all has room for so much.
      const ssize_t size = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  kj::Promise<void> reap_loop() {
    return io_.unixEventPort.onSignal(SIGCHLD).then([this](siginfo_t&&) {
      reap();
      return reap_loop();
    });
  }
  /// All children that have ended: our tasks, and orphans that came to us as their subreaper.
  void reap() {
    int status = 0;
    rusage used{};
    for (pid_t pid = 0; (pid = ::wait4(-1, &status, WNOHANG, &used)) > 0;) {
      // Orphans count for the step's usage.
      usage_ += usage_of(used);
      for (std::size_t i = 0; i < started_.tasks.size(); ++i) {
        if (started_.tasks[i].pid != pid) continue;
        // As a wait status: a signal in the low bits, an exit code above them.
        const ExitStatus exit{WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) << 8};
        supervisor_.on_task_exit(i, exit, steady_now());
        if (srun_ != nullptr) exits_.push_back({i, exit, steady_now()});
      }
    }
    check_end();
  }
  static Usage usage_of(const rusage& used) {
    const auto us = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
    return Usage{us(used.ru_utime), us(used.ru_stime), static_cast<std::uint64_t>(used.ru_maxrss)};
  }

  kj::Promise<void> tick_loop() {
    return io_.provider->getTimer().afterDelay(kTick).then([this] {
      if (!has_stood_still() && supervisor_.next_tick() <= steady_now())
        supervisor_.on_tick(steady_now());
      check_end();
      return tick_loop();
    });
  }

  /// This process was stopped, or its machine: what was sent to it meanwhile is read before
  /// anything is judged.
  bool has_stood_still() {
    const TimePoint now = steady_now();
    return now - std::exchange(last_tick_, now) > kPause;
  }

  /// The last task's end ends whatever it left running; when that is gone too, the step is over.
  void check_end() {
    flush_exits();
    if (supervisor_.is_tasks_over() && !supervisor_.is_ended()) {
      if (!others().empty()) {
        // Whatever the tasks left running goes with them.
        cgroup_->kill_all();
        reap_quietly();
        if (!others().empty()) return;  // the next tick looks again
      }
      if (is_output_awaited()) return;
      if (capture_ != nullptr) capture_->finish();
      supervisor_.on_empty(usage_, false);
    }
    record_exit();
    if (supervisor_.is_ended()) finish();
  }
  /// A stream that somebody outside of the cgroup holds open need never end: where nobody
  /// watches it, it is waited for a little.
  bool is_output_awaited() {
    if (open_streams_ == 0 || is_srun_gone_) return false;
    // srun decides for how long it listens, unless the step was ended by order.
    if (srun_ != nullptr && !supervisor_.is_ended_by_order()) return true;
    if (!empty_time_.is_set()) empty_time_ = steady_now();
    return steady_now() - empty_time_ < (srun_ != nullptr ? kUnreadOutput : kOrphanedOutput);
  }
  void reap_quietly() {
    int status = 0;
    rusage used{};
    while (::wait4(-1, &status, WNOHANG, &used) > 0) usage_ += usage_of(used);
  }
  std::vector<pid_t> others() const {
    std::vector<pid_t> pids = cgroup_->processes();
    std::erase(pids, ::getpid());
    return pids;
  }
  /// A task's exit is told after its last output; where something that it left behind keeps its
  /// streams open, soon.
  void flush_exits() {
    if (srun_ == nullptr) return;
    const TimePoint now = steady_now();
    std::erase_if(exits_, [&](const TaskEnd& end) {
      const std::uint32_t rank = started_.tasks[end.local].rank;
      // Something else holds the stream: the exit is told without waiting for its end.
      if (open_streams_of_[rank] > 0 && now - end.time < kLingeringOutput) return false;
      srun_->send(FrameKind::kTaskExit, rank, std::to_string(end.exit.raw));
      return true;
    });
  }
  void finish() {
    // The second call: everything has been said.
    if (has_said_done_) {
      if (!is_flushed_) return;
      if (!unkept_.empty()) return send_instead_of_storing();
      if (finished_.get() != nullptr) finished_->fulfill();
      return;
    }
    has_said_done_ = true;
    kj::Promise<void> done = kj::READY_NOW;
    if (srun_ != nullptr) {
      srun_->send(FrameKind::kDone, 0, "");
      done = srun_->flushed();
      // An srun that reads nothing keeps no supervisor of a step that was ended, either.
      kj::Timer& timer = io_.provider->getTimer();
      if (supervisor_.is_ended_by_order())
        done =
            done.exclusiveJoin(timer.afterDelay(kUnreadOutput.microseconds() * kj::MICROSECONDS));
    }
    tasks_.add(done.then([this]() -> kj::Promise<void> {
                     if (agent_ == nullptr)
                       return kj::READY_NOW;  // the agent reads the spool when it is back
                     return agent_->flushed().ignoreResult();
                   })
                   .then([this] {
                     is_flushed_ = true;
                     finish();
                   }));
  }

  /// The spool takes nothing: the end is safe when the agent has it.
  void send_instead_of_storing() {
    if (agent_ == nullptr || is_sending_) return;
    is_sending_ = true;
    tasks_.add(agent_->flushed().then([this](bool is_sent) {
      is_sending_ = false;
      if (is_sent) unkept_.clear();
      if (is_sent) finish();  // else the next tick tells the next agent
    }));
  }

  void taskFailed(kj::Exception&& exception) override {
    if (exception.getType() != kj::Exception::Type::DISCONNECTED) {
      fmt::print(stderr, "muster-stepd: {}\n", exception.getDescription().cStr());
    }
    check_end();
  }

  LaunchStep& launch_;
  const StepdOptions& options_;
  kj::AsyncIoContext& io_;
  RankLayout layout_;
  StepSupervisor supervisor_;
  std::unique_ptr<ProcessCgroup> cgroup_;
  std::unique_ptr<OutputCapture> capture_;
  StartedTasks started_;
  std::vector<std::unique_ptr<Input>> inputs_;
  std::vector<TaskEnd> exits_;  ///< not told to srun yet
  std::size_t open_streams_ = 0;
  TimePoint last_tick_ = steady_now();
  TimePoint empty_time_;  ///< when no process was left, but an open stream
  std::map<std::uint32_t, std::size_t> open_streams_of_;  ///< by rank
  Usage usage_;
  std::string last_report_;
  std::string unkept_;  ///< the step's end while the spool has not taken it
  bool is_srun_gone_ = false;
  bool has_said_done_ = false;
  bool is_flushed_ = false;
  bool is_sending_ = false;
  std::unique_ptr<MessageLink> agent_;
  std::unique_ptr<SrunLink> srun_;
  kj::Own<kj::PromiseFulfiller<void>> finished_;
  kj::TaskSet tasks_;
};

}  // namespace

namespace {

/// Who must leave without a word: the step's cgroup, files and end are another's by now, or the
/// agent's, who finds nobody here and says that the step is lost. nullptr: may start it.
const char* why_not_here(const Status& held, const StepdOptions& options) {
  // It was launched before, and the spool has lost that since.
  if (!held.has_value() && held.error().code == ErrorCode::kAlreadyExists)
    return "it has a supervisor";
  if (steady_now() - options.launch_time > kSupervisorStartsWithin)
    return "this supervisor came up too late";
  return nullptr;
}

}  // namespace

int run_step(LaunchStep launch, const StepdOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  kj::UnixEventPort::captureSignal(SIGCHLD);
  // Held before the time is looked at: who finds nobody here after that time may give the step's
  // place away.
  const Status held = hold_key(supervisors_lock_path(options.spool), supervisor_key(launch.id));
  if (const char* reason = why_not_here(held, options)) {
    const std::string step =
        launch.id.step == kBatchStep ? "batch" : std::to_string(launch.id.step);
    fmt::print(stderr, "muster-stepd: step {}.{} is not started: {}\n", launch.id.job.value(), step,
               reason);
    return 0;
  }
  auto io = kj::setupAsyncIo();
  StepProgram(launch, options, io).run(held);
  return 0;
}

}  // namespace muster
