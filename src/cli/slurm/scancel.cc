// scancel: ends or signals jobs and steps.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "cli/lib/commands.h"
#include "cli/lib/filters.h"
#include "cli/lib/job_selector.h"
#include "cli/lib/job_text.h"
#include "cli/lib/option_reader.h"
#include "cli/lib/session.h"
#include "slurm/signal_text.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// Slurm's numbers of the failures that scancel exits with, cut to a byte as it does.
/// ESLURM_INVALID_JOB_ID, ESLURM_ALREADY_DONE and ESLURM_ACCESS_DENIED of slurm_errno.h.
constexpr int kExitInvalidJob = 2017 & 0xff;
constexpr int kExitAlreadyDone = 2021 & 0xff;
constexpr int kExitDenied = 2002 & 0xff;

struct ScancelOptions {
  JobFilter filter;
  std::uint16_t signal = 0;
  bool batch_only = false;
  bool full = false;
  bool is_asking = false;
  bool is_quiet = false;
  bool is_cluster_named = false;
  bool is_filtered = false;  ///< some other option than ids: failures are said
  std::uint32_t verbosity = 0;
};

using O = ScancelOptions;
using Value = std::string_view;

template <std::vector<std::string> JobFilter::*Member>
Status names(O& options, Value value) {
  options.filter.*Member = split_list(value);
  options.is_filtered = true;
  return {};
}
template <bool O::*Member>
Status filter_flag(O& options, Value) {
  options.*Member = options.is_filtered = true;
  return {};
}
Status filtered(O& options, Value) {
  options.is_filtered = true;
  return {};
}
Status signal(O& options, Value value) {
  options.signal = TRY(parse_signal(value));
  options.is_filtered = true;
  return {};
}
Status states(O& options, Value value) {
  const StateFilter parsed = TRY(parse_states(value));
  for (const JobState state : parsed.states) {
    // There is nothing left to cancel in a job that has ended.
    if (is_finished(state))
      return fail(
          ErrorCode::kInvalidArgument,
          "Invalid job state specified. Only PENDING, RUNNING and SUSPENDED jobs can be cancelled");
  }
  options.filter.states = parsed.states;
  options.is_filtered = true;
  return {};
}
Status users(O& options, Value value) {
  options.is_filtered = true;
  // An option replaces what SCANCEL_USER has set.
  options.filter.uids.clear();
  options.filter.users.clear();
  return add_users(value, options.filter);
}
Status me(O& options, Value) {
  add_me(options.filter);
  options.is_filtered = true;
  return {};
}
Status nodes(O& options, Value value) {
  options.is_filtered = true;
  return add_nodes(value, options.filter.nodes);
}
Status clusters(O& options, Value value) {
  options.is_cluster_named = true;
  return check_clusters(value);
}
Status verbose(O& options, Value) {
  ++options.verbosity;
  return {};
}

constexpr OptionRow<O> kOptions[] = {
    {"account", 'A', Takes::kValue, names<&JobFilter::accounts>, "only jobs of these accounts"},
    {"admin-comment", 0, Takes::kValue, nullptr, ""},
    {"batch", 'b', Takes::kNothing, filter_flag<&O::batch_only>, "signal the batch script alone"},
    {"clusters", 'M', Takes::kValue, clusters, "this cluster's own name; there are no others"},
    {"cron", 'c', Takes::kNothing, nullptr, ""},
    {"ctld", 0, Takes::kNothing, filtered, "say what fails (requests always go to the controller)"},
    {"full", 'f', Takes::kNothing, filter_flag<&O::full>, "signal the batch script and its steps"},
    {"hurry", 'H', Takes::kNothing, nullptr, ""},
    {"interactive", 'i', Takes::kNothing, filter_flag<&O::is_asking>, "ask before each job"},
    {"jobname", 0, Takes::kValue, names<&JobFilter::names>, ""},
    {"me", 0, Takes::kNothing, me, "only my jobs"},
    {"name", 'n', Takes::kValue, names<&JobFilter::names>, "only jobs of these names"},
    {"nodelist", 'w', Takes::kValue, nodes, "only jobs on these nodes"},
    {"partition", 'p', Takes::kValue, names<&JobFilter::partitions>,
     "only jobs of these partitions"},
    {"qos", 'q', Takes::kValue, names<&JobFilter::qos>, "only jobs of these qualities of service"},
    {"quiet", 'Q', Takes::kNothing, set_flag<&O::is_quiet>, "say nothing about ended jobs"},
    {"reservation", 'R', Takes::kValue, names<&JobFilter::reservations>,
     "only jobs of these reservations"},
    {"sibling", 0, Takes::kValue, nullptr, ""},
    {"signal", 's', Takes::kValue, signal, "send this signal instead of ending"},
    {"state", 't', Takes::kValue, states, "only jobs in these states"},
    {"user", 'u', Takes::kValue, users, "only jobs of these users"},
    {"verbose", 'v', Takes::kNothing, verbose, "say what is done"},
    {"wckey", 0, Takes::kValue, names<&JobFilter::wckeys>, "only jobs of these keys"},
};

