#include "platform/requests/log_calls.h"

#include <fmt/format.h>

#include "access/experiment_access.h"
#include "platform/rules/log_rules.h"

namespace muster::requests {
namespace {

// As Determined's log_retention_days, 16 bits.
constexpr std::int32_t kDaysMax = 32767;

Error no_trial(TrialId id) {
  return Error{ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), ""};
}

}  // namespace

Reply record_log_match(Draft& draft, const RecordLogMatch& note) {
  const Trial* trial = draft.state().experiments().find(note.trial);
  if (trial == nullptr) return refused(no_trial(note.trial));
  const Job* job = draft.state().jobs().find(trial->job);
  // Bounds of what the log thread may say: it may be late, but not of a run that never was.
  const bool is_run = note.match.run > 0 && (job == nullptr || note.match.run <= run_number(*job));
  if (!is_run || note.node.value() >= draft.state().nodes().all().size()) {
    return refused(
        {ErrorCode::kInvalidArgument,
         fmt::format("trial {} has had no run {} on that node", note.trial.value(), note.match.run),
         ""});
  }
  LogMatch match = note.match;
  // By name: nodes may be renumbered, and people read it.
  match.node = draft.state().nodes().at(note.node).config.name;
  if (is_known(*trial, match)) return {};
  draft.add(LogMatched{note.trial, match});
  LogConsequence consequence = consequence_of(draft.state(), *trial, match);
  if (consequence.spec != nullptr) {
    JobChanged change;
    change.job = trial->job;
    change.spec = std::move(consequence.spec);
    draft.add(std::move(change));
  }
  if (!consequence.end.empty()) {
    JobEnding ending;
    ending.job = trial->job;
    ending.state = JobState::kFailed;
    ending.detail = std::move(consequence.end);
    draft.add(std::move(ending));
  }
  return {};
}

Reply set_log_retention(Draft& draft, const SetLogRetention& set, const Identity& identity) {
  if (set.days < -1 || set.days > kDaysMax) {
    return refused({ErrorCode::kInvalidArgument,
                    fmt::format("logs cannot be kept for {} days", set.days),
                    fmt::format("give 0 to {}, or -1 for ever", kDaysMax)});
  }
  ExperimentId id = set.experiment;
  if (set.trial.value() != 0) {
    const Trial* trial = draft.state().experiments().find(set.trial);
    if (trial == nullptr) return refused(no_trial(set.trial));
    id = trial->experiment;
  }
  const auto own = access::find_own(draft.state(), id, identity);
  if (!own.has_value()) return refused(own.error());
  draft.add(LogRetentionSet{id, set.trial, set.days});
  return {};
}

}  // namespace muster::requests
