#include "cli/step_hub.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <kj/async-unix.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "codec/array_text.h"
#include "codec/hostlist.h"
#include "codec/signal_text.h"
#include "codec/words.h"
#include "wire/socket.h"

namespace muster::cli {
namespace {

/// Input that may wait for slow tasks.
constexpr std::size_t kQueueMax = 4U << 20;
constexpr std::size_t kInputChunk = 64 * 1024;
constexpr kj::Duration kReportAfter = 5 * kj::MILLISECONDS;

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
      if (errno == EAGAIN) ::usleep(1000);
      continue;
    }
    if (n <= 0) return;  // nobody reads: the tasks go on
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string random_text() {
  unsigned char bytes[16];
  [[maybe_unused]] const auto ignored = ::getrandom(bytes, sizeof bytes, 0);
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string ranks_range(const std::vector<std::uint32_t>& ranks) {
  Bitmap set;
  for (const std::uint32_t rank : ranks) set.set(rank);
  return array_indices_text(set);
}

}  // namespace

struct StepHub::Node {
  explicit Node(kj::Own<kj::AsyncIoStream> s) : stream(kj::mv(s)) {}
  kj::Own<kj::AsyncIoStream> stream;
  FrameReader reader;
  char buffer[65536];
  std::string waiting;
  std::string writing;
  bool is_writing = false;
  bool is_known = false;
  bool is_done = false;
  bool is_gone = false;
  std::string name;
  std::vector<std::uint32_t> ranks;
};

StepHub::StepHub(kj::AsyncIoContext& io, StepHubOptions options)
    : io_(io), options_(std::move(options)), key_(random_text()), tasks_(*this) {}

StepHub::~StepHub() noexcept {
  if (folder_.empty()) return;
  ::unlink((folder_ + "/io").c_str());
  ::rmdir(folder_.c_str());
}

Result<std::unique_ptr<StepHub>> StepHub::create(kj::AsyncIoContext& io, StepHubOptions options) {
  std::unique_ptr<StepHub> hub(new StepHub(io, std::move(options)));
  TRY(hub->listen());
  return hub;
}

Status StepHub::listen() {
  std::string folder = "/tmp/muster-srun.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return fail(ErrorCode::kUnavailable, "cannot create " + folder, std::strerror(errno));
  folder_ = folder;
  listen_fd_ = kj::AutoCloseFd(TRY(listen_unix(folder_ + "/io", 0600)));
  address_ = "unix:" + folder_ + "/io";
  listen_observer_ = kj::heap<kj::UnixEventPort::FdObserver>(io_.unixEventPort, listen_fd_, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  tasks_.add(accept_loop());
  return {};
}

kj::Promise<void> StepHub::accept_loop() {
  return listen_observer_->whenBecomesReadable().then([this] {
    for (int fd = 0; (fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) adopt(fd);
    return accept_loop();
  });
}

void StepHub::adopt(int fd) {
  auto stream = io_.lowLevelProvider->wrapSocketFd(fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                           kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                                                           kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
  nodes_.push_back(std::make_unique<Node>(kj::mv(stream)));
  Node& node = *nodes_.back();
  tasks_.add(read_loop(node).catch_([](kj::Exception&&) {}).then([this, &node] { on_node_gone(node); }));
}

kj::Promise<void> StepHub::read_loop(Node& node) {
  return node.stream->tryRead(node.buffer, 1, sizeof node.buffer).then([this, &node](std::size_t n) -> kj::Promise<void> {
    if (n == 0) return kj::READY_NOW;
    node.reader.feed(std::string_view(node.buffer, n));
    for (;;) {
      auto frame = node.reader.next();
      if (!frame.has_value()) return kj::READY_NOW;
      if (!frame->has_value()) break;
      if (!on_frame(node, std::move(**frame))) return kj::READY_NOW;
    }
    return read_loop(node);
  });
}

/// False ends the connection.
bool StepHub::on_frame(Node& node, Frame frame) {
  if (!node.is_known) return frame.kind == FrameKind::kHello && on_hello(node, frame.payload);
  switch (frame.kind) {
    case FrameKind::kOutput: emit(options_.output_fd, frame.task, frame.payload); break;
    case FrameKind::kErrorOutput: emit(options_.error_fd, frame.task, frame.payload); break;
    case FrameKind::kNotice: write_all(2, frame.payload); break;
    case FrameKind::kTaskExit: on_exit(node, frame.task, frame.payload); break;
    case FrameKind::kDone:
      node.is_done = true;
      check_done();
      break;
    default: break;
  }
  return true;
}

bool StepHub::on_hello(Node& node, const std::string& payload) {
  const auto words = split(payload, ' ');
  if (words.size() != 5 || words[0] != key_) return false;
  const auto rank = parse_whole32(words[1]);
  const auto count = parse_whole32(words[2]);
  if (!rank || !count || !said_hello_.insert(*rank).second) return false;
  node_count_ = *count;
  node.name = std::string(words[3]);
  for (const std::string_view task : split(words[4], ',')) {
    if (const auto number = parse_whole32(task)) {
      node.ranks.push_back(*number);
      by_rank_[*number] = &node;
    }
  }
  node.is_known = true;
  start_when_complete();
  return true;
}

/// A step starts whole: no task runs before every node is ready.
void StepHub::start_when_complete() {
  if (is_started_ || is_held_ || node_count_ == 0 || said_hello_.size() < node_count_) return;
  is_started_ = true;
  for (const auto& node : nodes_) {
    if (node->is_known) send(*node, FrameKind::kStart, 0, "");
  }
  if (options_.input_fd >= 0) {
    tasks_.add(input_loop());
  } else {
    send_input("");
  }
}

void StepHub::send(Node& node, FrameKind kind, std::uint32_t task, std::string_view payload) {
  if (node.is_gone) return;
  append_frame(node.waiting, kind, task, payload);
  if (!std::exchange(node.is_writing, true)) tasks_.add(write_loop(node).catch_([](kj::Exception&&) {}));
}

kj::Promise<void> StepHub::write_loop(Node& node) {
  if (node.waiting.empty()) {
    node.is_writing = false;
    return kj::READY_NOW;
  }
  node.writing = std::exchange(node.waiting, {});
  return node.stream->write(node.writing.data(), node.writing.size()).then([this, &node] { return write_loop(node); });
}

void StepHub::emit(int fd, std::uint32_t rank, std::string_view bytes) {
  if (!options_.is_label) {
    write_all(fd, bytes);
    return;
  }
  const auto width = std::to_string(options_.task_count - 1).size();
  std::string& line = partial_[{fd, rank}];
  std::string out;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    if (end == std::string_view::npos) {
      line += bytes.substr(begin);
      break;
    }
    out += fmt::format("{:>{}}: {}{}\n", rank, width, line, bytes.substr(begin, end - begin));
    line.clear();
    begin = end + 1;
  }
  write_all(fd, out);
}

void StepHub::flush_partial_lines() {
  const auto width = std::to_string(options_.task_count - 1).size();
  for (auto& [key, line] : partial_) {
    if (!line.empty()) write_all(key.first, fmt::format("{:>{}}: {}\n", key.second, width, line));
    line.clear();
  }
}

void StepHub::on_exit(Node&, std::uint32_t rank, const std::string& payload) {
  ExitStatus status;
  status.raw = static_cast<std::int32_t>(std::strtol(payload.c_str(), nullptr, 10));
  const bool is_first = exits_.empty();
  exits_[rank] = status;
  if (!status.is_success()) {
    unreported_.push_back(rank);
    if (!std::exchange(is_report_due_, true)) {
      tasks_.add(io_.provider->getTimer().afterDelay(kReportAfter).then([this] { report_exits(); }));
    }
    if (options_.kill_on_bad_exit) signal(SIGKILL);
  }
  if (is_first && options_.wait_seconds > 0) {
    tasks_.add(io_.provider->getTimer().afterDelay(options_.wait_seconds * kj::SECONDS).then([this] {
      if (is_done_) return;
      write_all(2, fmt::format("{}: First task exited {}s ago\n", options_.command, options_.wait_seconds));
      for (const std::string& line : task_states()) write_all(2, fmt::format("{}: {} {}\n", options_.command, step_name_, line));
      write_all(2, fmt::format("{}: Terminating {}\n", options_.command, step_name_));
      signal(SIGKILL);
    }));
  }
}

/// Tasks that ended alike are told of in one line: "srun: error: n[1-2]: tasks 0-3: Exited with exit code 1".
void StepHub::report_exits() {
  is_report_due_ = false;
  std::map<ExitStatus, std::vector<std::uint32_t>> by_status;
  for (const std::uint32_t rank : std::exchange(unreported_, {})) by_status[exits_[rank]].push_back(rank);
  for (auto& [status, ranks] : by_status) {
    std::ranges::sort(ranks);
    std::vector<std::string> hosts;
    for (const std::uint32_t rank : ranks) {
      const std::string& host = by_rank_.at(rank)->name;
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
    const std::string what = status.signal() != 0 ? signal_description(static_cast<std::uint16_t>(status.signal()))
                                                  : fmt::format("Exited with exit code {}", status.code());
    if (options_.is_quiet) continue;
    write_all(2, fmt::format("{}: error: {}: {} {}: {}\n", options_.command, sorted_hostlist(hosts),
                             ranks.size() == 1 ? "task" : "tasks", ranks_range(ranks), what));
  }
}

void StepHub::on_node_gone(Node& node) {
  node.is_gone = true;
  if (node.is_known && !node.is_done) {
    if (!options_.is_quiet) write_all(2, fmt::format("{}: error: Node failure on {}\n", options_.command, node.name));
    for (const std::uint32_t rank : node.ranks) exits_.try_emplace(rank, ExitStatus::exited(1));
    node.is_done = true;
  }
  check_done();
}

void StepHub::check_done() {
  if (is_done_ || node_count_ == 0 || said_hello_.size() < node_count_) return;
  for (const auto& node : nodes_) {
    if (node->is_known && !node->is_done) return;
  }
  finish();
}

void StepHub::finish() {
  is_done_ = true;
  flush_partial_lines();
  report_exits();
  if (done_.get() != nullptr) done_->fulfill();
}

kj::Promise<void> StepHub::done() {
  if (is_done_) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  done_ = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

void StepHub::signal(int number) {
  for (const auto& node : nodes_) {
    if (node->is_known) send(*node, FrameKind::kSignal, static_cast<std::uint32_t>(number), "");
  }
}

int StepHub::exit_code() const {
  int code = 0;
  int signal = 0;
  for (const auto& [rank, status] : exits_) {
    code = std::max(code, status.code());
    signal = std::max(signal, status.signal());
  }
  if (signal == kOutOfMemorySignal) return 1;
  return signal != 0 ? 128 + signal : code;
}

std::vector<std::string> StepHub::task_states() const {
  std::vector<std::uint32_t> running;
  std::vector<std::uint32_t> exited;
  for (const auto& [rank, node] : by_rank_) (exits_.contains(rank) ? exited : running).push_back(rank);
  std::vector<std::string> lines;
  if (!running.empty()) lines.push_back(fmt::format("tasks {}: running", ranks_range(running)));
  if (!exited.empty()) lines.push_back(fmt::format("tasks {}: exited", ranks_range(exited)));
  return lines;
}

// ---- standard input: read only when it is readable, so that its mode need not change under other programs ----

void StepHub::send_input(std::string_view bytes) {
  const std::uint32_t task = options_.input_task.value_or(kAllTasks);
  for (const auto& node : nodes_) {
    const bool is_for = task == kAllTasks || std::ranges::find(node->ranks, task) != node->ranks.end();
    if (!node->is_known || !is_for) continue;
    if (bytes.empty()) {
      send(*node, FrameKind::kInputEnd, task, "");
    } else {
      send(*node, FrameKind::kInput, task, bytes);
    }
  }
}

/// False at the end of input.
bool StepHub::pump_input() {
  char buffer[kInputChunk];
  const ssize_t n = ::read(options_.input_fd, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) {
    send_input("");
    return false;
  }
  send_input(std::string_view(buffer, static_cast<std::size_t>(n)));
  return true;
}

kj::Promise<void> StepHub::input_loop() {
  if (is_done_ || is_input_over_) return kj::READY_NOW;
  std::size_t queued = 0;
  for (const auto& node : nodes_) queued = std::max(queued, node->waiting.size());
  if (queued > kQueueMax) {
    return io_.provider->getTimer().afterDelay(5 * kj::MILLISECONDS).then([this] { return input_loop(); });
  }
  struct stat info {};
  const bool is_file = ::fstat(options_.input_fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (is_file) {
    is_input_over_ = !pump_input();
    return kj::evalLast([this] { return input_loop(); });
  }
  if (input_observer_.get() == nullptr) {
    auto failure = kj::runCatchingExceptions([&] {
      input_observer_ = kj::heap<kj::UnixEventPort::FdObserver>(io_.unixEventPort, options_.input_fd,
                                                                kj::UnixEventPort::FdObserver::OBSERVE_READ);
    });
    if (failure != nullptr) {  // something that cannot be waited for, like /dev/null
      is_input_over_ = !pump_input();
      return kj::evalLast([this] { return input_loop(); });
    }
  }
  // The observer tells of changes alone: what is there already would never be told again.
  pollfd readable{options_.input_fd, POLLIN, 0};
  auto wait = ::poll(&readable, 1, 0) > 0 ? kj::evalLast([] {}) : input_observer_->whenBecomesReadable();
  return wait.then([this] {
    is_input_over_ = !pump_input();
    return input_loop();
  });
}

void StepHub::taskFailed(kj::Exception&& exception) {
  if (exception.getType() == kj::Exception::Type::DISCONNECTED) return;
  write_all(2, fmt::format("{}: error: {}\n", options_.command, exception.getDescription().cStr()));
}

}  // namespace muster::cli
