// What stands in a job's way is asked of the snapshot as it is now, not kept by the pass: a plan
// stays small, and a job that nobody asks about costs nothing. The order in which details are
// given is the order in which the word is chosen.

#include "sched/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "sched/jobs_ahead.h"

namespace muster::sched {
namespace {

// What a person reads: the first to end matter, not all of a full cluster.
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
        lane_(snapshot.lane(snapshot.lane_of(job.id))),
        is_brief_(is_brief) {}

  Reasons run() {
    explain_job();
    bool is_open = false;
    for (const NeedIndex need : lane_.needs) is_open = explain_need(need) || is_open;
    if (const Window* window = plan_.window_of(job_.id)) {
      reasons_.expected_start = window->start;
      // Also those of a lower tier: the window that begins first is meant.
      for (const NodeAmount& amount : window->nodes) reasons_.planned_nodes.push_back(amount.node);
    }
    if (is_open && is_ready()) explain_rank();
    // Nothing is lacking, nobody goes before: the next plan starts it.
    if (is_open && reasons_.details.empty())
      say({PendingReason::kResources, "room that the next plan gives out", 0, 0, {}, {}});
    choose_word(is_open);
    return std::move(reasons_);
  }

 private:
  bool is_ready() const {
    if (lane_.ready.empty()) return false;
    // Its best is the usual question, and is answered without a search.
    return lane_.ready.begin()->job == job_.id || lane_.ready.contains(job_.rank());
  }
  void say(ReasonDetail detail) { reasons_.details.push_back(std::move(detail)); }

