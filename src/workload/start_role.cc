// Two ways lead from waiting to running: the starts of a plan (on_plan), and between plans the fast
// path (sched/fast_path.h) for jobs that are new or for which room has appeared. Both end in
// commit, which checks the start against the present state, because every plan was made from an
// older one. The snapshot is the core's own, fed event by event like the planner's.
#include "workload/start_role.h"

#include <algorithm>

#include "state/resource_need.h"
#include "workload/launch/launch_key.h"
#include "workload/launch_role.h"
#include "workload/node_role.h"
#include "workload/planning/commit.h"
#include "workload/planning/forecast.h"
#include "workload/requests/job_requests.h"

namespace muster {
namespace {

/// Jobs that a turn leaves to the next one to try.
constexpr std::size_t kCandidatesKept = 256;

}  // namespace

StartRole::StartRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

void StartRole::load() { feed_.load(state_); }
void StartRole::on_event(const Event& event) { feed_.on_event(event, state_); }
void StartRole::compile() { feed_.compile(state_); }

void StartRole::before_flush(Seq seq) {
  // So many batches may pass while a plan is made; one from before them is treated as of revision
  // 0.
  constexpr std::size_t kRevisionsKept = 100'000;
  revisions_.emplace_back(seq, snapshot_.revision());
  while (revisions_.size() > kRevisionsKept) revisions_.pop_front();
}

bool StartRole::settle() {
  feed_.refresh(state_);
  start_candidates();
  start_successors();
  return candidates_.empty() || tries_left_ == 0;
}

Status StartRole::check_satisfiable(const JobSpec& spec,
                                    const std::vector<PartitionIndex>& partitions) const {
  return muster::check_satisfiable(state_, snapshot_, spec, partitions, known_answers_);
}

std::size_t StartRole::tries_per_turn(std::size_t nodes) {
  // Many nodes make a try dear: the turn stays short because there are fewer tries.
  return std::clamp<std::size_t>(200'000 / std::max<std::size_t>(nodes, 1), 16, 512);
}

/// Jobs that are new or newly unblocked start in this turn if they take nothing from anybody.
void StartRole::start_candidates() {
  std::vector<JobId> jobs = std::exchange(candidates_, {});
  if (plan_ == nullptr || jobs.empty()) return;
  snapshot_.advance_time(std::max(now(), state_.time()));
  const auto may_start = [&](JobId id) {
    const sched::PendingJob* pending = snapshot_.find_pending(id);
    return pending != nullptr && pending->hold == PendingReason::kNone;
  };
  auto job = jobs.begin();
  while (job != jobs.end()) {
    const bool is_tried = may_start(*job);
    if (is_tried && tries_left_ == 0) break;
    // An array goes on with its next element.
    if (!is_tried || !try_start(*job)) ++job;
  }
  // In a rush the rest is the next plan's: it would be tried for longer than that takes.
  jobs.erase(jobs.begin(), job);
  std::erase_if(jobs, [&](JobId left) { return !may_start(left); });
  if (jobs.size() > kCandidatesKept) jobs.resize(kCandidatesKept);
  candidates_.insert(candidates_.begin(), jobs.begin(), jobs.end());
}

/// Room has appeared: the plan's successors take it in their order.
void StartRole::start_successors() {
  if (std::exchange(has_freed_, false)) next_successor_ = 0;
  if (plan_ == nullptr || next_successor_ >= plan_->successors.size()) return;
  snapshot_.advance_time(std::max(now(), state_.time()));
  const auto freed = sched::freed_since(snapshot_, *plan_).value_or(std::vector<NodeIndex>());
  // To look whether the room is any for a lane costs a try once it has come to as many nodes.
  std::size_t looked = 0;
  while (next_successor_ < plan_->successors.size() && tries_left_ > 0) {
    looked += freed.size();
    if (looked >= roles_.nodes->links().size()) {
      looked = 0;
      if (--tries_left_ == 0) break;
    }
    const auto job = first_of(plan_->successors[next_successor_], freed);
    if (!job || !try_start(*job)) ++next_successor_;
  }
}

/// The best ranked job of the successor's lane; nullopt: it is gone, or the room is none for it.
std::optional<JobId> StartRole::first_of(const sched::Successor& successor,
                                         std::span<const NodeIndex> freed) const {
  if (successor.lane.value() >= snapshot_.lanes().size()) return std::nullopt;
  const sched::Lane& lane = snapshot_.lane(successor.lane);
  // Places of lanes are used again; the serial tells the lane that the plan meant.
  if (lane.serial != successor.serial || lane.ready.empty()) return std::nullopt;
  if (!sched::may_start_on(snapshot_, lane, freed)) return std::nullopt;
  return lane.ready.begin()->job;
}

bool StartRole::try_start(JobId job) {
  // Counted whatever comes of it: the cost is in looking at every node.
  --tries_left_;
  const auto result =
      sched::try_start_now(snapshot_, *plan_, job, std::max(now(), state_.time()), &fast_memo_);
  const auto* start = std::get_if<sched::Start>(&result);
  return start != nullptr && commit(*start);
}

bool StartRole::has_starts_left() const {
  return plan_ != nullptr &&
         (!candidates_.empty() || has_freed_ || next_successor_ < plan_->successors.size());
}

void StartRole::on_plan(const PlanResult& result) {
  auto plan = std::make_shared<sched::Plan>(*result.plan);
  for (const sched::Start& start : plan->starts) commit(start);
  // The plan speaks of the planner's snapshot; ours has its own count of changes.
  plan->revision = 0;
  for (const auto& [seq, revision] : revisions_) {
    if (seq > result.seq) break;
    plan->revision = revision;
  }
  while (!revisions_.empty() && revisions_.front().first < result.seq) revisions_.pop_front();
  // The planner has just tried all of them. Only where room had appeared that the last walk did not
  // come to the end of, the new plan's successors are walked at once.
  has_freed_ = has_freed_ || (plan_ != nullptr && next_successor_ < plan_->successors.size());
  plan_ = std::move(plan);
  next_successor_ = plan_->successors.size();
}

/// False: it no longer fits. The next plan will see why.
bool StartRole::commit(const sched::Start& start) {
  // An element that this start splits off is its array's doing: it has no number yet that anybody
  // knows.
  engine_.work_on(start.job);
  const bool is_started = commit_start(start);
  engine_.work_on(JobId());
  return is_started;
}

bool StartRole::commit_start(const sched::Start& start) {
  // The plan was made from an older state: since then the job may have been cancelled, held or
  // started, and its array's throttle used up.
  const Job* job = state_.jobs().find(start.job);
  if (job == nullptr || !job->is_pending() || standing_hold(*job) != PendingReason::kNone ||
      engine_.refusal())
    return false;
  const bool is_record = job->array != nullptr && !job->array_index;
  if (is_record && job->array->remaining.indices.empty()) return false;
  if (is_record && job->array->remaining.throttle != 0 &&
      job->array->active_elements >= job->array->remaining.throttle) {
    return false;
  }
  if (const Job* array =
          is_record || job->array_job.value() == 0 ? nullptr : state_.jobs().find(job->array_job);
      array != nullptr && array->array != nullptr && array->array->remaining.throttle != 0 &&
      array->array->active_elements >= array->array->remaining.throttle) {
    return false;
  }
  const auto allocation = choose_resources(state_, start, snapshot_);
  if (!allocation) return false;
  JobId id = start.job;
  // The last element keeps the id of the record: nothing is split off for it.
  if (is_record && job->array->remaining.indices.count() > 1) {
    const auto index =
        static_cast<std::uint32_t>(job->array->remaining.indices.lowest(1).indices().front());
    id = state_.next_job();
    engine_.emit(ArraySplit{start.job, index, id});
  }
  apply_rules_of(start.partition, *state_.jobs().find(id));
  const Duration limit = state_.jobs().find(id)->time_limit;
  engine_.emit(JobStarted{id, start.partition, *allocation, limit, draw_run_key(state_, id)});
  create_first_step(*state_.jobs().find(id));
  return true;
}

/// What the job asked for is read by the rules of the partition that it starts in, where it has
/// been by another's, or they have changed.
void StartRole::apply_rules_of(PartitionIndex partition, const Job& job) {
  const PartitionConfig& rules = state_.partition(partition);
  if (has_memory_rules_of(*job.spec, rules, state_.settings())) return;
  auto spec = std::make_shared<JobSpec>(*job.spec);
  apply_memory_rules(*spec, rules, state_.settings());
  JobChanged change;
  change.job = job.id;
  change.spec = std::move(spec);
  engine_.emit(std::move(change));
}

void StartRole::create_first_step(const Job& job) {
  if (job.spec->kind == JobKind::kBatch) {
    auto layout = std::make_shared<StepLayout>();
    layout->nodes.push_back(job.run->allocation->nodes.front());
    layout->nodes.front().task_count = 1;
    const StepId step{job.id, job.attempt, kBatchStep};
    engine_.emit(StepCreated{step, nullptr, std::move(layout), draw_launch_key(state_, step)});
    roles_.launches->order_launch(step);
    return;
  }
  if (job.first_step == nullptr) return;
  auto layout = requests::lay_out_first_step(state_, job);
  std::uint32_t tasks = 0;
  for (const NodeGrant& grant : layout->nodes) tasks += grant.task_count;
  auto spec = job.first_step;
  if (tasks != spec->task_count) {
    auto counted = std::make_shared<StepSpec>(*spec);
    counted->task_count = tasks;
    spec = std::move(counted);
  }
  const StepId step{job.id, job.attempt, job.run->next_step};
  engine_.emit(
      StepCreated{step, std::move(spec), std::move(layout), draw_launch_key(state_, step)});
  roles_.launches->order_launch(step);
}

/// Of what was drafted from event `from` on.
void StartRole::check_changes(const Draft& draft, std::size_t from, Reply& reply) const {
  for (std::size_t i = from; i < draft.events.size() && !reply.error; ++i) {
    const auto* change = get_if<JobChanged>(&draft.events[i]);
    if (change == nullptr) continue;
    if (const Status possible = check_change(*change); !possible.has_value())
      reply.error = possible.error();
  }
}

/// An update that makes a waiting job impossible is refused. One that was impossible before may
/// still be renamed.
Status StartRole::check_change(const JobChanged& change) const {
  const Job* job = state_.jobs().find(change.job);
  if (job == nullptr || !job->is_pending() || (change.spec == nullptr && !change.partitions))
    return {};
  const auto& partitions = change.partitions ? *change.partitions : job->partitions.to_vector();
  Status possible =
      check_satisfiable(change.spec != nullptr ? *change.spec : *job->spec, partitions);
  if (possible.has_value() ||
      !check_satisfiable(*job->spec, job->partitions.to_vector()).has_value())
    return {};
  return possible;
}

}  // namespace muster
