#include "sched/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sched/placement/partition_fit.h"

namespace muster::sched {
namespace {

constexpr std::size_t kJobMax = 8;
constexpr std::size_t kNodeMax = 64;

class Explanation {
 public:
  /// `is_brief`: only as much as the word needs.
  Explanation(const ClusterSnapshot& snapshot, const Plan& plan, const PendingJob& job,
              bool is_brief)
      : snapshot_(snapshot),
        plan_(plan),
        job_(job),
        shape_(snapshot.shape(snapshot.shape_of(job.id))),
        is_brief_(is_brief) {}

  Reasons run() {
    explain_job();
    bool is_open = false;
    for (const PartitionIndex partition : job_.partitions)
      is_open = explain_partition(partition) || is_open;
    if (const Window* window = plan_.window_of(job_.id)) {
      reasons_.expected_start = window->start;
      for (const NodeAmount& amount : window->nodes) reasons_.planned_nodes.push_back(amount.node);
    }
    if (is_open && is_ready()) explain_rank();
    choose_word(is_open);
    return std::move(reasons_);
  }

 private:
  bool is_ready() const { return shape_.ready.contains(job_.rank()); }
  void say(ReasonDetail detail) { reasons_.details.push_back(std::move(detail)); }

  void explain_job() {
    if (job_.hold != PendingReason::kNone) {
      say({job_.hold, std::string(pending_reason_word(job_.hold)), 0, 0, {}, {}});
    }
    if (job_.eligible_time > plan_.now) {
      const auto seconds = static_cast<std::uint64_t>(job_.eligible_time.seconds());
      say({PendingReason::kBeginTime,
           "begin time",
           seconds,
           static_cast<std::uint64_t>(plan_.now.seconds()),
           {},
           {}});
    }
    if (job_.throttle > 0 && job_.running_count >= job_.throttle) {
      say({PendingReason::kJobArrayTaskLimit,
           "array elements at once",
           job_.throttle,
           job_.running_count,
           {},
           {}});
    }
  }

  PendingReason refusal_in(PartitionIndex partition) const {
    const PendingReason now =
        partition_refusal(snapshot_, *shape_.demand_in(partition).request, job_.time_limit, partition);
    if (now != PendingReason::kNone) return now;
    const auto of_shape = std::ranges::equal_range(plan_.outcomes, snapshot_.shape_of(job_.id), {}, &ShapeOutcome::shape);
    for (const ShapeOutcome& outcome : of_shape) {
      if (outcome.serial == shape_.serial && outcome.partition == partition) return outcome.refusal;
    }
    return PendingReason::kNone;
  }

  /// True when nothing but room is missing there.
  bool explain_partition(PartitionIndex partition) {
    const PendingReason refusal = refusal_in(partition);
    if (refusal == PendingReason::kNone) {
      if (is_brief_) say({PendingReason::kResources, "", 0, 0, {}, {}});
      if (!is_brief_) explain_room(partition);
      return true;
    }
    say(is_brief_ ? ReasonDetail{refusal, "", 0, 0, {}, {}} : refusal_detail(partition, refusal));
    return false;
  }

  ReasonDetail refusal_detail(PartitionIndex index, PendingReason refusal) const {
    if (refusal == PendingReason::kPartitionConfig)
      return {refusal, "partition is gone", 0, 0, {}, {}};
    const PartitionConfig& partition = snapshot_.partition(index);
    const ResourceRequest& request = *shape_.demand_in(index).request;
    switch (refusal) {
      case PendingReason::kPartitionDown:
      case PendingReason::kPartitionInactive:
        return {
            refusal,
            fmt::format("partition {} is {}", partition.name, partition_state_name(partition.state)),
            0,
            0,
            {},
            {}};
      case PendingReason::kPartitionTimeLimit:
        return {refusal,
                fmt::format("time limit of partition {} (s)", partition.name),
                seconds(job_.time_limit),
                seconds(partition.max_time),
                {},
                {}};
      case PendingReason::kPartitionNodeLimit:
        return {refusal,
                fmt::format("node limit of partition {}", partition.name),
                request.min_nodes,
                request.min_nodes < partition.min_nodes ? partition.min_nodes : partition.max_nodes,
                {},
                {}};
      default:
        break;
    }
    return unavailable_detail(index, refusal);
  }
  static std::uint64_t seconds(Duration span) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(span.seconds(), 0));
  }

  ReasonDetail unavailable_detail(PartitionIndex index, PendingReason refusal) const {
    const NodeSet members = shape_.demand_in(index).feasible & snapshot_.partition_nodes(index);
    const std::uint32_t wanted = std::max(shape_.demand_in(index).request->min_nodes, 1U);
    const std::string& name = snapshot_.partition(index).name;
    if (refusal == PendingReason::kBadConstraints) {
      return {refusal, fmt::format("nodes of partition {} that match", name),
              wanted,  members.count(),
              {},      {}};
    }
    const NodeSet out =
        (refusal == PendingReason::kReqNodeNotAvail ? shape_.demand.required : members) -
        snapshot_.usable();
    return {refusal, fmt::format("matching nodes of partition {} in service", name),
            wanted,  (members & snapshot_.usable()).count(),
            {},      out.first(kNodeMax)};
  }

