// An event names its job as `job` or within `step`; what names neither belongs to no one job.
#include "engine/event_job.h"

namespace muster {

JobId job_of(const EventBody& body) {
  return visit(
      [](const auto& event) {
        if constexpr (requires { JobId(event.job); }) return JobId(event.job);
        if constexpr (requires { event.step.job; }) return event.step.job;
        return JobId(0);
      },
      body);
}

}  // namespace muster
