// What the planner gives the core.
#pragma once

#include <memory>
#include <optional>

#include "model/ids.h"
#include "sched/elastic.h"
#include "sched/plan/plan.h"
#include "workload/planning/plan_report.h"

namespace muster {

/// A plan and the state that it was made from.
struct PlanResult {
  Seq seq;
  std::shared_ptr<const sched::Plan> plan;
  std::shared_ptr<const PlanReport> report;
  std::optional<sched::Resize> resize = {};  ///< of an elastic trial's job
};

}  // namespace muster
