// A step as srun sees it: frames of supervisors, signals of its user and the controller's word of
// the end come together here. The exit code is what the tasks' ends give, and a failure that no
// task reports replaces only a 0.

#include "cli/slurm/step_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <kj/async-unix.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/slurm/allocation.h"
#include "env/posix/open_files.h"
#include "env/posix/process_runner.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// Ends that come within this time of each other are told in one line.
constexpr auto kReportPause = 20 * kj::MILLISECONDS;
/// How long after the controller knows the end supervisors may still deliver output.
constexpr auto kLastOutput = 2 * kj::SECONDS;
/// Descriptors that lack for longer do not come free of themselves.
constexpr auto kShortageMax = 3 * kj::SECONDS;
/// What srun itself has open beside a connection for each node.
constexpr unsigned kOwnFiles = 16;
constexpr Duration kSecondInterrupt = Duration::seconds(1);
/// What an end may take beyond KillWait. Source: Slurm 22.05.8.
constexpr Duration kEndMargin = Duration::seconds(2);
constexpr std::size_t kInputChunk = 64 * 1024;
constexpr std::uint8_t kAppend = 2;  ///< StepSpec::open_mode

/// All of it, however slow the reader is. The error's number when it cannot be; 0: done.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    // Another process may have made the descriptor non-blocking, as it shares the open file.
    if (size < 0 && errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (size < 0 && errno != EINTR) {
      return errno;
    }
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

bool contains(const std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

// The mask can only be read by setting it.
unsigned file_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

/// A terminal that another process group has would stop us when we read it.
bool may_read_input() { return ::isatty(0) == 0 || ::tcgetpgrp(0) == ::getpgrp(); }

/// Files and /dev/null are always ready and cannot be observed.
bool is_observable(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return false;
  return S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode) || ::isatty(fd) != 0;
}

}  // namespace

const std::vector<int>& step_signals() {
  static const std::vector<int> kSignals = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                            SIGUSR1, SIGUSR2, SIGALRM};
  return kSignals;
}

// Labels are as wide as the highest rank: made anew when the step's size is known.
StepWatch::StepWatch(const Console& console, Session& session, const SubmitOptions& options)
    : console_(console),
      session_(session),
      options_(options),
      output_(options.step.is_label, 1),
      errors_(options.step.is_label, 1),
      report_(1),
      tasks_(*this) {}

Result<std::unique_ptr<StepWatch>> StepWatch::create(const Console& console, Session& session,
                                                     const SubmitOptions& options) {
  std::unique_ptr<StepWatch> watch(new StepWatch(console, session, options));
  StepWatch* self = watch.get();
  StepEvents events;
  events.joined = [self](std::uint32_t) { self->start_if_complete(); };
  // The watch owns the server: it outlives these calls.
  events.frame = [self](std::uint32_t node, Frame frame) {
    self->on_frame(node, std::move(frame));
  };
  events.lost = [self](std::uint32_t node) { self->on_lost(node); };
  events.shortage = [self](int error) { self->on_shortage(error); };
  watch->server_ = TRY(StepServer::create(session.io(), std::move(events)));
  return watch;
}

void StepWatch::taskFailed(kj::Exception&& exception) {
  console_.error(fmt::format("step {}: {}", step_name(), exception.getDescription().cStr()));
}

std::string StepWatch::step_name() const {
  return place_ ? fmt::format("StepId={}.{}", place_->id.job.value(), place_->id.step)
                : std::string("the step");
}
std::string StepWatch::host(std::uint32_t node) const {
  return place_ && node < place_->hosts.size() ? place_->hosts[node] : fmt::format("node{}", node);
}

