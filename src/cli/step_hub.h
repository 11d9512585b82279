// Where the streams of a step come together: srun's side of wire/step_io.h. Listens on a private socket, lets the step's
// supervisors in, releases the tasks when all are there, carries input, output, signals and exits.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/io.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/step.h"
#include "wire/step_io.h"

namespace muster::cli {

struct StepHubOptions {
  std::string command = "srun";        ///< in messages
  std::uint32_t task_count = 1;
  bool is_label = false;
  int output_fd = 1;
  int error_fd = 2;
  int input_fd = 0;                    ///< -1: none
  std::optional<std::uint32_t> input_task = {};  ///< unset: all
  bool kill_on_bad_exit = false;
  std::uint32_t wait_seconds = 0;      ///< after the first task ends; 0: for ever
  bool is_quiet = false;
};

class StepHub final : private kj::TaskSet::ErrorHandler {
 public:
  /// Errors: kUnavailable when no socket can be made.
  static Result<std::unique_ptr<StepHub>> create(kj::AsyncIoContext& io, StepHubOptions options);
  ~StepHub() noexcept;

  const std::string& address() const { return address_; }
  const std::string& key() const { return key_; }
  /// Fulfilled when every task has ended and all output is written.
  kj::Promise<void> done();
  /// Keeps the tasks from starting until release(), even when every node is there.
  void hold() { is_held_ = true; }
  void release() {
    is_held_ = false;
    start_when_complete();
  }
  /// Other descriptors than 0, 1 and 2. Before release().
  void set_streams(int in, int out, int error) {
    options_.input_fd = in;
    options_.output_fd = out;
    options_.error_fd = error;
  }
  /// To all tasks of the step.
  void signal(int number);
  /// The highest exit code, or 128 + signal. Meaningful after done().
  int exit_code() const;
  /// True once the tasks were released.
  bool is_started() const { return is_started_; }
  bool is_done() const { return is_done_; }
  /// "tasks 0-3: running" and the like, one line per condition.
  std::vector<std::string> task_states() const;
  void set_step_name(std::string name) { step_name_ = std::move(name); }

 private:
  struct Node;
  StepHub(kj::AsyncIoContext& io, StepHubOptions options);
  Status listen();
  kj::Promise<void> accept_loop();
  void adopt(int fd);
  kj::Promise<void> read_loop(Node& node);
  bool on_frame(Node& node, Frame frame);
  bool on_hello(Node& node, const std::string& payload);
  void on_exit(Node& node, std::uint32_t rank, const std::string& payload);
  void on_node_gone(Node& node);
  void start_when_complete();
  void send(Node& node, FrameKind kind, std::uint32_t task, std::string_view payload);
  kj::Promise<void> write_loop(Node& node);
  void emit(int fd, std::uint32_t rank, std::string_view bytes);
  void flush_partial_lines();
  void report_exits();
  void check_done();
  void finish();
  // Standard input.
  kj::Promise<void> input_loop();
  bool pump_input();
  void send_input(std::string_view bytes);
  void taskFailed(kj::Exception&&) override;

  kj::AsyncIoContext& io_;
  StepHubOptions options_;
  std::string folder_;
  std::string address_;
  std::string key_;
  std::string step_name_;
  kj::AutoCloseFd listen_fd_;
  kj::Own<kj::UnixEventPort::FdObserver> listen_observer_;
  kj::Own<kj::UnixEventPort::FdObserver> input_observer_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::uint32_t, Node*> by_rank_;          ///< node of each task
  std::map<std::uint32_t, ExitStatus> exits_;
  std::map<std::pair<int, std::uint32_t>, std::string> partial_;  ///< labelled lines not ended yet
  std::vector<std::uint32_t> unreported_;
  bool is_report_due_ = false;
  std::uint32_t node_count_ = 0;
  std::set<std::uint32_t> said_hello_;
  bool is_started_ = false;
  bool is_held_ = false;
  bool is_done_ = false;
  bool is_input_over_ = false;
  kj::Own<kj::PromiseFulfiller<void>> done_;
  kj::TaskSet tasks_;
};

}  // namespace muster::cli
