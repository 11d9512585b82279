// sbatch: queues a batch script.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/lib/commands.h"
#include "cli/lib/session.h"
#include "cli/lib/text_file.h"
#include "cli/slurm/job_request.h"
#include "cli/slurm/submit_refusal.h"
#include "slurm/batch_script.h"
#include "text/words.h"

namespace muster::cli {
namespace {

constexpr Duration kPollPause = Duration::seconds(1);
/// More than any cluster takes: what never ends is not read for ever.
constexpr std::size_t kScriptMost = std::size_t{256} << 20;

/// A script and where it came from.
struct Script {
  std::string text;
  std::string path;  ///< absolute; empty: standard input or --wrap
  std::string name;  ///< the job's, unless it is given one
  Words arguments;
};

/// As a shell finds commands: with a slash or in the working directory as it is, else along PATH.
std::string find_script(const std::string& name, const SubmittingProcess& scene) {
  std::string here = name.front() == '/' ? name : scene.work_dir + "/" + name;
  // A script in the working directory goes before PATH, as with Slurm's sbatch.
  if (name.find('/') != std::string::npos || ::access(here.c_str(), F_OK) == 0) return here;
  for (const std::string_view folder : split(environment_value("PATH"), ':')) {
    std::string path = fmt::format("{}/{}", folder, name);
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)) return path;
  }
  return here;
}

Result<Script> read_script(const SubmitOptions& options, const Words& operands,
                           const SubmittingProcess& scene) {
  Script script;
  if (options.wrap) {
    if (!operands.empty())
      return fail(ErrorCode::kInvalidArgument, "Script arguments not permitted with --wrap option");
    // Slurm's own lines around the command of --wrap.
    script.text = fmt::format("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n",
                              *options.wrap);
    script.name = "wrap";
    return script;
  }
  if (operands.empty()) {
    script.text = TRY(read_file("-", kScriptMost, "the batch script "));
    // The name that Slurm gives a script from standard input.
    script.name = "sbatch";
    return script;
  }
  script.path = find_script(operands.front(), scene);
  struct stat found {};
  if (::stat(script.path.c_str(), &found) != 0 || S_ISDIR(found.st_mode) ||
      ::access(script.path.c_str(), R_OK) != 0) {
    return fail(ErrorCode::kNotFound, fmt::format("Unable to open file {}", operands.front()));
  }
  script.text = TRY(read_file(script.path, kScriptMost, "the batch script "));
  script.name = script.path.substr(script.path.rfind('/') + 1);
  script.arguments.assign(operands.begin() + 1, operands.end());
  return script;
}

/// The script is read before the environment is.
bool is_variable_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && is_switched_on(value);
}

/// Applies the script's own options. Nullopt: go on.
std::optional<int> read_directives(const Console& console, SubmitReader& reader,
                                   const SubmitOptions& options, const Script& script) {
  const auto directives = parse_batch_directives(script.text);
  if (!directives.has_value()) {
    console.error(directives.error());
    return kExitBadOption;
  }
  // Heterogeneous jobs would be several jobs under one id.
  if (!directives->component_lines.empty()) {
    return console.fail(Error{ErrorCode::kUnimplemented,
                              "#SBATCH hetjob is not supported by Muster yet",
                              fmt::format("line {}", directives->component_lines.front())});
  }
  // Where both kinds of lines stand Slurm applies both, those of PBS last: to leave them out would
  // run another job.
  if ((directives->has_pbs || directives->has_bsub) && !options.is_ignore_pbs &&
      !is_variable_set("SBATCH_IGNORE_PBS")) {
    return console.fail(Error{ErrorCode::kUnimplemented,
                              "#PBS and #BSUB options are not supported by Muster yet",
                              "say all by #SBATCH lines, and have the others passed over by "
                              "--ignore-pbs or SBATCH_IGNORE_PBS=1"});
  }
  Words all;
  for (const DirectiveLine& line : directives->lines)
    all.insert(all.end(), line.words.begin(), line.words.end());
  const ReadWords read = reader.read(all, OptionSource::kScript);
  if (read.exit_code) return read.exit_code;
  if (!read.operands.empty()) {
    console.error(
        fmt::format("Invalid directive found in batch script: {}", read.operands.front()));
    return kExitBadOption;
  }
  return std::nullopt;
}

SubmitJob submission(const SubmitOptions& options, const SubmittingProcess& scene,
                     const Script& script, Environment variables) {
  auto job = std::make_shared<JobSpec>(job_of(options, scene));
  job->kind = JobKind::kBatch;
  // After all options: -J, SBATCH_JOB_NAME and #SBATCH -J go before the script's name.
  if (job->name().empty()) job->text.set(JobText::kName, script.name);
  Words command = script.arguments;
  if (!script.path.empty()) command.insert(command.begin(), script.path);
  job->text.set(JobText::kCommand, fmt::format("{}", fmt::join(command, " ")));
  job->text.set(JobText::kScriptArgs, joined_by_nul(script.arguments));
  SubmitJob submit;
  submit.spec = std::move(job);
  submit.script = as_bytes(script.text);
  submit.environment = as_bytes(environment_block(variables));
  submit.is_test_only = options.is_test_only;
  return submit;
}

