// salloc: an allocation, and a command that runs here while it lasts.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/allocation.h"
#include "cli/commands.h"
#include "env/posix/process_runner.h"

namespace muster::cli {
namespace {

const std::vector<int>& all_signals() {
  static const std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
  return signals;
}

Words shell() {
  if (const auto own = environment_value("SHELL"); !own.empty()) return {std::string(own)};
  const passwd* user = ::getpwuid(::getuid());
  return {user != nullptr && *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh"};
}

SubmitJob submission(const SubmitOptions& options, const SubmitScene& scene, const Words& command) {
  auto job = std::make_shared<JobSpec>(job_of(options, scene));
  job->kind = JobKind::kInteractive;
  if (job->name().empty()) job->text.set(JobText::kName, "interactive");
  job->text.set(JobText::kCommand, fmt::format("{}", fmt::join(command, " ")));
  SubmitJob submit;
  submit.spec = std::move(job);
  submit.environment = as_bytes("");
  return submit;
}

/// Fulfilled with wait(2)'s status when the command has ended. SIGTERM and SIGHUP go on to it; those of the terminal reach
/// it anyway.
kj::Promise<int> command_end(kj::UnixEventPort& port, pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) == pid) return status;
  return any_signal(port, all_signals()).then([&port, pid](int number) {
    if (number == SIGTERM || number == SIGHUP) ::kill(pid, number);
    return command_end(port, pid);
  });
}

/// Says why the allocation is gone before the command ended, and signals the command if that was asked for.
void on_revoked(const Console& console, const SubmitOptions& options, const WaitAnswer& answer, JobId job, pid_t pid) {
  const bool is_timeout = answer.job && answer.job->state == JobState::kTimeout;
  console.say(is_timeout ? fmt::format("Job {} has exceeded its time limit and its allocation has been revoked.", job.value())
                         : fmt::format("Job allocation {} has been revoked.", job.value()));
  if (options.kill_signal != 0) ::kill(pid, options.kill_signal);
}

/// Runs the command in the allocation. Its status as wait(2) gives it.
Result<int> run_command(const Console& console, Session& session, const SubmitOptions& options, const JobView& job,
                        const ProcessSpec& process) {
  auto& io = session.io();
  const std::string address = session.cluster().controller;
  const pid_t pid = TRY(start_process(process));
  const auto lease = keep_lease(io, address, job.id).eagerlyEvaluate([](kj::Exception&&) {});
  const auto watch = wait_until(io, address, StepId{job.id, job.attempt, 0}, WaitUntil::kEnded)
                         .then([&](WaitAnswer&& answer) { on_revoked(console, options, answer, job.id, pid); })
                         .eagerlyEvaluate([](kj::Exception&&) {});
  return command_end(io.unixEventPort, pid).wait(io.waitScope);
}

ProcessSpec process_of(const SubmitOptions& options, const SubmitScene& scene, const Words& command, Environment variables) {
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

/// The cluster's nodes where it matters what they are: under --threads-per-core some CPUs of each core are not for tasks.
std::vector<NodeView> nodes_for(Session& session, const JobView& job) {
  if (job.spec->threads_per_core == 0) return {};
  Query query;
  query.kind = QueryKind::kNodes;
  auto page = session.query(query);
  return page.has_value() ? std::move(page->nodes) : std::vector<NodeView>();
}

int hold_allocation(const Console& console, Session& session, const SubmitOptions& options, const SubmitScene& scene,
                    const Words& command, JobId id) {
  const StartWait start = wait_for_start(console, session, options, id);
  if (!start.job) return start.exit_code;
  console.say(fmt::format("Granted job allocation {}", id.value()));
  if (options.is_bell) print("\a");
  console.say(fmt::format("Nodes {} are ready for job", start.job->node_list));
  if (options.is_no_shell) return 0;
  Environment variables = scene.is_inside_job() ? without_job_variables(scene.environment) : scene.environment;
  add_allocation_variables(variables, *start.job, nodes_for(session, *start.job), scene, session.cluster().cluster_name);
  std::fflush(stdout);
  const auto status = run_command(console, session, options, *start.job, process_of(options, scene, command, std::move(variables)));
  if (!status.has_value()) console.error(status.error());
  const ExitStatus exit = status.has_value() ? ExitStatus{*status} : ExitStatus::exited(127);
  console.say(fmt::format("Relinquishing job allocation {}", id.value()));
  submit_until_answered(session.io(), session.cluster().controller, ReleaseAllocation{id, start.job->attempt, exit})
      .wait(session.io().waitScope);
  return exit.signal() != 0 ? 128 + exit.signal() : exit.code();
}

}  // namespace

int run_salloc(const Words& words) {
  Console console("salloc");
  Words command_line = words;
  command_line.insert(command_line.begin(), "salloc");
  const SubmitScene scene = submit_scene(std::move(command_line));
  SubmitOptions options;
  options.by = Submitter::kAllocate;
  options.context = show_context("");
  SubmitReader reader(console, options);
  if (const auto code = reader.read_environment()) return *code;
  const ReadWords read = reader.read(words, OptionSource::kCommandLine);
  if (read.exit_code) return *read.exit_code;
  if (!read.operands.empty() && read.operands.front() == ":") return console.fail(refused_option("a heterogeneous job (\":\")"));
  if (options.is_quiet) console.set_quiet();
  if (const auto code = settle_and_tell(console, options)) return *code;

  capture_signals(all_signals());
  Session session(console);
  const Words command = read.operands.empty() ? shell() : read.operands;
  const auto reply = session.submit_one(submission(options, scene, command));
  const Error* refused = !reply.has_value() ? &reply.error() : reply->error ? &*reply->error : nullptr;
  if (refused != nullptr) {
    return console.fail(Error{refused->code, "Job submit/allocate failed: " + refused->message, refused->detail});
  }
  return hold_allocation(console, session, options, scene, command, reply->job);
}

}  // namespace muster::cli
