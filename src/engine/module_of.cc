// Both answers by the compiler: a kind without a module does not compile.
#include "engine/module_of.h"

namespace muster {

ModuleName module_of(const PreparedRequest& request) {
  return visit(
      []<class Kind>(const Kind&) {
        static_assert(WorkloadRequest<Kind> != PlatformRequest<Kind>,
                      "a kind of request stands in the list of one module");
        return WorkloadRequest<Kind> ? ModuleName::kWorkload : ModuleName::kPlatform;
      },
      request);
}

ModuleName module_of(TimerKind kind) {
  switch (kind) {
    case TimerKind::kLimit:
    case TimerKind::kWarning:
    case TimerKind::kLease:
    case TimerKind::kDeadline:
    case TimerKind::kEligible:
    case TimerKind::kTimeShare:
    case TimerKind::kStop: return ModuleName::kWorkload;
    case TimerKind::kTrialLimit:
    case TimerKind::kBudget: return ModuleName::kPlatform;
  }
  return ModuleName::kWorkload;
}

bool is_new_work(const PreparedRequest& request) {
  // What a full disk refuses. Ends, holds and reports are accepted as long as there is room.
  return holds_alternative<PreparedSubmit>(request) || holds_alternative<PreparedStep>(request) ||
         holds_alternative<PreparedExperiment>(request) ||
         holds_alternative<SearchDecision>(request);
}

bool must_stand_alone(const PreparedRequest& request) {
  const auto* cancel = get_if<CancelJobs>(&request);
  // A filter may meet any number of jobs: it is a sweep of its own.
  const bool is_of_a_filter = cancel != nullptr && cancel->filter.jobs.empty();
  return is_of_a_filter || holds_alternative<PreparedStep>(request) ||
         module_of(request) == ModuleName::kPlatform;
}

JobId asking_job(const PreparedRequest& request) {
  if (const auto* cancel = get_if<CancelJobs>(&request)) return cancel->asked_from;
  if (const auto* control = get_if<ControlJobs>(&request)) return control->asked_from;
  if (const auto* cancel_step = get_if<CancelStep>(&request)) return cancel_step->asked_from;
  return {};
}

}  // namespace muster
