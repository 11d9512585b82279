#include "controller/planning/planner_role.h"

#include <algorithm>
#include <map>
#include <set>

#include "sched/reasons.h"

namespace muster {
namespace {

/// Jobs listed one by one in a report; those behind them in their shape share the row of the shape.
constexpr std::size_t kRowsMax = 2'000;

}  // namespace

void PlannerRole::start() {
  feed_.load(state_);
  elastic_.load(state_);
  planned_revision_ = 0;
}

void PlannerRole::apply(const EventBatch& batch) {
  for (const BlobWrite& blob : batch.blobs) state_.add_blob(blob);
  for (const Event& event : batch.events) {
    state_.apply(event);
    elastic_.note(event);
    if (state_.is_configured()) feed_.on_event(event, state_);
  }
  if (state_.is_configured()) feed_.settle(state_);
  state_.seal(batch.seq);
}

std::optional<PlanResult> PlannerRole::plan(TimePoint now) {
  if (!state_.is_configured()) return std::nullopt;
  if (is_in_flight_) {
    if (!await_ || state_.seq() < *await_) return std::nullopt;
    is_in_flight_ = false;
    await_.reset();
  }
  snapshot_.advance_time(std::max(now, state_.time()));
  const bool has_changed = snapshot_.revision() != planned_revision_;
  const bool is_looking = elastic_.is_due(now, has_changed || has_unlooked_change_);
  if (!has_changed && !is_looking) return std::nullopt;
  has_unlooked_change_ = has_changed || has_unlooked_change_;
  planned_revision_ = snapshot_.revision();
  auto plan = std::make_shared<const sched::Plan>(planner_.plan(snapshot_, std::max(now, state_.time()), options_));
  is_in_flight_ = true;
  PlanResult result{state_.seq(), plan, report(*plan)};
  if (is_looking && plan->starts.empty()) {
    has_unlooked_change_ = false;
    result.resize = elastic_.look(state_, feed_, snapshot_, *plan, std::max(now, state_.time()));
  }
  return result;
}

/// The word alone, in rows that all jobs of that word share.
void PlannerRole::report_words(const sched::Shape& shape, const sched::Plan& plan,
                               std::map<PendingReason, std::uint32_t>& word_rows, PlanReport& report) const {
  const auto row_of = [&](PendingReason word) {
    const auto [found, is_new] = word_rows.try_emplace(word, static_cast<std::uint32_t>(report.rows.size()));
    if (is_new) report.rows.emplace_back().word = word;
    return found->second;
  };
  const PendingReason first = sched::reason_word(snapshot_, plan, shape.ready.begin()->job);
  const PendingReason behind = first == PendingReason::kResources ? PendingReason::kPriority : first;
  for (const sched::Rank& rank : shape.ready) report.row_of[rank.job] = row_of(rank == *shape.ready.begin() ? first : behind);
}

std::shared_ptr<const PlanReport> PlannerRole::report(const sched::Plan& plan) const {
  auto report = std::make_shared<PlanReport>();
  report->seq = state_.seq();
  std::map<PendingReason, std::uint32_t> word_rows;
  for (const sched::Shape& shape : snapshot_.shapes()) {
    if (shape.serial == 0 || shape.ready.empty()) continue;
    if (report->rows.size() >= kRowsMax) {
      report_words(shape, plan, word_rows, *report);
      continue;
    }
    std::uint32_t shared_row = UINT32_MAX;
    for (const sched::Rank& rank : shape.ready) {
      const JobId job = rank.job;
      const bool is_first = shared_row == UINT32_MAX;
      if (is_first || plan.window_of(job) != nullptr) {
        report->rows.push_back(sched::reasons_of(snapshot_, plan, job));
        report->row_of[job] = static_cast<std::uint32_t>(report->rows.size() - 1);
        if (!is_first) continue;
        Reasons behind = report->rows.back();
        if (behind.word == PendingReason::kResources) behind.word = PendingReason::kPriority;
        behind.expected_start = TimePoint::unset();
        behind.planned_nodes.clear();
        report->rows.push_back(std::move(behind));
        shared_row = static_cast<std::uint32_t>(report->rows.size() - 1);
      } else {
        report->row_of[job] = shared_row;
      }
    }
  }
  std::set<NodeIndex> planned;
  for (const sched::Window& window : plan.windows) {
    const auto row = report->row_of.find(window.job);
    // Told in brief with its shape: a job that has a window keeps its start however many shapes there are.
    if (row != report->row_of.end() && !report->rows[row->second].expected_start.is_set()) {
      row->second = static_cast<std::uint32_t>(report->rows.size());
      report->rows.push_back(sched::reasons_of(snapshot_, plan, window.job));
    }
    for (const sched::NodeAmount& amount : window.nodes) planned.insert(amount.node);
  }
  report->planned_nodes.assign(planned.begin(), planned.end());
  return report;
}

}  // namespace muster