int StepWatch::run(StepLocation place, const StepSpec& spec) {
  auto& io = session_.io();
  place_ = std::move(place);
  output_ = TaskOutput(options_.step.is_label, place_->task_count);
  errors_ = TaskOutput(options_.step.is_label, place_->task_count);
  // Before anything runs: a file that cannot be written must not lose what tasks write.
  report_ = TaskReport(place_->task_count, options_.is_exit_report_brief);
  if (const Status opened = open_all(spec); !opened.has_value()) {
    console_.error(opened.error());
    give_up(console_.exit_error());
    return *forced_exit_;
  }
  // It came before it was known which step to end.
  if (lasting_shortage_ != 0 && server_->is_short()) {
    give_up_for_shortage();
    return *forced_exit_;
  }
  // Standard input from a file is opened by the supervisors.
  has_input_ = spec.get(StepText::kStdIn).empty();
  // Below 0: neither option nor variable, so the cluster's KillOnBadExit. Source: srun(1),
  // --kill-on-bad-exit.
  kills_on_bad_exit_ =
      spec.kill_on_bad_exit < 0 ? session_.cluster().kills_on_bad_exit : spec.kill_on_bad_exit == 1;
  wait_seconds_ = spec.wait_seconds;
  // Only one task reads it.
  if (const auto task = parse_whole32(spec.get(StepText::kInputTask))) input_task_ = *task;
  auto paf = kj::newPromiseAndFulfiller<void>();
  finished_ = kj::mv(paf.fulfiller);
  tasks_.add(signal_loop());
  // Known of two sides: supervisors say that they are done, the controller that the step ended.
  const WaitFor end{place_->id, WaitUntil::kStepEnded, place_->launch_key};
  tasks_.add(wait_until(io, session_.cluster().controller, end).then([this](WaitAnswer&& answer) {
    on_step_ended(answer);
  }));
  start_if_complete();
  paf.promise.wait(io.waitScope);
  // A last line without a line break.
  show(output_fd_, output_.finish());
  show(error_fd_, errors_.finish());
  report_ends();
  return forced_exit_ && report_.exit_code() == 0 ? *forced_exit_ : report_.exit_code();
}

// ---- output ----

/// What this end of the step needs. Errors: too few descriptors for its nodes; as open_files.
Status StepWatch::open_all(const StepSpec& step) {
  TRY(check_open_files(kOwnFiles + static_cast<unsigned>(place_->hosts.size())));
  return open_files(step);
}

/// Opens what one file gathers of all tasks. Errors: the file's, with its name.
Status StepWatch::open_files(const StepSpec& step) {
  const auto open_one = [&](StepText pattern) -> Result<int> {
    std::string path = expand_file_pattern(step.get(pattern), place_->names);
    // Relative to the step's folder, which need not be srun's.
    if (path.front() != '/') path = fmt::format("{}/{}", step.get(StepText::kWorkDir), path);
    // Truncated once, here: tasks append to what is open.
    const int mode = step.open_mode == kAppend ? 0 : O_TRUNC;
    // Slurm creates the folders of output files.
    const Status made = make_folders_as(ProcessUser{::getuid(), ::getgid(), ""},
                                        path.substr(0, path.rfind('/')), 0777 & ~file_mask());
    // Without waiting: a FIFO that nobody reads would keep every signal waiting, too.
    const int fd = made.has_value()
                       ? ::open(path.c_str(),
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | mode, 0666)
                       : -1;
    if (fd >= 0) {
      // Blocking from now on: write_all waits for a slow disk.
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
      return fd;
    }
    const char* stream = pattern == StepText::kStdOut ? "stdout" : "stderr";
    std::error_code no_matter;
    // ENXIO: opened for writing without a reader, or a socket.
    const char* why = errno != ENXIO ? std::strerror(errno)
                      : std::filesystem::is_socket(path, no_matter)
                          ? "it is a socket, which cannot be opened"
                          : "it is a FIFO that nobody reads: start its other end first";
    return muster::fail(ErrorCode::kNotFound,
                        fmt::format("Could not open {} file {}", stream, path),
                        made.has_value() ? why : made.error().detail);
  };
  if (is_gathered(step.get(StepText::kStdOut))) {
    output_file_ = kj::AutoCloseFd(TRY(open_one(StepText::kStdOut)));
    output_fd_ = output_file_.get();
  }
  // Errors go where output goes, unless they were sent elsewhere. Source: srun(1), --error.
  if (step.get(StepText::kStdErr).empty() && step.get(StepText::kErrorTask).empty() &&
      output_fd_ != 1)
    error_fd_ = output_fd_;
  // One name, one descriptor: two would write over each other.
  if (step.get(StepText::kStdErr) == step.get(StepText::kStdOut) && output_fd_ != 1) {
    error_fd_ = output_fd_;
  } else if (is_gathered(step.get(StepText::kStdErr))) {
    error_file_ = kj::AutoCloseFd(TRY(open_one(StepText::kStdErr)));
    error_fd_ = error_file_.get();
  }
  return {};
}

