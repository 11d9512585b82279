// scancel and scontrol, by the words that scenarios need.
#include <algorithm>
#include <csignal>
#include <map>

#include "cli/lib/job_selector.h"
#include "slurm/signal_text.h"
#include "slurm/time_text.h"
#include "tests/controller_scenario/commands.h"
#include "tests/scenario_text.h"
#include "text/words.h"
#include "workload/requests/job_requests.h"

namespace muster::scenario {
namespace {

tl::unexpected<Error> unknown(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "unknown " + what);
}

Status read_states(const std::string& text, JobFilter& filter) {
  for (const std::string& word : split_text(text, ',')) {
    const auto state = parse_job_state(word);
    if (!state) return unknown("state " + word);
    filter.states.push_back(*state);
  }
  return {};
}

/// The steps that scancel means by "12.0": those of that number that run.
std::vector<StepId> steps_of(const ClusterState& state, const JobSelector& selector) {
  std::vector<StepId> ids;
  const Job* job = state.jobs().find(selector.job);
  if (job == nullptr || job->run == nullptr) return ids;
  for (const StepState& step : job->run->steps) {
    if (step.id.step == *selector.step) ids.push_back(step.id);
  }
  return ids;
}

struct Cancel {
  CancelJobs jobs;
  std::vector<StepId> steps;
};

Status add_target(Cancel& cancel, const std::string& word, const CommandContext& context) {
  if (word == "--batch" || word == "-b") {
    cancel.jobs.batch_only = true;
  } else if (word == "--full" || word == "-f") {
    cancel.jobs.full = true;
  } else if (word == "--me") {
    cancel.jobs.filter.users = {context.user};
  } else {
    const JobSelector job = TRY(read_job(*context.state, word));
    if (!job.step) {
      cancel.jobs.filter.jobs.push_back(job);
      return {};
    }
    for (const StepId& step : steps_of(*context.state, job)) cancel.steps.push_back(step);
  }
  return {};
}

Status set_filter(CancelJobs& cancel, const std::string& key, const std::string& value) {
  JobFilter& filter = cancel.filter;
  if (key == "--signal") {
    cancel.signal = TRY(parse_signal(value));
  } else if (key == "--state") {
    return read_states(value, filter);
  } else if (key == "--user") {
    filter.users = split_text(value, ',');
  } else if (key == "--name") {
    filter.names = split_text(value, ',');
  } else if (key == "--partition") {
    filter.partitions = split_text(value, ',');
  } else if (key == "--nodelist") {
    filter.nodes = expand_hosts(value);
  } else if (key == "--from") {
    std::int64_t job = 0;
    if (!read_number(value, job)) return unknown("job " + value);
    cancel.asked_from = JobId(static_cast<std::uint32_t>(job));
  } else {
    return unknown("option " + key);
  }
  cancel.is_lenient = false;
  return {};
}

const std::map<std::string, JobVerb> kVerbs = {{"hold", JobVerb::kHold},
                                               {"uhold", JobVerb::kUserHold},
                                               {"release", JobVerb::kRelease},
                                               {"requeue", JobVerb::kRequeue},
                                               {"requeuehold", JobVerb::kRequeueHold},
                                               {"suspend", JobVerb::kSuspend},
                                               {"resume", JobVerb::kResume}};

Result<Request> read_verb(JobVerb verb, const CommandWords& words, const CommandContext& context) {
  ControlJobs control{verb, {}, {}};
  const Options options(words);
  if (options.get("state") == "SpecialExit") control.verb = JobVerb::kRequeueSpecialExit;
  control.asked_from = JobId(options.count("from"));
  for (const std::string& name : options.names())
    control.jobs.push_back(TRY(read_job(*context.state, name)));
  for (const std::string& problem : options.problems()) return unknown(problem);
  return Request(std::move(control));
}

/// "job 12 Key=Value ...", "nodename=n1 Key=Value ...".
Result<Request> read_update(const CommandWords& words, const CommandContext& context) {
  static const std::map<std::string, UpdateKind> kKinds = {
      {"job", UpdateKind::kJob},
      {"jobid", UpdateKind::kJob},
      {"node", UpdateKind::kNode},
      {"nodename", UpdateKind::kNode},
      {"partition", UpdateKind::kPartition},
      {"partitionname", UpdateKind::kPartition}};
  static const FixedZone kUtc;
  UpdateObject object;
  bool is_named = false;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string key = lower(word.substr(0, equals));
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (!is_named && kKinds.contains(key)) {
      object.kind = kKinds.at(key);
      object.name = value;
      is_named = !value.empty();
      continue;
    }
    if (!is_named && equals == std::string::npos) {
      object.name = word;
      is_named = true;
      continue;
    }
    if (equals == std::string::npos) return unknown("word " + word);
    if (key == "starttime" || key == "eligibletime") {
      const TimePoint time = TRY(parse_time(value, TimeContext{context.now, kUtc}));
      value = std::to_string(time.seconds());
    }
    object.values.emplace_back(word.substr(0, equals), value);
  }
  if (object.kind == UpdateKind::kJob)
    object.name = cli::selector_text(TRY(read_job(*context.state, object.name)));
  return Request(std::move(object));
}

}  // namespace

