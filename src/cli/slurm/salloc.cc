// salloc: an allocation, and a command that runs here while it lasts.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/lib/commands.h"
#include "cli/slurm/allocation.h"
#include "cli/slurm/submit_refusal.h"
#include "env/posix/process_runner.h"

namespace muster::cli {
namespace {

const std::vector<int>& all_signals() {
  static const std::vector<int> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
  return kSignals;
}

Words shell() {
  if (const auto own = environment_value("SHELL"); !own.empty()) return {std::string(own)};
  const passwd* user = ::getpwuid(::getuid());
  return {user != nullptr && *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh"};
}

SubmitJob submission(const SubmitOptions& options, const SubmittingProcess& scene,
                     const Words& command) {
  auto job = std::make_shared<JobSpec>(job_of(options, scene));
  job->kind = JobKind::kInteractive;
  // The name that Slurm gives such jobs.
  if (job->name().empty()) job->text.set(JobText::kName, "interactive");
  job->text.set(JobText::kCommand, fmt::format("{}", fmt::join(command, " ")));
  SubmitJob submit;
  submit.spec = std::move(job);
  // Empty: nothing of this job starts on nodes by itself.
  submit.environment = as_bytes("");
  return submit;
}

/// The command while it runs in its allocation. Source for what signals do: Slurm 22.05.8.
class HeldCommand {
 public:
  struct End {
    int status = 0;           ///< wait(2)'s, of a command that has ended
    bool is_left = false;     ///< the terminal has gone: nobody waits for the command
    bool is_revoked = false;  ///< the allocation was gone before
  };
  HeldCommand(const Console& console, Session& session, const SubmitOptions& options,
              const JobView& job, pid_t pid)
      : console_(console),
        session_(session),
        options_(options),
        job_(job.id),
        attempt_(job.attempt),
        pid_(pid),
        tasks_(errors_) {}

  End wait() {
    auto& io = session_.io();
    const std::string address = session_.cluster().controller;
    // Together: the lease is renewed, and the job's end is waited for, while the command runs.
    tasks_.add(renew_lease(io, address, job_));
    tasks_.add(wait_until(io, address, WaitFor{StepId{job_, attempt_, 0}})
                   .then([this](WaitAnswer&& answer) { on_revoked(answer); }));
    // By SIGCHLD: no thread waits.
    end_.status = command_end().wait(io.waitScope);
    return end_;
  }

 private:
  struct Errors final : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&&) override {}  // the end of the command comes all the same
  };

  kj::Promise<int> command_end() {
    int status = 0;
    // It may have ended before the signal was waited for.
    if (::waitpid(pid_, &status, WNOHANG) == pid_) return status;
    return any_signal(session_.io().unixEventPort, all_signals())
        .then([this](int number) -> kj::Promise<int> {
          on_signal(number);
          return end_.is_left ? kj::Promise<int>(0) : command_end();
        });
  }

  void on_signal(int number) {
    // What a terminal's keys send reaches the command anyway, and is meant for it alone.
    const bool is_of_keys = (number == SIGINT || number == SIGQUIT) && ::isatty(STDIN_FILENO) != 0;
    if (number == SIGHUP) {
      // The terminal has gone: the command is told, and nobody waits for it.
      end_.is_left = true;
      ::kill(pid_, SIGHUP);
    } else if (number != SIGCHLD && !is_of_keys && !end_.is_revoked) {
      // SIGTERM ends the allocation; the command ends by --kill-command or by itself.
      CancelJobs cancel;
      cancel.filter.jobs.push_back(JobSelector{job_, {}, false, std::nullopt});
      cancel.is_lenient = true;
      tasks_.add(submit_until_answered(session_.io(), session_.cluster().controller, cancel)
                     .ignoreResult());
    }
  }

  /// Says why the allocation is gone before the command ended, and signals the command if that was
  /// asked for.
  void on_revoked(const WaitAnswer& answer) {
    end_.is_revoked = true;
    const bool is_timeout = answer.job && answer.job->state == JobState::kTimeout;
    console_.say(
        is_timeout
            ? fmt::format("Job {} has exceeded its time limit and its allocation has been revoked.",
                          job_.value())
            : fmt::format("Job allocation {} has been revoked.", job_.value()));
    // Source: salloc(1), --kill-command.
    if (options_.kill_signal != 0) ::kill(pid_, options_.kill_signal);
  }