void StepWatch::show(int fd, std::string_view bytes) {
  if (bytes.empty()) return;
  // Once a descriptor has failed nothing more is tried.
  if (std::ranges::find(unwritable_, fd) != unwritable_.end()) return drop(bytes.size());
  if (const int error = write_all(fd, bytes); error != 0) on_unwritable(fd, error);
}

/// The tasks' work goes on without a reader, as under Slurm; tasks that do nothing but write are
/// told as in a pipeline.
void StepWatch::drop(std::size_t bytes) {
  // 64 MiB: a task that only writes would otherwise run for ever.
  constexpr std::uint64_t kDroppedMax = 64 << 20;
  const bool was_within = dropped_ <= kDroppedMax;
  dropped_ += bytes;
  if (!is_unread_ || !was_within || dropped_ <= kDroppedMax) return;
  console_.say("nobody reads what the tasks write: they are sent SIGPIPE");
  server_->send_all(FrameKind::kSignal, SIGPIPE, "");
}

/// What nobody reads any more is dropped. A file that takes no more is told of once.
void StepWatch::on_unwritable(int fd, int error) {
  unwritable_.push_back(fd);
  // EPIPE is a reader that left, as head(1) does: no failure.
  is_unread_ = is_unread_ || error == EPIPE;
  if (error != EPIPE)
    console_.error(fmt::format("cannot write the step's output: {}", std::strerror(error)));
}

/// Before anything runs.
void StepWatch::give_up(int exit_code) {
  forced_exit_ = exit_code;
  const CancelStep cancel{place_->id, SIGKILL, {}, place_->launch_key};
  // Unheard, it is ended by the end of our connections.
  // Without a loop that waits for it the answer is waited for here.
  if (finished_.get() == nullptr) {
    [[maybe_unused]] const bool is_sent = submit_when_room(session_, cancel);
    return;
  }
  tasks_.add(
      submit_until_answered(session_.io(), session_.cluster().controller, cancel).ignoreResult());
  finished_->fulfill();
}

/// A step starts whole: only when every node's supervisor is there are the tasks let go. Of one
/// that is given up none is, whoever comes until its end is heard of.
void StepWatch::start_if_complete() {
  // It may be decided before run() has said what the step is.
  if (is_started_ || forced_exit_) return;
  if (!place_ || server_->joined_count() < place_->hosts.size()) return;
  is_started_ = true;
  // The socket's name is of no more use.
  server_->hide();
  server_->send_all(FrameKind::kStart, 0, "");
  // In the background a read would stop the process: tasks then see the end of input.
  if (!has_input_ || !may_read_input()) {
    server_->send_all(FrameKind::kInputEnd, input_task_, "");
  } else {
    tasks_.add(input_loop());
  }
}

void StepWatch::on_frame(std::uint32_t node, Frame frame) {
  switch (frame.kind) {
    case FrameKind::kOutput: show(output_fd_, output_.add(frame.task, frame.payload)); break;
    case FrameKind::kErrorOutput: show(error_fd_, errors_.add(frame.task, frame.payload)); break;
    case FrameKind::kNotice:
      show(2, frame.payload);
      // The supervisor's notice of a cancelled step.
      if (frame.payload.find(" CANCELLED AT ") != std::string::npos) report_abort();
      break;
    case FrameKind::kTaskExit: on_task_exit(node, frame); break;
    case FrameKind::kDone:
      // A supervisor may say so twice, after a connection was made anew.
      if (!contains(done_, node)) done_.push_back(node);
      server_->close(node);
      finish_if_done();
      break;
    default: break;
  }
}

void StepWatch::on_task_exit(std::uint32_t node, const Frame& frame) {
  const auto words = split_words(frame.payload, ' ');
  TaskEnd end;
  // wait(2)'s number; anything else counts as 0.
  if (!words.empty())
    end.status.raw = static_cast<std::int32_t>(parse_whole32(words[0]).value_or(0));
  end.is_out_of_memory = words.size() > 1 && words[1] == "oom";
  report_.add(frame.task, host(node), end);
  report_ends_soon();
  const bool is_bad = !end.status.is_success() || end.is_out_of_memory;
  // Once: the ends that follow from it are not reasons.
  if (is_bad && kills_on_bad_exit_ && !is_terminating_) {
    report_ends();
    say_terminating();
    terminate();
  }
  if (!is_first_end_seen_) after_first_end();
}

