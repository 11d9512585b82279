// The updates that followers of the controller get once they are on stable storage.
#pragma once

#include <variant>
#include <vector>

#include "model/event.h"
#include "model/view.h"

namespace muster {

/// An ended attempt of a job, or an ended step, on its way to history.
struct HistoryRecord {
  Seq seq;  ///< of the batch in which it ended
  std::variant<JobView, StepView> object;
};

/// A batch that is durable, with what ended in it.
struct DurableUpdate {
  EventBatchRef batch;
  std::vector<HistoryRecord> history;
};

}  // namespace muster
