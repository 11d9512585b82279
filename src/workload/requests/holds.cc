// Who may hold and release what. Holds are bits: user, operator, requeue, trial. Any of them keeps
// a job from planning, and priority 0 shows it, as in Slurm.
#include "workload/requests/holds.h"

#include "admission/job_check.h"
#include "state/trial_of_job.h"

namespace muster::requests {
namespace {

/// What keeps a trial back is not the job's hold but its experiment's, or its search's.
std::optional<Error> check_trial_hold(const Draft& draft, const Job& job) {
  if ((job.flags & job_flag::kTrialHeld) == 0) return std::nullopt;
  const Trial* trial = trial_of(draft.state(), job);
  if (trial == nullptr) return std::nullopt;
  if (trial->is_waiting)
    return precondition("Job is held by its search",
                        "it goes on when the search takes its trial further");
  if (trial->awaits_source)
    return precondition("Job is held by its search",
                        "it begins when the trial that it copies has saved");
  return precondition("Job is held by its experiment", "see muster experiment activate");
}

}  // namespace

Error precondition(const char* message, const char* detail) {
  return Error{ErrorCode::kFailedPrecondition, message, detail};
}

std::optional<Error> hold_job(const Job& job, const Identity& identity, bool as_user,
                              JobChanged& change) {
  if (is_finished(job.state) && (job.flags & job_flag::kRequeueAfter) == 0)
    return precondition("Job/step already completing or completed",
                        "only a job that waits or runs can be held");
  if (!job.is_pending() && job.spec->trial.value() != 0) {
    return precondition("Job is no longer pending execution",
                        "a trial that runs is held by muster experiment pause");
  }
  // Source: scontrol(1), hold: by an operator only an operator can release it; uhold leaves it to
  // the owner.
  const bool by_admin = identity.is_operator && !as_user;
  const std::uint16_t bit = by_admin ? job_flag::kAdminHeld : job_flag::kUserHeld;
  change.flags = static_cast<std::uint16_t>((job.flags & job_flag::kAnyHold) | bit);
  change.priority = 0;
  if (job.is_pending())
    change.reason = by_admin ? PendingReason::kJobHeldAdmin : PendingReason::kJobHeldUser;
  return std::nullopt;
}

std::optional<Error> release_job(const Draft& draft, const Job& job, const Identity& identity,
                                 JobChanged& change) {
  if (auto refused = check_trial_hold(draft, job)) return refused;
  if ((job.flags & job_flag::kAdminHeld) != 0 && !identity.is_operator)
    return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                 "an operator holds this job"};
  change.flags = std::uint16_t{0};
  // Without a priority of its own a job has 1, less its nice value.
  change.priority = job.spec->priority != 0 ? job.spec->priority : 1 - std::int64_t{job.spec->nice};
  if (job.is_pending()) change.reason = PendingReason::kNone;
  // Not retroactive: eligible from now at the earliest.
  if (job.is_pending() && job.eligible_time.is_set())
    change.eligible_time = admission::eligible_from(draft.now(), *job.spec, job.dependencies.get());
  return std::nullopt;
}

std::optional<Error> check_release_is_due(const Job& job) {
  if ((job.flags & job_flag::kRequeueAfter) == 0 || job.hold_after == 0) return std::nullopt;
  return precondition("Job/step already completing or completed",
                      "it comes back held: release it when it waits again");
}

}  // namespace muster::requests
