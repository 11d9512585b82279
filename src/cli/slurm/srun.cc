// srun: runs tasks, as a step of the job that it is called in or in an allocation of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "cli/lib/commands.h"
#include "cli/lib/text_file.h"
#include "cli/slurm/allocation.h"
#include "cli/slurm/multi_prog.h"
#include "cli/slurm/step_watch.h"
#include "cli/slurm/submit_refusal.h"
#include "env/posix/open_files.h"
#include "slurm/hostlist.h"
#include "text/words.h"

namespace muster::cli {
namespace {

constexpr auto kBusyAfter = 300 * kj::MILLISECONDS;
/// One that answers at all does so sooner.
constexpr auto kSilentAfter = 3 * kj::SECONDS;
/// How long the controller may take to see the end before we return regardless.
constexpr auto kEndTimeout = 5 * kj::SECONDS;

/// All that one call of srun is about.
struct Run {
  const Console& console;
  Session& session;
  const SubmitOptions& options;
  const SubmittingProcess& scene;
  Words command;
  Environment environment;
};

StepSpec listening_step(const Run& run, const StepWatch& watch) {
  StepSpec step = step_of(run.options, run.scene, run.command);
  step.text.set(StepText::kIoAddress, watch.server().address());
  step.text.set(StepText::kIoKey, watch.server().key());
  return step;
}

SubmitJob submission(const Run& run, const StepSpec& step) {
  auto job = std::make_shared<JobSpec>(job_of(run.options, run.scene));
  job->kind = JobKind::kRun;
  job->text.set(JobText::kName, step.get(StepText::kName));
  job->text.set(JobText::kCommand, fmt::format("{}", fmt::join(run.command, " ")));
  // The step has them: the job's own would name files that nobody opens.
  for (const JobText stream : {JobText::kStdOut, JobText::kStdErr, JobText::kStdIn})
    job->text.set(stream, "");
  SubmitJob submit;
  submit.spec = std::move(job);
  submit.environment = as_bytes(environment_block(run.environment));
  submit.first_step = std::make_shared<StepSpec>(step);
  submit.is_test_only = run.options.is_test_only;
  return submit;
}

/// So that `squeue` right after srun no longer shows the job or step, and its CPUs are free for the
/// next.
void wait_for_end(const Run& run, const WaitFor& end) {
  auto& io = run.session.io();
  auto ended = wait_until(io, run.session.cluster().controller, end).ignoreResult();
  // Bounded: the tasks have ended, and a controller that is away must not hold a script.
  ended.exclusiveJoin(io.provider->getTimer().afterDelay(kEndTimeout)).wait(io.waitScope);
}

/// Where a step that exists runs. A step can be over before anybody asks.
Result<StepLocation> location_of(const Run& run, const StepId& id) {
  Query query;
  query.kind = QueryKind::kSteps;
  // A short step may have ended before it is asked for.
  query.is_steps = false;  // ended ones too
  query.filter.jobs.push_back(JobSelector{id.job, {}, false, std::nullopt});
  const Page page = TRY(run.session.query(query));
  for (const StepView& step : page.steps) {
    if (step.id == id) {
      std::vector<std::string> hosts = TRY(expand_hostlist(step.node_list));
      return StepLocation{id, std::move(hosts), step.task_count, step.launch_key};
    }
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("step {}.{} is not there any more", id.job.value(), id.step));
}

/// Of the step of an allocation of our own: its tasks need not reach all of the allocation's nodes.
/// A step that could not be made is nowhere; its wait will say why.
Result<StepLocation> place_in(const Run& run, const JobView& job, const StepId& id,
                              const StepSpec& step) {
  std::vector<std::string> hosts = TRY(expand_hostlist(job.node_list));
  // With one node there is nothing to look up.
  if (hosts.size() > 1) {
    auto place = location_of(run, id);
    if (place.has_value() || place.error().code != ErrorCode::kNotFound) return place;
  }
  std::uint32_t tasks = step.task_count;
  // Tasks that follow from the node are known with the grant.
  if (!step.is_task_count_given && !job.grants.empty()) tasks = job.grants.front().task_count;
  return StepLocation{id, std::move(hosts), tasks};
}

FilePatternValues file_names(const JobView& job, const StepId& id) {
  FilePatternValues names = pattern_values_of(job);
  names.step = id.step;
  // %t and its like are the step's own; the restart is the run's.
  names.restart_count = id.attempt;
  return names;
}

/// For a step in a job that others made: asked for only where a file's name needs it.
Result<FilePatternValues> file_names(const Run& run, const StepSpec& step, const StepId& id) {
  const auto has_symbols = [&](StepText text) {
    return step.get(text).find('%') != std::string_view::npos;
  };
  // Most names have no symbols: a question is spared.
  if (!has_symbols(StepText::kStdOut) && !has_symbols(StepText::kStdErr))
    return FilePatternValues{};
  Query query;
  query.filter.jobs.push_back(JobSelector{id.job, {}, false, std::nullopt});
  const Page page = TRY(run.session.query(query));
  for (const JobView& job : page.jobs) {
    if (job.id == id.job) return file_names(job, id);
  }
  return fail(ErrorCode::kNotFound, fmt::format("job {} is not there any more", id.job.value()));
}

/// An allocation whose only step this is.
int run_alone(const Run& run, StepWatch& watch) {
  const StepSpec step = listening_step(run, watch);
  // Until there is an id nothing is left behind: signals just end the process.
  run.session.end_by(cancelling_signals());
  const auto reply = run.session.submit_one(submission(run, step));
  run.session.end_by({});
  if (!reply.has_value()) return refuse_job(run.console, Submitter::kRun, reply.error());
  if (reply->error) return refuse_job(run.console, Submitter::kRun, *reply->error);
  if (run.options.is_test_only) {
    run.console.say(fmt::format("Job {} to start at {} a {}", reply->job.value(),
                                run.options.context.time(reply->expected_start, "Unknown"),
                                reply->text));
    return 0;
  }
  const StartWait start = wait_for_start(run.console, run.session, run.options, reply->job);
  if (!start.job) return start.exit_code;
  const StepId id{reply->job, start.job->attempt, 0};
  // The job lives as long as this process renews it, through every wait below.
  const auto lease = renew_lease(run.session.io(), run.session.cluster().controller, id.job)
                         .eagerlyEvaluate([](kj::Exception&&) {});
  auto place = place_in(run, *start.job, id, step);
  if (!place.has_value()) return run.console.fail(place.error());
  // Names of files may hold the job's id.
  place->names = file_names(*start.job, id);
  const int code = watch.run(std::move(place).value(), step);
  wait_for_end(run, WaitFor{id});
  return code;
}

/// Asks for the step; while the job's resources are busy the answer waits, and the user is told
/// why.
Result<Reply> create_step(const Run& run, const StepSpec& step) {
  auto& io = run.session.io();
  CreateStep create;
  create.job = *run.options.inside;
  create.spec = std::make_shared<StepSpec>(step);
  create.environment = as_bytes(environment_block(run.environment));
  // Whether anybody is there decides what is said of a wait.
  const bool is_there = run.session.client() != nullptr;
  // Inside a job without any configuration nothing will come up.
  if (!is_there && run.session.cluster().conf.empty()) {
    return fail(
        Error{ErrorCode::kUnavailable, no_controller().message, run.session.cluster().missing});
  }
  bool is_printed = false;
  // Looked for only when the answer takes long: busy CPUs and a controller that is away look
  // alike.
  const auto find_why = [&]() -> kj::Promise<std::string> {
    if (!is_there) return no_controller().message;
    // Whoever answers this, about a job that runs, answers at once: then it is the step that
    // waits.
    auto answers = wait_until(io, run.session.cluster().controller,
                              WaitFor{StepId{create.job, UINT32_MAX, 0}, WaitUntil::kStarted})
                       .then([](WaitAnswer&&) { return std::string("Requested nodes are busy"); });
    auto silent = io.provider->getTimer().afterDelay(kSilentAfter).then([] {
      return std::string("The controller does not answer");
    });
    return answers.exclusiveJoin(kj::mv(silent));
  };
  const auto told =
      io.provider->getTimer()
          .afterDelay(kBusyAfter)
          .then([&] { return find_why(); })
          .then([&](std::string why) {
            is_printed = true;
            run.console.say(fmt::format("Job {} step creation temporarily disabled, retrying ({})",
                                        create.job.value(), why));
          })
          .eagerlyEvaluate(nullptr);
  auto answered =
      submit_until_answered(io, run.session.cluster().controller, create).then([](Reply&& reply) {
        return std::optional<Reply>(std::move(reply));
      });
  // Nothing runs yet: the request may still be granted, and the step ends with its connections.
  auto stopped = any_signal(io.unixEventPort, {SIGINT, SIGTERM, SIGHUP, SIGQUIT}).then([](int) {
    return std::optional<Reply>();
  });
  const std::optional<Reply> reply = answered.exclusiveJoin(kj::mv(stopped)).wait(io.waitScope);
  // Slurm's text.
  if (!reply) return fail(ErrorCode::kDeadlineExceeded, "Cancelled pending job step");
  if (reply->error) return fail(*reply->error);
  if (!reply->step) return fail(ErrorCode::kInternal, "the controller named no step");
  if (is_printed)
    run.console.say(
        fmt::format("Step created for StepId={}.{}", reply->step->job.value(), reply->step->step));
  return *reply;
}

/// The job has been granted: what only a job can be asked for says nothing about a step of it.
void warn_of_job_options(const Run& run) {
  static constexpr std::string_view kOfJobs[] = {"account",
                                                 "begin",
                                                 "constraint",
                                                 "cores-per-socket",
                                                 "cpus-per-gpu",
                                                 "deadline",
                                                 "dependency",
                                                 "hold",
                                                 "licenses",
                                                 "mail-type",
                                                 "mail-user",
                                                 "mincpus",
                                                 "nice",
                                                 "hint",
                                                 "ntasks-per-core",
                                                 "ntasks-per-socket",
                                                 "no-kill",
                                                 "spread-job",
                                                 "use-min-nodes",
                                                 "partition",
                                                 "prefer",
                                                 "priority",
                                                 "qos",
                                                 "reservation",
                                                 "extra-node-info",
                                                 "sockets-per-node",
                                                 "threads-per-core",
                                                 "time-min",
                                                 "tmp",
                                                 "wckey",
                                                 "mem-per-gpu"};
  for (const std::string& name : run.options.written) {
    if (std::ranges::find(kOfJobs, name) == std::end(kOfJobs)) continue;
    run.console.warn(fmt::format("--{} is for a job and has no effect on a step of job {}", name,
                                 run.options.inside->value()));
  }
}

int run_inside(const Run& run, StepWatch& watch) {
  warn_of_job_options(run);
  const StepSpec step = listening_step(run, watch);
  const auto reply = create_step(run, step);
  // These two mean that SLURM_JOB_ID names no job that could have a step.
  if (!reply.has_value() && (reply.error().code == ErrorCode::kNotFound ||
                             reply.error().cause == ErrorCause::kJobPending)) {
    const std::uint32_t job = run.options.inside->value();
    run.console.error(
        fmt::format("Unable to confirm allocation for job {}: {}", job, reply.error().message));
    run.console.say(
        fmt::format("Check SLURM_JOB_ID environment variable. Expired or invalid job {}", job));
    return run.console.exit_error();
  }
  if (!reply.has_value()) {
    return run.console.fail(Error{reply.error().code,
                                  fmt::format("Unable to create step for job {}: {}",
                                              run.options.inside->value(), reply.error().message),
                                  reply.error().detail});
  }
  auto place = location_of(run, *reply->step);
  if (!place.has_value()) return run.console.fail(place.error());
  auto names = file_names(run, step, *reply->step);
  if (!names.has_value()) return run.console.fail(names.error());
  place->names = std::move(names).value();
  // With the launch key: a step of the same number of a later run is another one.
  const WaitFor end{*reply->step, WaitUntil::kStepEnded, place->launch_key};
  const int code = watch.run(std::move(place).value(), step);
  wait_for_end(run, end);
  return code;
}

/// With --multi-prog the configuration file. It is read once: it may be a pipe.
Result<std::string> read_programs(const SubmitOptions& options, const Words& operands) {
  if (!options.is_multi_prog) return std::string();
  return read_file(operands.front(), std::size_t{64} << 20, "the configuration file ");
}

/// With --multi-prog the file says how many tasks there are, where no option does.
Status count_programs(SubmitOptions& options, const std::string& programs) {
  constexpr std::uint32_t kSaysHowMany =
      given_option::kTaskCount | given_option::kTasksPerNode | given_option::kTasksPerGpu;
  // Only where nothing else says how many.
  if (!options.is_multi_prog || (options.job.given & kSaysHowMany) != 0) return {};
  options.job.request.edit()->task_count = TRY(multi_prog_task_count(programs));
  options.job.given |= given_option::kTaskCount;
  return {};
}

/// The tasks' command: with --multi-prog a shell that picks each task's own.
Result<Words> command_of(const SubmitOptions& options, const std::string& programs,
                         const Words& operands) {
  if (!options.is_multi_prog) return operands;
  const std::string script = TRY(multi_prog_command(programs, options.job.request->task_count));
  // "srun" is $0 of the script, which errors of the shell name.
  Words command{"/bin/sh", "-c", script, "srun"};
  command.insert(command.end(), operands.begin() + 1, operands.end());
  return command;
}

int run_step(const Console& console, const SubmitOptions& options, const SubmittingProcess& scene,
             Words command) {
  auto environment = exported_environment(options, scene);
  if (!environment.has_value()) return console.fail(environment.error());
  capture_signals(step_signals());
  Session session(console);
  const Run run{
      console, session, options, scene, std::move(command), std::move(environment).value()};
  auto watch = StepWatch::create(console, session, options);
  if (!watch.has_value()) return console.fail(watch.error());
  return options.inside ? run_inside(run, **watch) : run_alone(run, **watch);
}

}  // namespace

int run_srun(const Words& words) {
  Console console("srun");
  Words command_line = words;
  command_line.insert(command_line.begin(), "srun");
  const SubmittingProcess scene = submitting_process(std::move(command_line));
  // Each node of the step has a connection; the tasks get the limit that was found.
  // Before streams are made, as a step of a thousand nodes needs as many descriptors.
  if (const Status raised = raise_open_files(kCommandFilesMin); !raised.has_value())
    return console.fail(raised.error());
  SubmitOptions options;
  options.by = Submitter::kRun;
  options.context = show_context("");
  SubmitReader reader(console, options);
  if (const auto code = reader.read_environment()) return *code;
  const ReadWords read = reader.read(words, OptionSource::kCommandLine);
  if (read.exit_code) return *read.exit_code;
  if (options.is_quiet) console.set_quiet();
  // Slurm exits here without a command.
  if (options.step.get(StepText::kMpi) == "list") {
    print("MPI plugin types are...\n\tnone\n");
    return 0;
  }
  if (read.operands.empty()) {
    console.fatal("No command given to execute.");
    return 1;
  }
  // A colon alone separates components of a heterogeneous step.
  if (std::ranges::find(read.operands, ":") != read.operands.end()) {
    return console.fail(refused_option("a heterogeneous step (\":\")"));
  }
  // Source: srun(1), SLURM_TEST_EXEC.
  if (options.is_program_checked && !is_program(read.operands.front(), scene.work_dir)) {
    return console.fail(Error{ErrorCode::kNotFound,
                              fmt::format("{}: command not found", read.operands.front()),
                              "asked for by SLURM_TEST_EXEC"});
  }
  const auto programs = read_programs(options, read.operands);
  if (!programs.has_value()) return console.fail(programs.error());
  // Before the request is completed: the number of tasks decides about nodes.
  if (const Status counted = count_programs(options, *programs); !counted.has_value())
    return console.fail(counted.error());
  if (const auto code = complete_or_report(console, options)) return *code;
  auto command = command_of(options, *programs, read.operands);
  if (!command.has_value()) return console.fail(command.error());
  return run_step(console, options, scene, std::move(command).value());
}

}  // namespace muster::cli