  void explain_job() {
    if (job_.hold != PendingReason::kNone) {
      say({job_.hold, std::string(pending_reason_word(job_.hold)), 0, 0, {}, {}});
    }
    // Absolute times, in seconds since 1970, as these details have numbers only.
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
           fmt::format("array elements at once, {} of which may run", job_.throttle),
           job_.running_count + 1,
           job_.throttle,
           {},
           {}});
    }
  }

  /// True when nothing but room is missing there.
  bool explain_need(NeedIndex index) {
    const Need& need = snapshot_.need(index);
    // The partition as it is now goes before what the plan knew of it.
    PendingReason refusal = need.refusal_of(job_.time_limit);
    if (refusal == PendingReason::kNone) refusal = plan_.refusal_of(index, need.serial);
    if (refusal == PendingReason::kNone) {
      if (is_brief_) say({PendingReason::kResources, "", 0, 0, {}, {}});
      if (!is_brief_) explain_room(need);
      return true;
    }
    say(is_brief_ ? ReasonDetail{refusal, "", 0, 0, {}, {}} : refusal_detail(need, refusal));
    return false;
  }

  static ReasonDetail unmet(PendingReason refusal, std::string text) {
    return {refusal, std::move(text), 0, 0, {}, {}};
  }

  ReasonDetail refusal_detail(const Need& need, PendingReason refusal) const {
    // There is nothing to name: the partition is no longer configured.
    if (refusal == PendingReason::kPartitionConfig) return unmet(refusal, "partition is gone");
    const PartitionConfig& partition = snapshot_.partition(need.partition);
    const ResourceRequest& request = need.request();
    switch (refusal) {
      case PendingReason::kPartitionDown:
      case PendingReason::kPartitionInactive:
        return unmet(refusal, fmt::format("partition {} is {}", partition.name,
                                          partition_state_name(partition.state)));
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
                // Of the two bounds the one that it breaks.
                request.min_nodes < partition.min_nodes ? partition.min_nodes : partition.max_nodes,
                {},
                {}};
      default: break;
    }
    return unavailable_detail(need, refusal);
  }
  static std::uint64_t seconds(Duration span) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(span.seconds(), 0));
  }

  ReasonDetail unavailable_detail(const Need& need, PendingReason refusal) const {
    const NodeSet& members = need.nodes();
    const std::uint32_t wanted = std::max(need.request().min_nodes, 1U);
    const std::string& name = snapshot_.partition(need.partition).name;
    if (refusal == PendingReason::kBadConstraints) {
      return {refusal, fmt::format("nodes of partition {} that match", name),
              wanted,  members.count(),
              {},      {}};
    }
    // Who asks for nodes by name wants to know which of those are out.
    const NodeSet out =
        (refusal == PendingReason::kReqNodeNotAvail ? need.demand.required : members) -
        snapshot_.usable();
    return {refusal, fmt::format("matching nodes of partition {} in service", name),
            wanted,  (members & snapshot_.usable()).count(),
            {},      out.first(kNodeMax)};
  }

  /// What the nodes of a partition that match and are in service could carry of the job now.
  struct Room {
    NodeSet nodes;      ///< that match and are in service
    NodeSet short_of;   ///< of those, the ones that could carry more if they were empty
    NodeSet with_room;  ///< of those, the ones that take a task now
    std::vector<std::uint32_t> tasks;  ///< what those take
    Shares shares{};                   ///< and lend, in all
  };
  Room room_for(const Need& need, const Fitter& fitter) const {
    Room room{need.nodes() & snapshot_.usable(),
              NodeSet(snapshot_.node_count()),
              NodeSet(snapshot_.node_count()),
              {},
              {}};
    room.nodes.for_each([&](NodeIndex node) {
      const auto now = candidate_at(fitter, node, snapshot_.free().at(node));
      // An empty node that would take no more is not what is missing.
      const auto empty = candidate_at(fitter, node, snapshot_.inventory().total.at(node));
      if (empty && (!now || now->tasks < empty->tasks || now->shares != empty->shares))
        room.short_of.set(node);
      if (!now) return;
      room.with_room.set(node);
      room.tasks.push_back(now->tasks);
      for (std::size_t i = 0; i < kJobNeedMax; ++i) room.shares[i] += now->shares[i];
    });
    return room;
  }

  /// Each thing of which there is too little now, and who has it. Where each is there alone, and
  /// not at once, that; nothing where better ranked jobs alone stand in the way, which explain_rank
  /// says.
  void explain_room(const Need& need) {
    const Demand& demand = need.demand;
    const ResourceRequest& request = need.request();
    const Fitter fitter = need.fitter(snapshot_.inventory());
    const NodeLimits limits = need.limits;
    Room room = room_for(need, fitter);
    const std::string& name = snapshot_.partition(need.partition).name;
    const auto lacks = [&](std::string what, std::uint64_t wanted, std::uint64_t found,
                           const NodeSet& on) {
      if (found >= wanted) return false;
      ReasonDetail detail{
          PendingReason::kResources, std::move(what), wanted, found, first_to_end(on), {}};
      add_window(detail);
      say(std::move(detail));
      return true;
    };
    const NodeSet missing = demand.required - room.with_room;
    // Nodes by name before nodes by number: who lacks those has no use for others.
    bool is_said = lacks("nodes asked for by name, with room now", demand.required_count,
                         (demand.required & room.with_room).count(), missing);
    if (!is_said) {
      is_said = lacks(fmt::format("of {} matching nodes of partition {}, with room now",
                                  room.nodes.count(), name),
                      limits.min, room.tasks.size(), room.nodes - room.with_room);
    }
    // All kinds of devices, not only the first: each may have another job to wait for.
    for (std::size_t i = 0; i < demand.per_job.size(); ++i) {
      is_said = lacks(fmt::format("{} free on those nodes of partition {}", amount_name(request, i),
                                  name),
                      demand.per_job[i].count, room.shares[i], room.short_of) ||
                is_said;
    }
    // Only the best nodes count where the job may have no more.
    const bool is_bounded = limits.max < room.tasks.size();
    std::ranges::sort(room.tasks, std::greater<>());
    if (is_bounded) room.tasks.resize(limits.max);
    std::uint64_t tasks = 0;
    for (const std::uint32_t one : room.tasks) tasks += one;
    const std::string on = is_bounded ? fmt::format("the best {} nodes", limits.max)
                                      : std::string("the nodes with room");
    is_said = is_said || lacks(fmt::format("tasks that {} of partition {} take now", on, name),
                               least_task_count(request, limits), tasks, room.short_of);
    // Nothing is lacking, and yet together it fits nowhere: the layout says why not.
    if (is_said || fits_now(need, fitter)) return;
    ReasonDetail detail{PendingReason::kResources,
                        fmt::format("on nodes of partition {}, each of what is asked for is free, "
                                    "and not all of it together",
                                    name),
                        0,
                        0,
                        first_to_end(room.short_of),
                        {}};
    add_window(detail);
    say(std::move(detail));
  }
  bool fits_now(const Need& need, const Fitter& fitter) const {
    return place(fitter, TableAvailability(snapshot_.free()), need.limits,
                 snapshot_.inventory().by_weight, need.nodes() & snapshot_.usable())
        .has_value();
  }
  static std::string amount_name(const ResourceRequest& request, std::size_t job_need) {
    // Needs of count 0 are left out when a demand is compiled: places are counted without them.
    std::size_t place = 0;
    for (const GresAmount& amount : request.gres_per_job) {
      if (amount.count == 0) continue;
      if (place++ == job_need)
        return amount.type.empty() ? amount.name : amount.name + ":" + amount.type;
    }
    return "gpu";  // that --ntasks-per-gpu implies
  }
  void add_window(ReasonDetail& detail) const {
    const Window* window = plan_.window_of(job_.id);
    if (window == nullptr) return;
    for (const NodeAmount& amount : window->nodes) {
      if (detail.nodes.size() < kNodeMax) detail.nodes.push_back(amount.node);
    }
  }

  /// Running jobs on `nodes`, those that end first.
  std::vector<JobId> first_to_end(const NodeSet& nodes) const {
    std::vector<JobId> result;
    // By end: the walk stops at the eighth that is found.
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

  /// Waiting jobs that go first: by name those with a window on common nodes and the best of the
  /// job's own lane; where there is none of those, the best.
  void explain_rank() {
    const Rank& best = *lane_.ready.begin();
    // Of its lane, who goes before a job with a window has one as well, or starts in this plan.
    is_outranked_ = best < job_.rank() && plan_.window_of(job_.id) == nullptr;
    // The word is decided; who exactly is for those who read the details.
    if (is_brief_ && is_outranked_) return;
    ReasonDetail detail{
        PendingReason::kPriority, "jobs of higher rank wait for the same nodes", 0, 0, {}, {}};
    const QueuePosition position(snapshot_, job_);
    for (const Window& window : plan_.windows) {
      // It may have started or ended since the plan.
      const bool is_first = window.job != job_.id &&
                            snapshot_.find_pending(window.job) != nullptr &&
                            position.is_behind(window.rank, window.nodes);
      if (!is_first) continue;
      // An array may have several.
      const bool is_named =
          std::ranges::find(detail.blocking_jobs, window.job) != detail.blocking_jobs.end();
      if (!is_named && detail.blocking_jobs.size() < kJobMax)
        detail.blocking_jobs.push_back(window.job);
      if (is_brief_) break;
    }
    // Beyond kJobMax by one at most: the best of the lane is always named.
    if (is_outranked_ &&
        std::ranges::find(detail.blocking_jobs, best.job) == detail.blocking_jobs.end()) {
      detail.blocking_jobs.push_back(best.job);
    }
    is_outranked_ = !detail.blocking_jobs.empty();
    if (!is_brief_) {
      const JobsAhead ahead = position.ahead(kJobMax);
      detail.found = ahead.count;
      // Without a window as well, which few have.
      if (detail.blocking_jobs.empty()) detail.blocking_jobs = ahead.first;
    }
    if (detail.blocking_jobs.empty()) return;
    detail.found = std::max<std::uint64_t>(detail.found, detail.blocking_jobs.size());
    say(std::move(detail));
  }

  void choose_word(bool is_open) {
    if (reasons_.details.empty()) return;
    const PendingReason first = reasons_.details.front().reason;
    // What the job has by itself stands before anything about partitions.
    const bool is_jobs_own = job_.hold != PendingReason::kNone ||
                             first == PendingReason::kBeginTime ||
                             first == PendingReason::kJobArrayTaskLimit;
    if (is_jobs_own || !is_open) {
      reasons_.word = first;
    } else {
      // Slurm says Resources for who is next and Priority for who waits behind somebody.
      reasons_.word = is_outranked_ ? PendingReason::kPriority : PendingReason::kResources;
    }
    if (reasons_.word == PendingReason::kBadConstraints)
      reasons_.expected_start = TimePoint::never();
  }

  const ClusterSnapshot& snapshot_;
  const Plan& plan_;
  const PendingJob& job_;
  const Lane& lane_;
  bool is_brief_ = false;
  bool is_outranked_ = false;
  Reasons reasons_;
};

}  // namespace

Outcome outcome_of(const ClusterSnapshot& snapshot, const Plan& plan, JobId job) {
  Placed placed{0, 0};
  for (std::size_t i = 0; i < plan.starts.size(); ++i) {
    // Elements of an array start one by one under one record: they are counted.
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
