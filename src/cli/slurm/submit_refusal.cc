// Refusals as Slurm words them, since scripts look for its lines, with one line more that says
// what to do. Who refuses decides the text and the exit code: getopt's mistakes, values that the
// command checks, and what Slurm leaves to its controller.

#include "cli/slurm/submit_refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace muster::cli {
namespace {

constexpr std::string_view kBadGres = "Invalid generic resource (gres) specification";

std::string_view failure_of(Submitter by) {
  // Each command introduces the controller's refusal in its own way.
  switch (by) {
    case Submitter::kBatch: return "Batch job submission failed";
    case Submitter::kAllocate: return "Job submit/allocate failed";
    case Submitter::kRun: return "Unable to allocate resources";
  }
  return "";
}

/// Slurm leaves these values to its controller: their refusal reads as the controller's, with its
/// exit code.
struct ControllersOption {
  std::string_view name;
  std::string_view message;
};
constexpr ControllersOption kControllers[] = {
    {"array", "Invalid job array specification"},
    {"constraint", "Invalid feature specification"},
    {"dependency", "Job dependency problem"},
    {"prefer", "Invalid preferred feature specification"},
};
constexpr std::string_view kGresOptions[] = {"gres", "gpus", "gpus-per-node", "gpus-per-task"};

std::string reason_of(const Error& error) {
  return error.detail.empty() ? error.message : error.detail;
}

/// An option as it is typed; a variable that has none goes by its own name.
std::string shown(const OptionValue& option) {
  const bool is_variable = option.name.front() >= 'A' && option.name.front() <= 'Z';
  return fmt::format("{}{}", is_variable ? "" : "--", option.name);
}

std::string joined(std::string_view first, std::string_view second) {
  return fmt::format("{}{}{}", first, first.empty() || second.empty() ? "" : ", ", second);
}

/// What Slurm says before the refusal itself.
void print_prelude(const Console& console, const Error& error) {
  if (error.cause == ErrorCause::kUnknownPartition) console.error(error.detail);
  if (error.cause == ErrorCause::kMemoryUnavailable)
    console.error("Memory specification can not be satisfied");
}

void print_cause(const Console& console, const Error& error) {
  // For the partition the prelude has said the detail.
  console.error(error.cause == ErrorCause::kUnknownPartition
                    ? "sinfo shows the partitions that there are"
                    : error.detail);
}

}  // namespace

int refuse_job(const Console& console, Submitter by, const Error& error) {
  print_prelude(console, error);
  console.error(fmt::format("{}: {}", failure_of(by), error.message));
  print_cause(console, error);
  return console.exit_error();
}

int refuse_test(const Console& console, const Error& error) {
  print_prelude(console, error);
  // --test-only of sbatch has no name of the command before it.
  const std::string line = fmt::format("allocation failure: {}\n", error.message);
  std::fwrite(line.data(), 1, line.size(), stderr);
  print_cause(console, error);
  return 1;
}

int refuse_value(const Console& console, Submitter by, const OptionValue& option,
                 const Error& error) {
  const std::string reason = joined(reason_of(error), option.origin);
  const std::string given = fmt::format("{}={}: {}", shown(option), option.value, reason);
  // Not supported: by name, before any text about the value.
  if (error.code == ErrorCode::kUnimplemented) {
    return console.fail(Error{error.code, error.message, joined(error.detail, option.origin)});
  }
  // The value was right, the request cannot be met: the controller's words.
  if (error.code == ErrorCode::kFailedPrecondition)
    return refuse_job(console, by, Error{error.code, error.message, given});
  // fatal and 1, whatever SLURM_EXIT_ERROR says.
  if (error.cause == ErrorCause::kExclusiveOptions) {
    console.fatal(error.message);
    return 1;
  }
  if (error.cause == ErrorCause::kNotANumber) {
    console.error(fmt::format("{} for {}.", error.message, shown(option)));
    console.error(option.origin);
    return 1;
  }
  if (error.cause == ErrorCause::kNodeCount) {
    console.error(error.message);
    console.error(joined(fmt::format("{}={}", shown(option), option.value), option.origin));
    // Slurm's exit code for what getopt or a parser refuses.
    return kExitBadOption;
  }
  const bool is_said_as_it_is = option.name == "hint" || option.name == "clusters" ||
                                option.name == "cluster" || option.name == "propagate";
  if (is_said_as_it_is) {
    console.error(error.message);
    if (option.name == "propagate")
      console.error(fmt::format("--propagate={} is not valid.", option.value));
    console.error(joined(error.detail, option.origin));
    return console.exit_error();
  }
  if (std::ranges::find(kGresOptions, option.name) != std::end(kGresOptions)) {
    console.error(kBadGres);
    console.error(given);
    return console.exit_error();
  }
  const auto controllers = std::ranges::find(kControllers, option.name, &ControllersOption::name);
  if (controllers != std::end(kControllers))
    return refuse_job(console, by, Error{error.code, std::string(controllers->message), given});
  // Everything else: the option's name, the reason, and the parser's exit code.
  console.error(Error{error.code, fmt::format("Invalid {} specification", shown(option)), reason});
  return kExitBadOption;
}

}  // namespace muster::cli