  /// Counts over the partition's nodes: match, in service, with room for a task now.
  void explain_room(PartitionIndex index) {
    const NodeSet nodes =
        (shape_.demand_in(index).feasible & snapshot_.partition_nodes(index)) & snapshot_.usable();
    const ResourceRequest& request = *shape_.demand_in(index).request;
    const Fitter fitter(snapshot_.facts(), shape_.demand_in(index),
                        node_rule(snapshot_.facts(), request, index));
    std::uint32_t room = 0;
    NodeSet full(snapshot_.node_count());
    nodes.for_each([&](NodeIndex node) {
      const bool has_room = candidate_at(fitter, node, snapshot_.free().at(node)).has_value();
      room += has_room ? 1 : 0;
      if (!has_room) full.set(node);
    });
    ReasonDetail detail{PendingReason::kResources,
                        fmt::format("of {} matching nodes of partition {}, with room now",
                                    nodes.count(), snapshot_.partition(index).name),
                        std::max(request.min_nodes, 1U),
                        room,
                        first_to_end(full),
                        {}};
    if (const Window* window = plan_.window_of(job_.id)) {
      for (const NodeAmount& amount : window->nodes) {
        if (detail.nodes.size() < kNodeMax) detail.nodes.push_back(amount.node);
      }
    }
    say(std::move(detail));
  }

  /// Running jobs on `nodes`, those that end first.
  std::vector<JobId> first_to_end(const NodeSet& nodes) const {
    std::vector<JobId> result;
    for (const ExpectedEnd& end : snapshot_.ends()) {
      const auto& amounts = snapshot_.running_slot(end.slot).nodes;
      if (std::ranges::any_of(amounts,
                              [&](const NodeAmount& amount) { return nodes.test(amount.node); })) {
        result.push_back(end.job);
      }
      if (result.size() == kJobMax) break;
    }
    return result;
  }

  /// Waiting jobs with a window on common nodes that go first, and the job's own shape's best.
  void explain_rank() {
    const Rank& best = *shape_.ready.begin();
    is_outranked_ = best < job_.rank();
    if (is_brief_ && is_outranked_) return;
    ReasonDetail detail{
        PendingReason::kPriority, "jobs of higher rank wait for the same nodes", 0, 0, {}, {}};
    for (const Window& window : plan_.windows) {
      if (window.job == job_.id || !goes_before(window.rank) || !shares_nodes(window)) continue;
      ++detail.found;
      if (is_brief_) break;
      if (detail.blocking_jobs.size() < kJobMax) detail.blocking_jobs.push_back(window.job);
    }
    if (is_outranked_ &&
        std::ranges::find(detail.blocking_jobs, best.job) == detail.blocking_jobs.end()) {
      ++detail.found;
      detail.blocking_jobs.push_back(best.job);
    }
    is_outranked_ = detail.found > 0;
    if (is_outranked_) say(std::move(detail));
  }
  bool goes_before(const QueueRank& other) const {
    return std::ranges::any_of(job_.partitions, [&](PartitionIndex partition) {
      return partition.value() < snapshot_.config().partitions.size() &&
             other < QueueRank{snapshot_.partition(partition).priority_tier, job_.rank()};
    });
  }
  bool shares_nodes(const Window& window) const {
    const PendingJob* other = snapshot_.find_pending(window.job);
    if (other == nullptr) return false;
    const Shape& shape = snapshot_.shape(snapshot_.shape_of(window.job));
    return nodes_of(shape).intersects(nodes_of(shape_));
  }
  NodeSet nodes_of(const Shape& shape) const {
    NodeSet result(snapshot_.node_count());
    for (const PartitionIndex partition : shape.partitions) {
      if (partition.value() < snapshot_.config().partitions.size())
        result |= snapshot_.partition_nodes(partition) & shape.demand_in(partition).feasible;
    }
    return result;
  }

  void choose_word(bool is_open) {
    if (reasons_.details.empty()) return;
    const PendingReason first = reasons_.details.front().reason;
    const bool is_jobs_own = job_.hold != PendingReason::kNone ||
                             first == PendingReason::kBeginTime ||
                             first == PendingReason::kJobArrayTaskLimit;
    if (is_jobs_own || !is_open) {
      reasons_.word = first;
    } else {
      const bool is_head = plan_.window_of(job_.id) != nullptr || !is_outranked_;
      reasons_.word = is_head ? PendingReason::kResources : PendingReason::kPriority;
    }
    if (reasons_.word == PendingReason::kBadConstraints)
      reasons_.expected_start = TimePoint::never();
  }

  const ClusterSnapshot& snapshot_;
  const Plan& plan_;
  const PendingJob& job_;
  const Shape& shape_;
  bool is_brief_ = false;
  bool is_outranked_ = false;
  Reasons reasons_;
};

}  // namespace

Outcome outcome_of(const ClusterSnapshot& snapshot, const Plan& plan, JobId job) {
  Placed placed{0, 0};
  for (std::size_t i = 0; i < plan.starts.size(); ++i) {
    if (plan.starts[i].job != job) continue;
    if (placed.count++ == 0) placed.start = i;
  }
  if (placed.count > 0) return placed;
  const PendingJob* pending = snapshot.find_pending(job);
  CHECK(pending != nullptr, "job {} is not pending", job.value());
  Reasons reasons = Explanation(snapshot, plan, *pending, false).run();
  if (reasons.word == PendingReason::kBadConstraints) return Infeasible{std::move(reasons)};
  const TimePoint until = reasons.expected_start;
  return Blocked{until, std::move(reasons)};
}

PendingReason reason_word(const ClusterSnapshot& snapshot, const Plan& plan, JobId job) {
  const PendingJob* pending = snapshot.find_pending(job);
  CHECK(pending != nullptr, "job {} is not pending", job.value());
  return Explanation(snapshot, plan, *pending, true).run().word;
}

Reasons reasons_of(const ClusterSnapshot& snapshot, const Plan& plan, JobId job) {
  const Outcome outcome = outcome_of(snapshot, plan, job);
  if (const auto* blocked = std::get_if<Blocked>(&outcome)) return blocked->reasons;
  if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) return infeasible->reasons;
  return {};
}

}  // namespace muster::sched