/// -W: the others get so long.
void StepWatch::after_first_end() {
  is_first_end_seen_ = true;
  if (wait_seconds_ == 0) return;
  tasks_.add(
      session_.io().provider->getTimer().afterDelay(wait_seconds_ * kj::SECONDS).then([this] {
        // They have all ended, or are being ended already.
        if (is_terminating_ || report_.ended_count() == 0) return;
        console_.say(fmt::format("First task exited {}s ago", wait_seconds_));
        for (const std::string& line : report_.status_lines())
          console_.say(fmt::format("{} {}", step_name(), line));
        say_terminating();
        kill_at_once();
      }));
}

void StepWatch::report_ends() {
  for (const std::string& line : report_.drain_lines()) console_.error(line);
}

void StepWatch::report_ends_soon() {
  if (is_report_pending_ || !report_.has_lines()) return;
  is_report_pending_ = true;
  tasks_.add(session_.io().provider->getTimer().afterDelay(kReportPause).then([this] {
    is_report_pending_ = false;
    report_ends();
  }));
}

void StepWatch::on_lost(std::uint32_t node) {
  if (contains(done_, node) || contains(lost_, node)) return;
  lost_.push_back(node);  // the controller will tell what became of it
}

/// Most shortages pass, and who waits meanwhile is let in then. The step cannot begin without one
/// of its supervisors: behind a shortage that lasts it would hang.
void StepWatch::on_shortage(int error) {
  if (is_started_) return;
  const std::size_t shortage = ++shortages_;
  tasks_.add(
      session_.io().provider->getTimer().afterDelay(kShortageMax).then([this, shortage, error] {
        if (is_started_ || shortage != shortages_ || !server_->is_short()) return;
        lasting_shortage_ = error;
        // Else run() looks at it.
        if (place_) give_up_for_shortage();  // else as soon as it is known what to give up
      }));
}

void StepWatch::give_up_for_shortage() {
  console_.error(
      fmt::format("cannot let in a node of {}: {}", step_name(), std::strerror(lasting_shortage_)));
  if (lasting_shortage_ == EMFILE) console_.error("raise the limit of open files: ulimit -n");
  give_up(console_.exit_error());
}

void StepWatch::finish_if_done() {
  // All are done: nothing more will come.
  if (place_ && done_.size() >= place_->hosts.size() && finished_.get() != nullptr)
    finished_->fulfill();
}

/// The controller knows the end. Supervisors that are there still deliver; of those that never came
/// this is all there is.
void StepWatch::on_step_ended(const WaitAnswer& answer) {
  std::string detail = answer.step    ? answer.step->detail
                       : answer.job   ? answer.job->detail
                       : answer.error ? answer.error->text()
                                      : "";
  // A step that failed without a task's failure, such as a launch that was refused.
  const bool is_failed = !answer.step || !answer.step->exit.is_success() || !detail.empty();
  const bool is_gone = answer.error.has_value();
  const bool never_started = !is_started_;
  // Supervisors that were never there have no output to wait for.
  const auto last_output = never_started ? 50 * kj::MILLISECONDS : kLastOutput;
  tasks_.add(session_.io()
                 .provider->getTimer()
                 .afterDelay(last_output)
                 .then([this, is_failed, is_gone, never_started, detail] {
                   // Replaces only a 0 of the tasks.
                   if (is_failed) forced_exit_ = 1;
                   if (never_started) {
                     console_.error(fmt::format("task launch for {} failed{}{}", step_name(),
                                                detail.empty() ? "" : ": ", detail));
                     console_.error("Application launch failed");
                     forced_exit_ = 1;
                   } else if (!lost_.empty()) {
                     std::string names;
                     for (const std::uint32_t node : lost_)
                       names += (names.empty() ? "" : ",") + host(node);
                     console_.error(fmt::format("Node failure on {}{}{}", names,
                                                detail.empty() ? "" : ": ", detail));
                   } else if (is_gone) {
                     console_.error(fmt::format("{}: {}", step_name(), detail));
                   }
                   if (finished_.get() != nullptr) finished_->fulfill();
                 }));
}

// ---- signals ----

void StepWatch::say_terminating() {
  console_.say(fmt::format("launch/slurm: _step_signal: Terminating {}", step_name()));
}

/// -W gives no notice, unlike -K. Source: Slurm 22.05.8.
void StepWatch::kill_at_once() {
  is_terminating_ = true;
  server_->send_all(FrameKind::kSignal, SIGKILL, "");
}

