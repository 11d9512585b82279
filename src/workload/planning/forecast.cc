// The question is answered by the production planner on a copy of the snapshot: the same queue,
// windows and placement as for a real submission, with every waiting job given a window
// (conservative), since a start is wanted for a job that may stand far behind.
#include "workload/planning/forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/submit.h"
#include "sched/planner.h"
#include "slurm/hostlist.h"
#include "state/resource_need.h"
#include "workload/requests/job_requests.h"

namespace muster {

Status check_satisfiable(const ClusterState& state, const sched::ClusterSnapshot& snapshot,
                         const JobSpec& spec, const std::vector<PartitionIndex>& partitions,
                         sched::SatisfiabilityMemo& memo) {
  Status last;
  for (const PartitionIndex index : partitions) {
    const auto need = resource_need(spec, state.partition(index), state.settings());
    if (!need.has_value()) return fail(need.error());
    const Duration limit =
        spec.time_limit == Duration() ? state.partition(index).max_time : spec.time_limit;
    const auto answer =
        memo.check(snapshot.inventory(), snapshot.config_revision(), *need, index, limit);
    // Source: slurm.conf(5), EnforcePartLimits: without it a job beyond its partition's limits
    // waits until they are raised.
    const bool may_wait = answer.refusal == PendingReason::kPartitionNodeLimit ||
                          answer.refusal == PendingReason::kPartitionTimeLimit;
    if (answer.is_satisfiable() || (may_wait && !state.settings().is_enforce_part_limits))
      return {};
    last = fail(ErrorCode::kInvalidArgument,
                answer.is_memory ? ErrorCause::kMemoryUnavailable : ErrorCause::kNone,
                answer.message, answer.detail);
  }
  return last;
}

Result<ForecastTask> forecast_task(const ClusterState& state,
                                   const sched::ClusterSnapshot& snapshot,
                                   const PreparedSubmit& submit, const Identity& identity,
                                   TimePoint now) {
  Draft draft(state, now);
  // The draft is dropped: nothing of it is applied.
  TRY(admission::submit(draft, submit, identity));
  const auto& event = get<JobSubmitted>(draft.events.back());
  sched::SatisfiabilityMemo memo;
  TRY(check_satisfiable(state, snapshot, *event.spec, event.partitions, memo));
  sched::PendingJob pending;
  pending.id = event.job;
  std::vector<std::shared_ptr<const ResourceRequest>> needs;
  for (const PartitionIndex index : event.partitions) {
    needs.push_back(std::make_shared<const ResourceRequest>(
        TRY(resource_need(*event.spec, state.partition(index), state.settings()))));
  }
  pending.request = needs.front();
  pending.later_requests.assign(needs.begin() + 1, needs.end());
  pending.partitions = event.partitions;
  pending.time_limit = event.time_limit;
  pending.priority = event.priority;
  pending.submit_time = now;
  pending.eligible_time = event.spec->begin_time;
  // A copy: the core's snapshot goes on while another thread plans.
  ForecastTask task{event.job, std::max(now, state.time()), snapshot};
  task.snapshot.advance_time(task.now);
  task.snapshot.add_pending(std::move(pending));
  return task;
}

namespace {

/// One of the job's elements no longer waits.
void withdraw_one(sched::ClusterSnapshot& snapshot, JobId job) {
  const sched::PendingJob& pending = *snapshot.find_pending(job);
  if (pending.element_count <= 1) return snapshot.remove_pending(job);
  // The element runs: it counts against the array's throttle.
  snapshot.set_elements(job, pending.element_count - 1, pending.running_count + 1);
}

/// The cluster at `time`, as the plan has it: what is expected to end before has ended, and what
/// begins before runs.
sched::ClusterSnapshot moved_to(const sched::ClusterSnapshot& present, const sched::Plan& plan,
                                TimePoint time) {
  sched::ClusterSnapshot future = present;
  for (const sched::ExpectedEnd& end : present.ends()) {
    if (end.end <= time) future.end_job(end.job);
  }
  // Ids from the top down: no real job is near them.
  JobId next(UINT32_MAX);  // an array's elements have no ids of their own yet
  const auto begin = [&](JobId job, PartitionIndex partition, TimePoint end,
                         const std::vector<sched::NodeAmount>& nodes) {
    withdraw_one(future, job);
    if (end <= time) return;
    future.start_job({next, partition, nodes, end});
    next = JobId(next.value() - 1);
  };
  for (const sched::Start& start : plan.starts)
    begin(start.job, start.partition, start.end, start.nodes);
  for (const sched::Window& window : plan.windows) {
    // The job's first window; those in other tiers begin later.
    if (window.start < time && &window == plan.window_of(window.job))
      begin(window.job, window.partition, window.end, window.nodes);
  }
  future.advance_time(time);
  return future;
}

}  // namespace

Reply forecast(const ForecastTask& task) {
  sched::Plan plan = sched::plan(task.snapshot, task.now, sched::PlanOptions::conservative());
  const TimePoint begin = task.snapshot.find_pending(task.job)->eligible_time;
  // A begin time lies ahead: the cluster is moved there by the first plan, and planned again.
  if (begin > task.now)
    plan = sched::plan(moved_to(task.snapshot, plan, begin), begin,
                       sched::PlanOptions::conservative());
  const ClusterConfig& config = task.snapshot.config();
  Reply reply;
  reply.job = task.job;
  const auto describe = [&](PartitionIndex partition, const std::vector<sched::NodeAmount>& nodes,
                            TimePoint start) {
    std::vector<std::string> names;
    std::uint32_t cpus = 0;
    for (const sched::NodeAmount& amount : nodes) {
      names.push_back(config.nodes[amount.node.value()].name);
      cpus += amount.cpus;
    }
    reply.expected_start = start;
    reply.text = fmt::format("using {} processors on nodes {} in partition {}", cpus,
                             compress_hostlist(names), config.partitions[partition.value()].name);
  };
  for (const sched::Start& start : plan.starts) {
    if (start.job == task.job) describe(start.partition, start.nodes, plan.now);
  }
  if (const sched::Window* window = plan.window_of(task.job))
    describe(window->partition, window->nodes, window->start);
  if (reply.text.empty()) {
    reply.error = Error{ErrorCode::kFailedPrecondition, "Requested nodes are busy",
                        "no start time can be foreseen"};
  }
  return reply;
}

Status ForecastQueue::add(Command question) {
  std::deque<Command>& own = waiting_[question.identity.user];
  if (count_ >= kWaitingMax || own.size() >= kWaitingOfUserMax) {
    return fail(ErrorCode::kUnavailable, "Too many questions about start times wait already",
                "ask again in a moment");
  }
  own.push_back(std::move(question));
  ++count_;
  return {};
}

std::optional<Command> ForecastQueue::next() {
  // One at a time: each is worked on with a copy of the snapshot.
  if (is_busy_ || count_ == 0) return std::nullopt;
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.empty(); });
  // Users in turn by their ids, from the one after the last.
  auto user = waiting_.upper_bound(last_);
  if (user == waiting_.end()) user = waiting_.begin();
  last_ = user->first;
  Command question = std::move(user->second.front());
  user->second.pop_front();
  --count_;
  is_busy_ = true;
  return question;
}

}  // namespace muster
