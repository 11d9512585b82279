// One step as its srun sees it, from the first supervisor that dials in to the last task's end: it
// starts all at once, relays streams and signals, and reports how tasks ended. The controller is
// asked only who will come and whether it is over.
#pragma once

#include <kj/async-io.h>
#include <kj/io.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/lib/session.h"
#include "cli/slurm/job_request.h"
#include "cli/slurm/step_server.h"
#include "cli/slurm/task_report.h"
#include "slurm/file_pattern.h"
#include "slurm/task_output.h"

namespace muster::cli {

/// A step, and the nodes on which it runs, by their rank in it.
struct StepLocation {
  StepId id;
  std::vector<std::string> hosts;
  std::uint32_t task_count = 1;
  std::uint64_t launch_key = 0;  ///< as in StepView; 0: not known
  FilePatternValues names = {};  ///< for the files that srun writes
};

class StepWatch final : private kj::TaskSet::ErrorHandler {
 public:
  /// Listens at once: supervisors may dial in before anybody knows how many they are.
  static Result<std::unique_ptr<StepWatch>> create(const Console& console, Session& session,
                                                   const SubmitOptions& options);
  const StepServer& server() const { return *server_; }
  /// Runs from when the step exists until its end. Returns the exit code of srun.
  int run(StepLocation place, const StepSpec& spec);

 private:
  StepWatch(const Console& console, Session& session, const SubmitOptions& options);
  void taskFailed(kj::Exception&& exception) override;

  void start_if_complete();
  void on_frame(std::uint32_t node, Frame frame);
  void on_task_exit(std::uint32_t node, const Frame& frame);
  void on_lost(std::uint32_t node);
  void on_shortage(int error);
  void give_up_for_shortage();
  void on_step_ended(const WaitAnswer& answer);
  void finish_if_done();
  Status open_all(const StepSpec& step);
  Status open_files(const StepSpec& step);
  void show(int fd, std::string_view bytes);
  void drop(std::size_t bytes);
  void on_unwritable(int fd, int error);
  void give_up(int exit_code);
  void report_ends();
  void report_ends_soon();
  void after_first_end();
  void terminate();
  void kill_at_once();
  void say_terminating();
  void report_abort();
  kj::Promise<void> signal_loop();
  void on_signal(int number);
  void on_interrupt();
  kj::Promise<void> input_loop();
  void send_input(std::string_view bytes);
  std::string step_name() const;
  std::string host(std::uint32_t node) const;

  const Console& console_;
  Session& session_;
  const SubmitOptions& options_;
  std::unique_ptr<StepServer> server_;
  TaskOutput output_;
  TaskOutput errors_;
  kj::AutoCloseFd output_file_;  ///< -1: to standard output
  kj::AutoCloseFd error_file_;   ///< -1: to standard error
  int output_fd_ = 1;
  int error_fd_ = 2;
  std::vector<int> unwritable_;  ///< descriptors that accept no more
  bool is_unread_ = false;       ///< one of them is a pipe without a reader
  std::uint64_t dropped_ = 0;    ///< bytes of output that had nowhere to go
  TaskReport report_;
  std::optional<StepLocation> place_;
  std::uint32_t input_task_ = kAllTasks;
  bool has_input_ = true;
  bool kills_on_bad_exit_ = false;
  std::uint32_t wait_seconds_ = 0;
  std::vector<std::uint32_t> done_;  ///< nodes that said kDone
  std::vector<std::uint32_t> lost_;  ///< nodes whose connection ended without it
  bool is_started_ = false;
  bool is_terminating_ = false;
  bool is_report_pending_ = false;
  bool is_abort_reported_ = false;
  bool is_first_end_seen_ = false;
  std::optional<int> forced_exit_;  ///< the step failed as a whole
  TimePoint last_interrupt_;
  std::size_t shortages_ = 0;  ///< so far, of descriptors or memory for who dials in
  int lasting_shortage_ = 0;   ///< the errno of one that would not pass
  kj::Own<kj::PromiseFulfiller<void>> finished_;
  kj::TaskSet tasks_;
};

/// Returns the signals that srun passes on to the tasks, beside SIGINT.
const std::vector<int>& step_signals();

}  // namespace muster::cli