/// A full queue empties by itself: waits longer each time, as sbatch does. Source: sbatch(1),
/// MaxJobCount.
Result<Reply> submit_when_room(const Console& console, Session& session, const SubmitJob& submit) {
  constexpr int kTriesMax = 15;
  for (int attempt = 1;; ++attempt) {
    auto reply = session.submit_one(submit);
    // Told from other refusals by its cause, never by its text.
    const bool is_full =
        reply.has_value() && reply->error && reply->error->cause == ErrorCause::kQueueFull;
    if (!is_full || attempt == kTriesMax) return reply;
    console.error("Slurm job queue full, sleeping and retrying");
    // 1 to 14 seconds: less than two minutes in all.
    session.sleep(Duration::seconds(attempt));
  }
}

void say_test_only(const Console& console, const SubmitOptions& options, const Reply& reply) {
  console.say(fmt::format("Job {} to start at {} a {}", reply.job.value(),
                          options.context.time(reply.expected_start, "Unknown"), reply.text));
}

/// The job is there, whether its id can be written or not: whoever sees nothing submits it again.
void print_id(const SubmitOptions& options, JobId job) {
  if (options.is_parsable && !options.is_quiet) {
    print(
        fmt::format("{}{}{}\n", job.value(), options.cluster.empty() ? "" : ";", options.cluster));
  } else if (!options.is_quiet) {
    print(fmt::format("Submitted batch job {}{}{}\n", job.value(),
                      options.cluster.empty() ? "" : " on cluster ", options.cluster));
  }
  // A full disk or a closed pipe must not hide that the job is there.
  if (std::fflush(stdout) != 0)
    std::fprintf(stderr, "sbatch: error: standard output cannot be written: job %u was submitted\n",
                 job.value());
}

// A signal counts as 1. Source: sbatch(1), --wait.
int exit_of(const JobView& job) { return job.exit.signal() != 0 ? 1 : job.exit.code(); }

/// The highest exit code of the job or of all elements, once none is left. An array has no end of
/// its own to wait for: its elements are asked for until all have ended.
int wait_for_end(const Console& console, Session& session, JobId id, bool is_array) {
  if (!is_array) {
    const auto answer = session.wait_for(WaitFor{StepId{id, UINT32_MAX, 0}});
    if (!answer.has_value()) return console.fail(answer.error());
    if (!answer->job) return 0;
    // A cancelled job fails for who waits for it.
    return answer->job->state == JobState::kCancelled ? 1 : exit_of(*answer->job);
  }
  Query query;
  query.filter.jobs.push_back(JobSelector{id, {}, false, std::nullopt});
  for (;;) {
    const auto page = session.query(query);
    if (!page.has_value()) return console.fail(page.error());
    int code = 0;
    bool is_over = true;
    for (const JobView& job : page->jobs) {
      // What is left of an array's record stands for no element.
      if (!job.array_index && job.array_remaining_count == 0) continue;
      // A job that goes back to the queue has not ended.
      is_over = is_over && is_finished(job.state) &&
                (job.flags & (job_flag::kCompleting | job_flag::kRequeueAfter)) == 0;
      code = std::max(code, job.state == JobState::kCancelled ? 1 : exit_of(job));
    }
    if (is_over) return code;
    session.sleep(kPollPause);
  }
}

}  // namespace

int run_sbatch(const Words& words) {
  Console console("sbatch");
  Words command_line = words;
  command_line.insert(command_line.begin(), "sbatch");
  const SubmittingProcess scene = submitting_process(std::move(command_line));

  // The command line is read twice: first for the script's place, then over what script and
  // environment set.
  SubmitOptions first;
  first.context = show_context("");
  const ReadWords operands = SubmitReader(console, first).read(words, OptionSource::kCommandLine);
  if (operands.exit_code) return *operands.exit_code;
  if (!operands.operands.empty() && operands.operands.front() == ":") {
    return console.fail(refused_option("a heterogeneous job (\":\")"));
  }
  const auto script = read_script(first, operands.operands, scene);
  if (!script.has_value()) return console.fail(script.error());
  // Refused here as by Slurm: empty, no interpreter, lines of DOS.
  if (const Status usable = check_batch_script(script->text, 0); !usable.has_value())
    return console.fail(usable.error());

  SubmitOptions options;
  options.context = first.context;
  SubmitReader reader(console, options);
  if (const auto code = read_directives(console, reader, first, *script)) return *code;
  if (const auto code = reader.read_environment()) return *code;
  // It was read once without complaint: this time it only sets values again.
  reader.read(words, OptionSource::kCommandLine);
  if (options.is_quiet) console.set_quiet();

  if (const auto code = complete_or_report(console, options)) return *code;
  auto variables = exported_environment(options, scene);
  if (!variables.has_value()) return console.fail(variables.error());

  Session session(console);
  const auto reply = submit_when_room(
      console, session, submission(options, scene, *script, std::move(variables).value()));
  if (!reply.has_value()) return refuse_job(console, Submitter::kBatch, reply.error());
  // A warning comes with a job that was accepted.
  for (const std::string& warning : reply->warnings) console.say(warning);
  if (reply->error && options.is_test_only) return refuse_test(console, *reply->error);
  if (reply->error) return refuse_job(console, Submitter::kBatch, *reply->error);
  if (options.is_test_only) {
    say_test_only(console, options, *reply);
    return 0;
  }
  print_id(options, reply->job);
  return options.is_wait
             ? wait_for_end(console, session, reply->job, !options.job.get(JobText::kArray).empty())
             : 0;
}

}  // namespace muster::cli
