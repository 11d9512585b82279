// A node's free amounts by its running jobs only rise, so that sums rise as well: the instant at
// which they first suffice is found once, and from then on moves with what changes.

#include "sched/timeline/outlook.h"

#include <algorithm>

#include "base/check.h"
#include "sched/timeline/end_walk.h"

namespace muster::sched {

bool is_enough(const CarrySums& sums, const Wanted& wanted) {
  // The cheapest tests first; this is asked at every instant.
  const Demand& demand = wanted.fitter.demand();
  if (sums.nodes < wanted.limits.min ||
      sums.tasks < least_task_count(wanted.fitter.request(), wanted.limits))
    return false;
  if (sums.required < demand.required_count) return false;
  for (std::size_t i = 0; i < demand.per_job.size(); ++i) {
    if (sums.shares[i] < demand.per_job[i].count) return false;
  }
  return true;
}

Outlooks::Outlooks(std::size_t node_count, std::size_t kind_count)
    : kind_count_(kind_count),
      rows_(std::make_unique<RowTable>(kind_count)),
      profiles_(node_count),
      ends_changed_(node_count),
      touched_(node_count) {}

void Outlooks::reset() {
  rows_ = std::make_unique<RowTable>(kind_count_);
  for (auto& profile : profiles_) profile.clear();
  outlooks_.clear();
  overdue_.clear();
  are_ends_known_ = false;
}

std::vector<NodeIndex> Outlooks::with_overdue() const {
  std::vector<NodeIndex> nodes;
  for (const ExpectedEnd& end : snapshot_->ends()) {
    if (end.end > now_) break;
    for (const NodeAmount& amount : snapshot_->running_slot(end.slot).nodes)
      nodes.push_back(amount.node);
  }
  return nodes;
}

void Outlooks::begin_pass(const ClusterSnapshot& snapshot, TimePoint now,
                          const PlanOptions& options, const std::vector<NodeIndex>* changed) {
  snapshot_ = &snapshot;
  now_ = now;
  options_ = options;
  const std::size_t node_count = profiles_.size();
  // Rows that no node has any more are not taken out one by one.
  const bool is_full = rows_->size() > 16 * node_count + 4096;
  if (changed == nullptr || is_full) {
    reset();
    overdue_ = with_overdue();
    return;
  }
  for (const NodeIndex node : *changed) ends_changed_.set(node);
  // When overdue jobs are expected to end moves with the time.
  std::vector<NodeIndex> nodes = *changed;
  nodes.insert(nodes.end(), overdue_.begin(), overdue_.end());
  overdue_ = with_overdue();
  nodes.insert(nodes.end(), overdue_.begin(), overdue_.end());
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  change(nodes);
}

/// Every outlook counts the nodes as they were out, and as they are in.
void Outlooks::change(const std::vector<NodeIndex>& nodes) {
  // Where much has changed each is made anew for less, when somebody asks.
  if (nodes.size() > profiles_.size() / 8) outlooks_.clear();
  for (std::uint32_t i = 0; i < outlooks_.size(); ++i) {
    Outlook& outlook = outlooks_[i];
    if (outlook.serial == 0) continue;
    const bool is_there =
        i < snapshot_->needs().size() && snapshot_->need(NeedIndex(i)).serial == outlook.serial;
    if (!is_there) outlook = {};
  }
  for (const NodeIndex node : nodes) {
    std::vector<ProfileStep>& profile = profiles_[node.value()];
    const std::vector<ProfileStep> before = profile;  // empty: in nobody's sums
    make_profile(node);
    for (std::uint32_t i = 0; i < outlooks_.size(); ++i) {
      Outlook& outlook = outlooks_[i];
      if (outlook.serial == 0) continue;
      const Need& need = snapshot_->need(NeedIndex(i));
      const Fitter fitter = need.fitter(snapshot_->inventory());
      const auto capacity_by = [&](Profile steps) {
        return steps.empty() ? Capacity{}
                             : outlook.capacity(row_at(steps, outlook.time), node, *rows_, fitter);
      };
      const Capacity had = capacity_by(before);
      outlook.allowed.put(node, need.nodes().test(node) && snapshot_->usable().test(node));
      outlook.carried.replace(node, had, capacity_by(profile), need.demand.required.test(node));
    }
  }
}

/// Brought up to date when somebody asks: most passes after one event ask nothing.
const EndTable& Outlooks::ends() {
  if (!are_ends_known_) {
    ends_.reset(*snapshot_);
  } else if (!ends_changed_.empty()) {
    ends_.update(*snapshot_, ends_changed_);
  }
  are_ends_known_ = true;
  ends_changed_ = NodeSet(ends_changed_.size());
  return ends_;
}

Profile Outlooks::profile(NodeIndex node) {
  if (profiles_[node.value()].empty()) make_profile(node);
  return profiles_[node.value()];
}

void Outlooks::make_profile(NodeIndex node) {
  std::vector<ProfileStep>& profile = profiles_[node.value()];
  profile.clear();
  FreeRow now(snapshot_->free().at(node), kind_count_);
  const std::vector<NodeShare>& shares = snapshot_->shares_on(node);
  const auto end_of = [&](const NodeShare& share) {
    return snapshot_->running_slot(share.slot).end;
  };
  if (options_.is_overdue_free) {
    for (const NodeShare& share : shares) {
      if (end_of(share) <= now_) now.add(share.amount);
    }
  }
  builder_.begin(now.view(), kind_count_);
  for (const NodeShare& share : shares) {
    const TimePoint end = end_of(share);
    if (end > now_) {
      builder_.gain(end, share.amount);
    } else if (!options_.is_overdue_free) {
      builder_.gain(now_ + options_.overdue_grace, share.amount);
    }
  }
  builder_.add_steps(*rows_, snapshot_->inventory().class_of[node.value()], profile);
}

Outlook& Outlooks::of(NeedIndex need, std::uint64_t serial, const Wanted& wanted) {
  CHECK(snapshot_ != nullptr && serial != 0);
  if (need.value() >= outlooks_.size()) outlooks_.resize(need.value() + 1);
  Outlook& outlook = outlooks_[need.value()];
  if (outlook.serial != serial || !(outlook.allowed == wanted.allowed))
    begin(outlook, serial, wanted);
  outlook.is_asked = true;
  go_back(outlook, wanted);
  go_on(outlook, wanted);
  return outlook;
}

void Outlooks::begin(Outlook& outlook, std::uint64_t serial, const Wanted& wanted) {
  if (outlook.serial != serial) outlook = {};
  outlook.serial = serial;
  outlook.allowed = wanted.allowed;
  outlook.time = now_;
  outlook.carried = {{}, NodeSet(wanted.allowed.size())};
  const NodeSet& required = wanted.fitter.demand().required;
  wanted.allowed.for_each([&](NodeIndex node) {
    const RowId row = row_at(profile(node), now_);
    const Capacity capacity = outlook.capacities.of(row, node, *rows_, wanted.fitter);
    outlook.carried.replace(node, {}, capacity, required.test(node));
  });
}

template <class Walk>
void Outlooks::count_instant(Outlook& outlook, const Fitter& fitter, TimePoint instant, int sign,
                             Walk&& walk) {
  walk([&](NodeIndex node) {
    // Of several jobs that end there at once the profile has one step.
    if (touched_.test(node)) return;
    touched_.set(node);
    touched_nodes_.push_back(node);
    const Profile steps = profile(node);
    RowId before = row_before(steps, instant);
    RowId after = row_at(steps, instant);
    if (before == after) return;
    if (sign < 0) std::swap(before, after);
    outlook.carried.replace(node, outlook.capacities.of(before, node, *rows_, fitter),
                            outlook.capacities.of(after, node, *rows_, fitter),
                            fitter.demand().required.test(node));
  });
  for (const NodeIndex node : touched_nodes_) touched_.reset(node);
  touched_nodes_.clear();
}

/// To before the instant at which the sums suffice.
void Outlooks::go_back(Outlook& outlook, const Wanted& wanted) {
  EndWalk walk(ends(), now_, options_, outlook.allowed);
  if (outlook.time > now_) walk.go_behind(outlook.time);
  while (is_enough(outlook.carried.sums, wanted) && walk.previous().is_set()) {
    const TimePoint instant = walk.previous();
    count_instant(outlook, wanted.fitter, instant, -1, [&](auto&& visit) { walk.back(visit); });
    outlook.time = walk.previous().is_set() ? walk.previous() : now_;
  }
}

/// To the last instant before that.
void Outlooks::go_on(Outlook& outlook, const Wanted& wanted) {
  EndWalk walk(ends(), now_, options_, outlook.allowed);
  // What has ended since, as was expected, is in the sums already; what is overdue is not.
  outlook.time = std::max(outlook.time, now_);
  walk.go_behind(outlook.time);
  while (!walk.next().is_never()) {
    const TimePoint instant = walk.next();
    const Carried before = outlook.carried;
    count_instant(outlook, wanted.fitter, instant, 1,
                  [&](auto&& visit) { walk.pass(instant, visit); });
    if (is_enough(outlook.carried.sums, wanted)) {
      outlook.carried = before;
      return;
    }
    outlook.time = instant;
  }
}

void Outlooks::forget_unasked() {
  for (Outlook& outlook : outlooks_) {
    if (outlook.serial != 0 && !outlook.is_asked) outlook = {};
    outlook.is_asked = false;
  }
}

}  // namespace muster::sched