  const Console& console_;
  Session& session_;
  const SubmitOptions& options_;
  const JobId job_;
  const std::uint32_t attempt_;
  const pid_t pid_;
  End end_;
  Errors errors_;
  kj::TaskSet tasks_;
};

/// A command that its user ended leaves no failure behind. Source: Slurm 22.05.8.
int exit_code_of(const ExitStatus& exit) {
  switch (exit.signal()) {
    case 0: return exit.code();
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGKILL: return 0;
    default: return 1;
  }
}

ProcessSpec process_of(const SubmitOptions& options, const SubmittingProcess& scene,
                       const Words& command, Environment variables) {
  ProcessSpec process;
  process.arguments = command;
  process.environment = std::move(variables);
  process.work_dir = std::string(options.job.get(JobText::kWorkDir));
  process.umask = scene.umask;
  process.user = ProcessUser{::getuid(), ::getgid(), ""};
  process.standard_in = 0;
  process.standard_out = 1;
  process.standard_error = 2;
  process.is_own_session = false;
  return process;
}

/// Errors: kNotFound, in Slurm's words, for what is no program.
Result<pid_t> start_command(const ProcessSpec& process) {
  const std::string& program = process.arguments.front();
  // Before the fork, since Slurm says so in the parent's words.
  if (!is_program(program, process.work_dir)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("_fork_command: Unable to find command \"{}\"", program));
  }
  return start_process(process);
}

/// The cluster's nodes where it matters what they are: under --threads-per-core some CPUs of each
/// core are not for tasks.
std::vector<NodeView> nodes_for(Session& session, const JobView& job) {
  if (job.spec->request->threads_per_core == 0) return {};
  Query query;
  query.kind = QueryKind::kNodes;
  auto page = session.query(query);
  return page.has_value() ? std::move(page->nodes) : std::vector<NodeView>();
}

/// Empty where the controller does not say: an allocation is of use without it.
std::string cluster_id_of(Session& session) {
  Query query;
  query.kind = QueryKind::kPing;
  const auto page = session.query(query);
  return page.has_value() && page->ping ? page->ping->cluster_id : "";
}

int hold_allocation(const Console& console, Session& session, const SubmitOptions& options,
                    const SubmittingProcess& scene, const Words& command, JobId id) {
  const StartWait start = wait_for_start(console, session, options, id);
  if (!start.job) return start.exit_code;
  console.say(fmt::format("Granted job allocation {}", id.value()));
  if (options.is_bell) print("\a");
  console.say(fmt::format("Nodes {} are ready for job", start.job->node_list));
  if (options.is_no_shell) return 0;
  Environment variables =
      scene.is_inside_job() ? without_job_variables(scene.environment) : scene.environment;
  add_allocation_variables(variables, *start.job, nodes_for(session, *start.job), scene,
                           session.cluster().cluster_name, cluster_id_of(session));
  add_step_defaults(variables, options);
  // The command may write to the same descriptor.
  std::fflush(stdout);
  const auto give_back = [&](ExitStatus exit) {
    console.say(fmt::format("Relinquishing job allocation {}", id.value()));
    // Also when the command failed: the job's exit code is the command's.
    if (submit_when_room(session, ReleaseAllocation{id, start.job->attempt, exit})) return;
    console.error(
        fmt::format("the controller does not answer: job {0} ends when nobody has renewed its "
                    "lease, or by scancel {0}",
                    id.value()));
  };
  const auto pid = start_command(process_of(options, scene, command, std::move(variables)));
  if (!pid.has_value()) {
    // 127: as a shell says that a command is not found.
    console.error(pid.error());
    give_back(ExitStatus::exited(127));
    return console.exit_error();
  }
  const HeldCommand::End end = HeldCommand(console, session, options, *start.job, *pid).wait();
  const ExitStatus exit{end.status};
  // A job that is gone cannot be given back.
  if (!end.is_revoked) give_back(exit);
  return end.is_left ? 1 : exit_code_of(exit);
}

}  // namespace

int run_salloc(const Words& words) {
  Console console("salloc");
  Words command_line = words;
  command_line.insert(command_line.begin(), "salloc");
  const SubmittingProcess scene = submitting_process(std::move(command_line));
  SubmitOptions options;
  options.by = Submitter::kAllocate;
  options.context = show_context("");
  SubmitReader reader(console, options);
  if (const auto code = reader.read_environment()) return *code;
  const ReadWords read = reader.read(words, OptionSource::kCommandLine);
  if (read.exit_code) return *read.exit_code;
  if (!read.operands.empty() && read.operands.front() == ":")
    return console.fail(refused_option("a heterogeneous job (\":\")"));
  if (options.is_quiet) console.set_quiet();
  if (const auto code = complete_or_report(console, options)) return *code;

  capture_signals(all_signals());
  Session session(console);
  // Until there is an id nothing is left behind: signals just end the process.
  session.end_by(cancelling_signals());
  const Words command = read.operands.empty() ? shell() : read.operands;
  const auto reply = session.submit_one(submission(options, scene, command));
  session.end_by({});
  const Error* refused = !reply.has_value() ? &reply.error()
                         : reply->error     ? &*reply->error
                                            : nullptr;
  if (refused != nullptr) return refuse_job(console, Submitter::kAllocate, *refused);
  return hold_allocation(console, session, options, scene, command, reply->job);
}

}  // namespace muster::cli