Result<std::vector<Request>> read_scancel(const CommandWords& words,
                                          const CommandContext& context) {
  static const std::map<std::string, std::string> kShort = {
      {"-s", "--signal"}, {"-t", "--state"},     {"-u", "--user"},
      {"-n", "--name"},   {"-p", "--partition"}, {"-w", "--nodelist"}};
  Cancel cancel;
  cancel.jobs.is_lenient = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (const auto full = kShort.find(words[i]); full != kShort.end() && i + 1 < words.size()) {
      TRY(set_filter(cancel.jobs, full->second, words[i + 1]));
      ++i;
    } else if (equals != std::string::npos) {
      TRY(set_filter(cancel.jobs, words[i].substr(0, equals), words[i].substr(equals + 1)));
    } else {
      TRY(add_target(cancel, words[i], context));
    }
  }
  std::vector<Request> requests;
  for (const StepId& step : cancel.steps) {
    const std::uint16_t signal =
        cancel.jobs.signal == 0 ? std::uint16_t{SIGKILL} : cancel.jobs.signal;
    requests.emplace_back(CancelStep{step, signal, cancel.jobs.asked_from});
  }
  if (cancel.steps.empty()) requests.emplace_back(std::move(cancel.jobs));
  return requests;
}

Result<std::vector<Request>> read_scontrol(const CommandWords& words,
                                           const CommandContext& context) {
  if (words.empty()) return unknown("scontrol without a verb");
  const CommandWords rest(words.begin() + 1, words.end());
  std::vector<Request> requests;
  if (words.front() == "update") {
    requests.push_back(TRY(read_update(rest, context)));
  } else if (const auto verb = kVerbs.find(words.front()); verb != kVerbs.end()) {
    requests.push_back(TRY(read_verb(verb->second, rest, context)));
  } else {
    return unknown("verb " + words.front());
  }
  return requests;
}

Result<JobSelector> read_job(const ClusterState& state, const std::string& text) {
  std::int64_t trial = 0;
  if (!text.starts_with('t') || !read_number(text.substr(1), trial))
    return cli::parse_job_selector(text);
  const Trial* found = state.experiments().find(TrialId(static_cast<std::uint32_t>(trial)));
  if (found == nullptr) return fail(ErrorCode::kNotFound, "no trial " + text.substr(1));
  JobSelector selector;
  selector.job = found->job;
  return selector;
}

Result<JobId> read_one_job(const ClusterState& state, const std::string& text) {
  const JobSelector selector = TRY(read_job(state, text));
  auto jobs = TRY(requests::resolve(state, selector));
  if (!selector.is_element) jobs = {selector.job};
  if (jobs.size() != 1 || state.jobs().find(jobs.front()) == nullptr)
    return fail(ErrorCode::kNotFound, "no single job " + text);
  return jobs.front();
}

Result<std::vector<Request>> read_command(const std::vector<std::string>& words,
                                          const CommandContext& context) {
  using Read = Result<Request> (*)(const CommandWords&, const CommandContext&);
  static const std::map<std::string, Read> kSingle = {{"sbatch", read_sbatch},
                                                      {"salloc", read_salloc},
                                                      {"srun", read_srun},
                                                      {"experiment", read_experiment}};
  if (words.empty()) return unknown("command of nobody's");
  const CommandWords rest(words.begin() + 1, words.end());
  if (words.front() == "scancel") return read_scancel(rest, context);
  if (words.front() == "scontrol") return read_scontrol(rest, context);
  const auto single = kSingle.find(words.front());
  if (single == kSingle.end()) return unknown("command " + words.front());
  std::vector<Request> requests;
  requests.push_back(TRY(single->second(rest, context)));
  return requests;
}

}  // namespace muster::scenario