/// What stands in the environment holds as if it were an option; a flag by being there, whatever
/// its value. An option of the same name overrides it.
Status read_environment(O& options) {
  struct Variable {
    const char* name;
    Status (*set)(O&, Value);
  };
  static constexpr Variable kVariables[] = {{"SCANCEL_ACCOUNT", names<&JobFilter::accounts>},
                                            {"SCANCEL_BATCH", filter_flag<&O::batch_only>},
                                            {"SCANCEL_CTLD", filtered},
                                            {"SCANCEL_CRON", nullptr},
                                            {"SCANCEL_FULL", filter_flag<&O::full>},
                                            {"SCANCEL_HURRY", nullptr},
                                            {"SCANCEL_INTERACTIVE", filter_flag<&O::is_asking>},
                                            {"SCANCEL_NAME", names<&JobFilter::names>},
                                            {"SCANCEL_PARTITION", names<&JobFilter::partitions>},
                                            {"SCANCEL_QOS", names<&JobFilter::qos>},
                                            {"SCANCEL_STATE", states},
                                            {"SCANCEL_USER", users},
                                            {"SCANCEL_VERBOSE", verbose},
                                            {"SCANCEL_WCKEY", names<&JobFilter::wckeys>}};
  for (const Variable& variable : kVariables) {
    const auto value = environment_value(variable.name);
    // An empty variable is none.
    if (value.empty()) continue;
    // By name: it would have changed which jobs are ended.
    if (variable.set == nullptr)
      return fail(ErrorCode::kUnimplemented,
                  fmt::format("{} is not supported by Muster yet", variable.name), "unset it");
    TRY(variable.set(options, value));
  }
  return {};
}

int exit_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound: return kExitInvalidJob;
    case ErrorCode::kFailedPrecondition: return kExitAlreadyDone;
    case ErrorCode::kPermissionDenied: return kExitDenied;
    default: return 1;
  }
}

/// What was done to one job or step, or why not. The exit code of it.
int report(const Console& console, const O& options, const JobOutcome& outcome) {
  const std::string id = selector_text(outcome.job);
  if (!outcome.error) return 0;
  const bool is_over = outcome.error->code == ErrorCode::kFailedPrecondition;
  if (is_over && options.is_quiet) return 0;
  console.error(fmt::format("Kill job error on {} id {}: {}", outcome.job.step ? "job step" : "job",
                            id, outcome.error->message));
  // Of a step that is over Slurm's scancel says no more than that. Source: Slurm 22.05.8.
  const bool is_plain =
      outcome.error->code == ErrorCode::kNotFound || (outcome.job.step && is_over);
  return is_plain ? console.exit_error() : exit_of(*outcome.error);
}

void announce(const Console& console, const O& options, const JobSelector& job) {
  if (options.verbosity == 0) return;
  const std::string id = selector_text(job);
  const std::string_view noun = job.step ? "step" : "job";
  console.say(options.signal != 0 ? fmt::format("Signal {} to {} {}", options.signal, noun, id)
                                  : fmt::format("Terminating {} {}", noun, id));
}

bool is_confirmed(const JobView& job) {
  print(fmt::format("Cancel job_id={} name={} partition={} [y/n]? ", job_id_text(job),
                    job.spec->name(), job.partition));
  std::fflush(stdout);
  std::string answer;
  // Anything but y is no; the end of input, too.
  return std::getline(std::cin, answer) && !answer.empty() && to_lower(answer.front()) == 'y';
}

/// With -i the filter becomes the ids that were said yes to.
Status confirm(Session& session, O& options) {
  Query query;
  query.filter = options.filter;
  // Only what can still be cancelled is asked about.
  query.filter.is_active_only = true;
  options.filter.jobs.clear();
  for (const JobView& job : TRY(session.query(query)).jobs) {
    const bool is_record = job.array_job.value() != 0 && !job.array_index;
    if (is_record && job.array_remaining_count == 0) continue;
    if (!is_confirmed(job)) continue;
    options.filter.jobs.push_back(TRY(selector_of(job)));
  }
  return {};
}

/// "job_name=a,b partition=main": the conditions of a filter.
std::string filter_text(const JobFilter& filter) {
  std::string text;
  const auto add = [&text](std::string_view name, const auto& values) {
    if (!values.empty())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, fmt::join(values, ","));
  };
  std::vector<std::string_view> states;
  for (const JobState state : filter.states) states.push_back(job_state_name(state));
  add("account", filter.accounts);
  add("job_name", filter.names);
  add("nodelist", filter.nodes);
  add("partition", filter.partitions);
  add("qos", filter.qos);
  add("reservation", filter.reservations);
  add("state", states);
  add("user_name", filter.users);
  add("user_id", filter.uids);
  add("wckey", filter.wckeys);
  return text;
}

