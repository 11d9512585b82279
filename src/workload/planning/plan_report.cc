// The words of all waiting jobs are kept from plan to plan, and a plan touches only those of lanes
// whose word changed. Pages are shared with the reports that queries read, and copied when written.
#include "workload/planning/plan_report.h"

#include <set>
#include <utility>

#include "sched/reasons.h"

namespace muster {

PendingReason JobWords::of(JobId job) const {
  const std::size_t page = job.value() / Page().size();
  if (page >= pages_.size() || pages_[page] == nullptr) return PendingReason::kNone;
  return (*pages_[page])[job.value() % Page().size()];
}

void JobWords::set(JobId job, PendingReason word) {
  const std::size_t index = job.value() / Page().size();
  if (index >= pages_.size()) {
    pages_.resize(index + 1);
    is_shared_.resize(index + 1);
  }
  std::shared_ptr<Page>& page = pages_[index];
  if (page == nullptr) {
    page = std::make_shared<Page>();
    page->fill(PendingReason::kNone);
    ++page_count_;
  } else if (is_shared_[index]) {
    // A report that somebody reads keeps the page as it was.
    page = std::make_shared<Page>(*page);
  }
  is_shared_[index] = false;
  (*page)[job.value() % Page().size()] = word;
}

JobWords JobWords::picture() {
  is_shared_.assign(pages_.size(), true);
  return *this;
}

std::optional<Reasons> PlanReport::find(JobId job) const {
  Reasons reasons;
  reasons.word = words.of(job);
  if (reasons.word == PendingReason::kNone) return std::nullopt;
  if (reasons.word == PendingReason::kBadConstraints) reasons.expected_start = TimePoint::never();
  if (const auto window = windows.find(job); window != windows.end()) {
    reasons.expected_start = window->second.start;
    reasons.planned_nodes = window->second.nodes;
  }
  return reasons;
}

/// The best of a lane may wait for room; those behind it wait for it.
void PlanReporter::report_lane(const sched::ClusterSnapshot& snapshot, const sched::Plan& plan,
                               std::size_t place) {
  const sched::Lane& lane = snapshot.lanes()[place];
  Reported& before = reported_[place];
  if (lane.ready.empty()) {
    before = {};
    return;
  }
  Reported now;
  now.serial = lane.serial;
  now.first = lane.ready.begin()->job;
  now.first_word = sched::reason_word(snapshot, plan, now.first);
  now.behind_word =
      now.first_word == PendingReason::kResources ? PendingReason::kPriority : now.first_word;
  // The word for all of the lane's jobs is another one: each of them is reported.
  if (now.serial != before.serial || now.behind_word != before.behind_word) {
    for (const sched::Rank& rank : lane.ready) words_.set(rank.job, now.behind_word);
    // Only the best has changed: the one before it is one of many now.
  } else if (before.first != now.first && words_.of(before.first) != now.behind_word) {
    words_.set(before.first, now.behind_word);
  }
  if (words_.of(now.first) != now.first_word) words_.set(now.first, now.first_word);
  before = now;
}

/// Ids rise for ever, and what was once said of a job stays: now and then everything is said anew.
void PlanReporter::forget_what_is_old() {
  constexpr std::size_t kSlack = 64;
  if (words_.page_count() <= 2 * pages_at_first_ + kSlack && !reported_.empty()) return;
  words_ = {};
  reported_.clear();
  windowed_.clear();
  pages_at_first_ = 0;
}

std::shared_ptr<const PlanReport> PlanReporter::report(const sched::ClusterSnapshot& snapshot,
                                                       const sched::Plan& plan, Seq seq) {
  const auto fresh = snapshot.ready_since(revision_);
  // The snapshot's list of new jobs does not reach back so far: every lane is reported anew.
  if (!fresh) reported_.clear();  // too long ago to tell
  forget_what_is_old();
  reported_.resize(snapshot.lanes().size());
  const auto report_behind = [&](JobId job) {
    if (snapshot.find_pending(job) == nullptr) return;
    const sched::LaneIndex lane = snapshot.lane_of(job);
    const Reported& reported = reported_[lane.value()];
    if (reported.serial == snapshot.lane(lane).serial) words_.set(job, reported.behind_word);
  };
  // Jobs with windows in the last report had words of their own: they get their lane's again.
  for (const JobId job : std::exchange(windowed_, {})) report_behind(job);
  if (fresh) {
    for (const auto& [revision, job] : *fresh) report_behind(job);
  }
  revision_ = snapshot.revision();
  for (std::size_t place = 0; place < reported_.size(); ++place) report_lane(snapshot, plan, place);
  if (pages_at_first_ == 0) pages_at_first_ = words_.page_count();
  auto report = std::make_shared<PlanReport>();
  report->seq = seq;
  report->time = plan.now;
  std::set<NodeIndex> planned;
  for (const sched::Window& window : plan.windows) {
    for (const sched::NodeAmount& amount : window.nodes) planned.insert(amount.node);
    PlanReport::Window& shown = report->windows[window.job];
    // A job may have several windows: the earliest is shown.
    if (shown.start.is_set() && shown.start <= window.start) continue;
    shown.start = window.start;
    shown.nodes.clear();
    for (const sched::NodeAmount& amount : window.nodes) shown.nodes.push_back(amount.node);
    // Whoever has a window waits for room, however many of its lane go before it.
    words_.set(window.job, sched::reason_word(snapshot, plan, window.job));
    windowed_.push_back(window.job);
  }
  report->planned_nodes.assign(planned.begin(), planned.end());
  report->words = words_.picture();
  return report;
}

}  // namespace muster
