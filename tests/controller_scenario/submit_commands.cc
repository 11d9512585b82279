// sbatch, salloc and srun: their options are read by the commands' own table.
#include <algorithm>
#include <optional>

#include "cli/slurm/job_request.h"
#include "cli/slurm/submit_options.h"
#include "tests/controller_scenario/commands.h"
#include "text/time_zone.h"

namespace muster::scenario {
namespace {

using cli::SubmitOptions;
using cli::Submitter;

const FixedZone kSubmitZone;

struct Submission {
  SubmitOptions options;
  cli::SubmittingProcess scene;
  cli::Words operands;
};

Result<Submission> read_options(Submitter by, std::string_view name, const CommandWords& words,
                                const CommandContext& context) {
  const cli::Console console{std::string(name)};
  Submission read;
  read.options.by = by;
  read.options.context.now = context.now;
  read.options.context.zone = &kSubmitZone;
  read.scene.command_line = words;
  read.scene.work_dir = "/home/" + context.user;
  read.scene.host = "login";
  cli::SubmitReader reader(console, read.options);
  const auto words_read = reader.read(words, cli::OptionSource::kCommandLine);
  auto code = words_read.exit_code;
  read.operands = words_read.operands;
  if (!code) code = cli::complete_or_report(console, read.options);
  if (code) {
    return fail(ErrorCode::kInvalidArgument, std::string(name) + " itself refuses this",
                "standard error says why");
  }
  return read;
}

SubmitJob submission(const Submission& read, JobKind kind, const std::string& name) {
  auto job = std::make_shared<JobSpec>(cli::job_of(read.options, read.scene));
  job->kind = kind;
  if (job->name().empty()) job->text.set(JobText::kName, name);
  SubmitJob submit;
  submit.spec = std::move(job);
  submit.environment = cli::as_bytes("");
  submit.is_test_only = read.options.is_test_only;
  return submit;
}

}  // namespace

Result<Request> read_sbatch(const CommandWords& words, const CommandContext& context) {
  const Submission read = TRY(read_options(Submitter::kBatch, "sbatch", words, context));
  SubmitJob submit =
      submission(read, JobKind::kBatch, read.operands.empty() ? "batch" : read.operands.front());
  submit.script = cli::as_bytes("#!/bin/sh\n");
  return Request(std::move(submit));
}

Result<Request> read_salloc(const CommandWords& words, const CommandContext& context) {
  const Submission read = TRY(read_options(Submitter::kAllocate, "salloc", words, context));
  return Request(submission(read, JobKind::kInteractive, "interactive"));
}

/// Inside of a job (--jobid) a step of it, else a job of its own.
Result<Request> read_srun(const CommandWords& words, const CommandContext& context) {
  Submission read = TRY(read_options(Submitter::kRun, "srun", words, context));
  if (read.operands.empty()) read.operands = {"true"};
  auto step = std::make_shared<StepSpec>(cli::step_of(read.options, read.scene, read.operands));
  if (read.options.inside)
    return Request(CreateStep{*read.options.inside, std::move(step), cli::as_bytes("")});
  SubmitJob submit = submission(read, JobKind::kRun, std::string(step->get(StepText::kName)));
  submit.first_step = std::move(step);
  return Request(std::move(submit));
}

}  // namespace muster::scenario
