// What the log thread must know of experiments, trials and runs, gathered from events: it cannot
// ask the state, which is another thread's. Rules are compiled when a trial first writes, since
// most experiments never match anything.
#include "platform/logs/log_book.h"

#include <algorithm>

#include "platform/config/prepare_experiment.h"
#include "trials/output_metrics.h"

namespace muster {
namespace {

/// Experiments whose rules are kept ready.
constexpr std::size_t kRulesKept = 64;

// Kept in step with Follower: a batch without any of these is not sent to the log thread.
struct Concerns {
  template <class Body>
  bool operator()(const Body&) const {
    return std::is_same_v<Body, ExperimentCreated> || std::is_same_v<Body, ExperimentContinued> ||
           std::is_same_v<Body, ExperimentDeleted> || std::is_same_v<Body, SearchDecided> ||
           std::is_same_v<Body, JobRequeued> || std::is_same_v<Body, RunSignalled> ||
           std::is_same_v<Body, LogMatched> || std::is_same_v<Body, TrialEnded>;
  }
  bool operator()(const JobSubmitted& event) const { return event.spec->trial.value() != 0; }
};

/// Whatever stands before and behind it, a line matches or not: without these a match is found
/// sooner.
std::string_view core_of(std::string_view pattern) {
  // ".*?" is lazy and "\.*" an escaped dot: neither may be cut.
  while (pattern.starts_with(".*") && !pattern.starts_with(".*?")) pattern.remove_prefix(2);
  while (pattern.ends_with(".*") && !pattern.ends_with("\\.*")) pattern.remove_suffix(2);
  return pattern;
}

Result<std::shared_ptr<const logs::LogPattern>> compiled(const LogPolicy& policy) {
  LogFilter filter;
  filter.is_regex = true;
  // Without its ends first; where nothing is left of it, or it does not compile so, as a whole.
  for (const std::string_view text : {core_of(policy.pattern), std::string_view(policy.pattern)}) {
    filter.text = text;
    auto pattern = logs::LogPattern::compile(filter);
    if (pattern.has_value() && !text.empty())
      return std::shared_ptr<const logs::LogPattern>(std::move(pattern).value());
    if (text == policy.pattern) return fail(pattern.error());
  }
  return fail(ErrorCode::kInternal, "not reached");
}

}  // namespace

bool concerns_logs(const EventBatch& batch) {
  return std::ranges::any_of(batch.events,
                             [](const Event& event) { return visit(Concerns{}, event.body); });
}

WatchRules watch_rules_of(const ExperimentConfig& config) {
  WatchRules rules;
  rules.metric = config.search.metric;
  rules.reads_metrics = output_metrics_wish(config.environment_variables) != "0";
  for (const LogPolicy& policy : config.log_policies) {
    if (policy.pattern.empty()) continue;
    auto pattern = compiled(policy);
    // The form was checked when it was created: what fails here is of another version, and ignored.
    if (!pattern.has_value()) continue;
    rules.policies.push_back({policy, std::move(pattern).value()});
    // Unnamed policies go by their pattern.
    if (policy.name.empty()) rules.policies.back().policy.name = policy.pattern;
  }
  return rules;
}

struct LogBook::Follower {
  LogBook& book;
  template <class Body>
  void operator()(const Body&) {}
  void operator()(const ExperimentCreated& event) {
    book.experiments_[event.experiment] = event.spec;
  }
  void operator()(const ExperimentContinued& event) {
    book.experiments_[event.experiment] = event.spec;
    book.rules_.erase(event.experiment);
  }
  void operator()(const ExperimentDeleted& event) {
    book.experiments_.erase(event.experiment);
    book.rules_.erase(event.experiment);
    std::erase_if(book.trials_,
                  [&](const auto& entry) { return entry.second.experiment == event.experiment; });
  }
  void operator()(const SearchDecided& event) {
    for (std::size_t i = 0; i < event.created.size(); ++i) {
      book.trials_[TrialId(event.first_trial.value() + static_cast<std::uint32_t>(i))].experiment =
          event.experiment;
    }
  }
  void operator()(const JobSubmitted& event) {
    if (event.spec->trial.value() == 0) return;
    book.jobs_[event.job] = event.spec->trial;
    Watched& trial = book.trials_[event.spec->trial];
    trial.job = event.job;
    // The number of the first run: the job may continue another's.
    trial.run = event.spec->runs_before + 1;
    trial.has_session = false;
  }
  void operator()(const JobRequeued& event) {
    const auto found = book.jobs_.find(event.job);
    if (found == book.jobs_.end()) return;
    Watched& trial = book.trials_[found->second];
    // The next run has a number and a session of its own.
    ++trial.run;
    trial.has_session = false;
  }
  void operator()(const RunSignalled& event) {
    const auto found = book.jobs_.find(event.job);
    if (found != book.jobs_.end() && event.note == RunSignal::kSession)
      book.trials_[found->second].has_session = true;
  }
  void operator()(const LogMatched& event) {
    book.record_match(event.trial, event.match.run, event.match.policy);
  }
  // By the trial, since the job's number may be another's by then.
  void operator()(const TrialEnded& event) { book.jobs_.erase(book.trials_[event.trial].job); }
};

void LogBook::load(const ClusterState& state) {
  for (const auto& [id, experiment] : state.experiments().experiments())
    experiments_[id] = experiment.spec;
  for (const auto& [id, trial] : state.experiments().trials()) {
    Watched& watched = trials_[id];
    watched.experiment = trial.experiment;
    watched.job = trial.job;
    for (const LogMatch& match : trial.log_matches)
      watched.matched.emplace(match.run, match.policy);
    // Gone from memory: over, and what it wrote is still accepted.
    const Job* job = state.jobs().find(trial.job);
    if (job == nullptr) continue;
    watched.run = run_number(*job);
    watched.has_session = job->run != nullptr && job->run->has_session;
    if (!trial.is_over()) jobs_[trial.job] = id;
  }
}

void LogBook::apply(const EventBatch& batch) {
  for (const Event& event : batch.events) visit(Follower{*this}, event.body);
}

const WatchRules* LogBook::rules_of(TrialId trial) {
  const auto found = trials_.find(trial);
  if (found == trials_.end()) return nullptr;
  const auto known = rules_.find(found->second.experiment);
  if (known != rules_.end()) return known->second.get();
  // All are dropped when there are too many, since each is quickly made again.
  if (rules_.size() >= kRulesKept) rules_.clear();
  const auto config = config_of(*experiments_.at(found->second.experiment));
  auto rules = std::make_unique<const WatchRules>(config.has_value() ? watch_rules_of(*config)
                                                                     : WatchRules());
  return rules_.emplace(found->second.experiment, std::move(rules)).first->second.get();
}

bool LogBook::is_matched(TrialId trial, std::uint32_t run, const std::string& policy) const {
  const auto found = trials_.find(trial);
  return found != trials_.end() && found->second.matched.contains({run, policy});
}

void LogBook::record_match(TrialId trial, std::uint32_t run, const std::string& policy) {
  trials_[trial].matched.emplace(run, policy);
}

bool LogBook::has_session(TrialId trial, std::uint32_t run) const {
  const auto found = trials_.find(trial);
  return found != trials_.end() && found->second.run == run && found->second.has_session;
}

}  // namespace muster
