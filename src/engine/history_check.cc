// What `muster check` holds against history: each end that the replay passes, and what the
// checkpoint already had as ended. Lines are bounded, the count is not.
#include "engine/history_check.h"

#include <fmt/format.h>

#include <set>

namespace muster {
namespace {

constexpr std::size_t kLinesMax = 20;

}  // namespace

void HistoryExpectation::attempt_ended(const Job& job, TimePoint) {
  attempts_.push_back({Seq(state_.seq().value() + 1), job.id, job.attempt});
}

void HistoryExpectation::step_ended(const Job&, const StepState& step, TimePoint) {
  steps_.emplace_back(Seq(state_.seq().value() + 1), step.id);
}

Result<std::vector<std::string>> HistoryExpectation::missing_from(HistoryStore& history) const {
  std::vector<std::string> lines;
  std::size_t missing = 0;
  const auto add = [&](std::string line) {
    if (++missing <= kLinesMax) lines.push_back(std::move(line));
  };
  std::set<std::pair<JobId, std::uint32_t>> seen;
  for (const Attempt& one : attempts_) {
    seen.emplace(one.job, one.attempt);
    // Beyond the watermark history is still to come.
    if (one.seq > history.watermark() || TRY(history.has(one.job, one.attempt))) continue;
    add(
        fmt::format("the end of job {} (attempt {}) in batch {} is not in history, which has all "
                    "up to batch {}",
                    one.job.value(), one.attempt, one.seq.value(), history.watermark().value()));
  }
  for (const auto& [seq, step] : steps_) {
    if (seq > history.watermark() || TRY(history.has(step))) continue;
    add(fmt::format("the end of step {}.{} (attempt {}) in batch {} is not in history",
                    step.job.value(), step.step, step.attempt, seq.value()));
  }
  // What the replay began with had ended before: history had it when that checkpoint was written.
  std::vector<const Job*> over;
  state_.jobs().for_each([&](const Job& job) {
    if (job.is_over() && !seen.contains({job.id, job.attempt})) over.push_back(&job);
  });
  for (const Job* job : over) {
    if (TRY(history.has(job->id, job->attempt))) continue;
    add(fmt::format("the end of job {} (attempt {}) is not in history", job->id.value(),
                    job->attempt));
  }
  if (missing > lines.size())
    lines.push_back(fmt::format("and {} more are not in history", missing - lines.size()));
  return lines;
}

}  // namespace muster