Result<int> cancel_jobs(const Console& console, Session& session, const O& options) {
  CancelJobs cancel;
  cancel.filter = options.filter;
  std::erase_if(cancel.filter.jobs, [](const JobSelector& job) { return job.step.has_value(); });
  const bool is_by_id = !cancel.filter.jobs.empty();
  // Ids of steps alone: without them the filter would mean every job.
  if (!is_by_id && !options.filter.jobs.empty()) return 0;
  cancel.signal = options.signal;
  cancel.batch_only = options.batch_only;
  cancel.full = options.full;
  // By id alone Slurm stays silent about what is gone.
  cancel.is_lenient = !options.is_filtered;
  // A job that cancels itself has its answer before its end.
  cancel.asked_from = own_job();
  for (const JobSelector& job : cancel.filter.jobs) announce(console, options, job);
  const Reply reply = TRY(session.submit_one(cancel));
  if (reply.error) return fail(*reply.error);
  int code = 0;
  for (const JobOutcome& outcome : reply.outcomes) {
    // With a filter the controller alone knows which jobs those are.
    if (!is_by_id) announce(console, options, outcome.job);
    code = std::max(code, report(console, options, outcome));
  }
  // Only with -v, and the exit code stays 0: no match is no failure.
  if (reply.outcomes.empty() && options.verbosity > 0) {
    console.error(fmt::format("No active jobs match ALL job filters, including: {}",
                              filter_text(options.filter)));
  }
  return code;
}

/// The run that a step belongs to: a step's number alone would name one of an earlier run too.
Result<std::vector<StepId>> steps_of(Session& session, const JobSelector& selector) {
  Query query;
  query.kind = QueryKind::kSteps;
  query.filter.jobs.push_back(selector);
  query.filter.jobs.back().step.reset();
  std::vector<StepId> ids;
  for (const StepView& step : TRY(session.query(query)).steps) {
    if (step.id.step == *selector.step) ids.push_back(step.id);
  }
  if (ids.empty())
    return fail(ErrorCode::kFailedPrecondition, "Job/step already completing or completed");
  return ids;
}

int cancel_step(const Console& console, Session& session, const O& options,
                const JobSelector& selector) {
  announce(console, options, selector);
  JobOutcome outcome{selector, std::nullopt};
  const auto steps = steps_of(session, selector);
  if (!steps.has_value()) outcome.error = steps.error();
  for (const StepId& id : steps.value_or(std::vector<StepId>{})) {
    const auto reply = session.submit_one(
        // Without --signal a step is killed, and not asked to end first.
        CancelStep{id, options.signal == 0 ? std::uint16_t{SIGKILL} : options.signal, own_job()});
    outcome.error = reply.has_value() ? reply->error : std::optional<Error>(reply.error());
  }
  return report(console, options, outcome);
}

}  // namespace

int run_scancel(const Words& words) {
  const Console console("scancel");
  ScancelOptions options;
  const Status environment = read_environment(options);
  if (!environment.has_value()) return console.fail(environment.error());
  const auto read = read_options<O>(
      console, words, kOptions, Operands::kAnywhere, options,
      {"Usage: scancel [OPTIONS] [JOB[_INDEX][.STEP] ...]\n"
       "Ends jobs, or with --signal signals them; by id, by filter, or both.\n",
       "Usage: scancel [-A account] [--batch] [--full] [--interactive] [-n job_name]",
       "[job_id[_array_id][.step_id]]"});
  if (read.exit_code) return *read.exit_code;
  const Status own_cluster = check_clusters_variable(options.is_cluster_named);
  if (!own_cluster.has_value()) return console.fail(own_cluster.error());
  for (const std::string& word : read.operands) {
    auto selectors = parse_job_selectors(word);
    if (!selectors.has_value())
      return console.fail(
          Error{ErrorCode::kInvalidArgument, fmt::format("Invalid job id {}", word), ""});
    for (JobSelector& job : *selectors) {
      // Failures of steps are always said.
      options.is_filtered = options.is_filtered || job.step.has_value();
      options.filter.jobs.push_back(std::move(job));
    }
  }
  // Nothing that says which: every job would be ended.
  if (options.filter == JobFilter{}) {
    return console.fail(Error{ErrorCode::kInvalidArgument, "No job identification provided",
                              "name a job, or a filter such as --me"});
  }
  Session session(console);
  if (options.is_asking) {
    const Status confirmed = confirm(session, options);
    if (!confirmed.has_value()) return console.fail(confirmed.error());
    // Everything was declined: an empty list must not turn into no list.
    if (options.filter.jobs.empty()) return 0;
  }
  const auto code = cancel_jobs(console, session, options);
  if (!code.has_value()) return console.fail(code.error());
  int worst = *code;
  for (const JobSelector& job : options.filter.jobs) {
    // The highest code of all.
    if (job.step) worst = std::max(worst, cancel_step(console, session, options, job));
  }
  return worst;
}

}  // namespace muster::cli