/// SIGTERM, then SIGKILL for what is left.
void StepWatch::terminate() {
  if (is_terminating_) return;
  is_terminating_ = true;
  // A stopped task would not see SIGTERM.
  server_->send_all(FrameKind::kSignal, SIGCONT, "");
  server_->send_all(FrameKind::kSignal, SIGTERM, "");
  const auto kill_wait = session_.cluster().kill_wait.microseconds() * kj::MICROSECONDS;
  tasks_.add(session_.io().provider->getTimer().afterDelay(kill_wait).then(
      [this] { server_->send_all(FrameKind::kSignal, SIGKILL, ""); }));
}

/// Once, however often and by whomever the step is ended.
void StepWatch::report_abort() {
  if (std::exchange(is_abort_reported_, true)) return;
  const std::int64_t seconds = (session_.cluster().kill_wait + kEndMargin).seconds();
  console_.say(
      fmt::format("Job step aborted: Waiting up to {} seconds for job step to finish.", seconds));
}

kj::Promise<void> StepWatch::signal_loop() {
  return any_signal(session_.io().unixEventPort, step_signals()).then([this](int number) {
    on_signal(number);
    return signal_loop();
  });
}

void StepWatch::on_signal(int number) {
  if (!is_started_) {  // nothing runs yet: the step is given up
    give_up(1);
    return;
  }
  if (number == SIGINT) {
    on_interrupt();
    return;
  }
  // Source: srun(1), --ignore-signals.
  const bool is_ignored =
      std::ranges::find(options_.ignored_signals, number) != options_.ignored_signals.end();
  if (is_ignored) return;
  // Slurm treats these three alike: tasks get no time.
  if (number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
    console_.say("forcing job termination");
    report_abort();
    number = SIGKILL;
  }
  server_->send_all(FrameKind::kSignal, static_cast<std::uint32_t>(number), "");
}

void StepWatch::on_interrupt() {
  const TimePoint now = clock_now();
  // Source: srun(1), SIGNALS AND ESCAPE SEQUENCES.
  const bool is_second = now - last_interrupt_ < kSecondInterrupt;
  last_interrupt_ = now;
  // -X: the tasks have the first one.
  if (!is_second && options_.is_disable_status && !options_.is_quit_on_interrupt) {
    console_.say(fmt::format("sending Ctrl-C to {}", step_name()));
    server_->send_all(FrameKind::kSignal, SIGINT, "");
    return;
  }
  if (!is_second && !options_.is_quit_on_interrupt) {
    console_.say("interrupt (one more within 1 sec to abort)");
    for (const std::string& line : report_.status_lines())
      console_.say(fmt::format("{} {}", step_name(), line));
    return;
  }
  // A third one waits for nothing.
  if (is_terminating_) {
    server_->send_all(FrameKind::kSignal, SIGKILL, "");
    return;
  }
  console_.say(fmt::format("sending Ctrl-C to {}", step_name()));
  server_->send_all(FrameKind::kSignal, SIGINT, "");
  report_abort();
  terminate();
}

// ---- standard input ----

void StepWatch::send_input(std::string_view bytes) {
  // No bytes: the end.
  const FrameKind kind = bytes.empty() ? FrameKind::kInputEnd : FrameKind::kInput;
  server_->send_all(kind, input_task_, bytes);
}

/// Reads what is there, sends it, waits for room. Never makes standard input non-blocking: it is
/// shared with the shell.
kj::Promise<void> StepWatch::input_loop() {
  kj::Promise<void> ready = kj::READY_NOW;
  if (is_observable(0)) {
    auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
        session_.io().unixEventPort, 0, kj::UnixEventPort::FdObserver::OBSERVE_READ);
    auto readable = observer->whenBecomesReadable();
    ready = readable.attach(kj::mv(observer));
  }
  // For files and /dev/null at once, one chunk for each turn of the loop.
  return ready.then([this]() -> kj::Promise<void> {
    std::string chunk(kInputChunk, '\0');
    const ssize_t size = ::read(0, chunk.data(), chunk.size());
    // Somebody else read it first, or a signal came.
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return input_loop();
    chunk.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    send_input(chunk);
    if (chunk.empty()) return kj::READY_NOW;
    // Not before every supervisor has taken enough of the last.
    return server_->room().then([this] { return input_loop(); });
  });
}

}  // namespace muster::cli
