// Validates requests about experiments and trials and drafts the events that they mean.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/draft.h"

namespace muster::requests {

/// Drafts ExperimentCreated; its search begins once that is durable. Errors: as of a submission,
/// for one trial's job.
Result<Reply> create_experiment(Draft& draft, const PreparedExperiment& prepared,
                                const Identity& identity);

/// The most events about trials in one draft, when a verb or an end concerns many of them: the rest
/// follows with carry_on.
inline constexpr std::size_t kTrialEventsPerDraft = 256;
/// Drafts what the state that the experiment is in means for its trials that do not know it yet:
/// paused, activated, asked to stop or ended, from index `first` of its list on. Returns where to
/// continue; the end of the list: nothing is left. Cost: the trials looked at.
std::size_t carry_on(Draft& draft, const Experiment& experiment, std::size_t first,
                     const Identity& identity);

/// Controls experiments, with one outcome for each. A verb that changes nothing is no error.
Reply control_experiments(Draft& draft, const ControlExperiments& control,
                          const Identity& identity);

Reply update_experiment(Draft& draft, const UpdateExperiment& update, const Identity& identity);

/// Drafts the operations of a custom search's client. Errors: kNotFound, kPermissionDenied;
/// kFailedPrecondition: it is no custom search. When it has ended nothing happens.
Reply operate_search(Draft& draft, const OperateSearch& operate, const Identity& identity);

/// Drafts a report of a trial's present run. What is older than the run, or repeats what is known,
/// changes nothing. Errors: kNotFound; kFailedPrecondition for a run that is not the present one;
/// kInvalidArgument without the time metric.
Reply report_trial(Draft& draft, const ReportTrial& report, const Identity& identity);
Reply flag_trial(Draft& draft, const FlagTrial& flag, const Identity& identity);

/// Drafts what a search decided: trials with their jobs, stops, continuations. A decision that was
/// made already, or of an experiment that is not searching any more, drafts nothing. Errors:
/// kResourceExhausted: to be asked again.
Reply decide(Draft& draft, const SearchDecision& decision);

/// Ends an experiment whose budget is used up, its runs within a minute. Requires: it is searching.
void stop_for_budget(Draft& draft, const Experiment& experiment);

}  // namespace muster::requests
