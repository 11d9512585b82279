// A run is asked to stop once; a stronger call replaces a weaker one and never gives the run more
// time.
#include "admission/stop.h"

#include <algorithm>

namespace muster::admission {

void draft_stop(Draft& draft, const Job& job, StopCall call, Duration grace) {
  const std::optional<StopOrder>& known = job.run->stop;
  if (known && known->call >= call) return;
  StopOrder order{call, draft.now() + grace};
  if (known) order.deadline = std::min(order.deadline, known->deadline);
  draft.add(StopRequested{job.id, order});
}

}  // namespace muster::admission
