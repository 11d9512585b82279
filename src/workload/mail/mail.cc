// Texts and occasions are those of Slurm's mail (sbatch(1), --mail-type), which filters and scripts
// of users expect. An element is told of with its array unless ARRAY_TASKS asks otherwise.
#include "workload/mail/mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "slurm/duration_text.h"
#include "text/words.h"

namespace muster {
namespace {

bool wants(const JobSpec& spec, std::string_view type) {
  const auto types = split_words(spec.get(JobText::kMailType), ',');
  const auto has = [&](std::string_view word) {
    return std::ranges::find(types, word) != types.end();
  };
  // Source: sbatch(1), --mail-type: what ALL stands for, as far as there are such mails.
  const bool is_in_all = type == "BEGIN" || type == "END" || type == "FAIL" || type == "REQUEUE" ||
                         type == "INVALID_DEPEND";
  return has(type) || (is_in_all && has("ALL"));
}

bool is_element(const Job& job) {
  return job.array_job.value() != 0 && job.array_index.has_value();
}

std::string prefix_of(const Job& job) {
  const auto id = job.id.value();
  if (!is_element(job)) return fmt::format("Slurm Job_id={} Name={}", id, job.spec->name());
  return fmt::format("Slurm Array Task Job_id={}_{} ({}) Name={}", job.array_job.value(),
                     *job.array_index, id, job.spec->name());
}
std::string summary_prefix_of(const Job& job) {
  return fmt::format("Slurm Array Summary Job_id={0}_* ({0}) Name={1}", job.array_job.value(),
                     job.spec->name());
}

Mail mail_to(const Job& job, std::string type, std::string subject) {
  const std::string_view user = job.spec->get(JobText::kMailUser);
  return Mail{std::string(user.empty() ? job.spec->get(JobText::kUserName) : user),
              std::move(subject),
              job.id,
              std::string(job.spec->name()),
              std::move(type),
              job.spec->user,
              job.spec->group};
}

template <class Predicate>
bool any_element(JobId array, const ClusterState& state, Predicate is_such) {
  const auto* elements = state.jobs().elements(array);
  return elements != nullptr && std::ranges::any_of(*elements, [&](const auto& element) {
           return is_such(*state.jobs().find(element.second));
         });
}

/// Everything of the array that is in memory has ended, and nothing of it is left to start.
bool is_array_over(JobId array, const ClusterState& state) {
  const Job* record = state.jobs().find(array);
  if (record != nullptr && !is_finished(record->state)) return false;
  return !any_element(array, state, [](const Job& job) { return !is_finished(job.state); });
}

std::optional<Mail> about_start(const Job& job, const ClusterState& state) {
  if (!wants(*job.spec, "BEGIN")) return std::nullopt;
  const std::string queued = padded_duration_text(job.start_time - job.submit_time);
  if (!is_element(job) || wants(*job.spec, "ARRAY_TASKS")) {
    return mail_to(job, "Began", fmt::format("{} Began, Queued time {}", prefix_of(job), queued));
  }
  // One mail for the first start of the array: none where another element began before, or this one
  // runs again.
  const bool is_later =
      job.attempt > 0 || any_element(job.array_job, state, [&](const Job& other) {
        return other.id != job.id && (other.start_time.is_set() || is_finished(other.state));
      });
  if (is_later) return std::nullopt;
  return mail_to(job, "Began", fmt::format("{} Began", summary_prefix_of(job)));
}

std::string outcome_text(const Job& job) {
  const std::string ran =
      job.start_time.is_set() ? padded_duration_text(job.end_time - job.start_time) : "00:00:00";
  return fmt::format("Run time {}, {}, ExitCode {}", ran, job_state_name(job.state),
                     job.exit.code());
}

std::optional<Mail> about_end_of_array(const Job& job, const ClusterState& state) {
  if (!is_array_over(job.array_job, state)) return std::nullopt;
  int lowest = job.exit.code();
  int highest = lowest;
  const bool is_mixed =
      // Elements that differ in state: Slurm words it as Mixed, and it counts as failed.
      any_element(job.array_job, state, [&](const Job& other) { return other.state != job.state; });
  any_element(job.array_job, state, [&](const Job& other) {
    lowest = std::min(lowest, other.exit.code());
    highest = std::max(highest, other.exit.code());
    return false;
  });
  const bool is_failed = is_mixed || job.state != JobState::kCompleted;
  if (!wants(*job.spec, "END") && !(is_failed && wants(*job.spec, "FAIL"))) return std::nullopt;
  return mail_to(job, is_failed ? "Failed" : "Ended",
                 fmt::format("{} {}, {}, ExitCode [{}-{}]", summary_prefix_of(job),
                             is_failed ? "Failed" : "Ended",
                             is_mixed ? "Mixed" : job_state_name(job.state), lowest, highest));
}

std::optional<Mail> about_end(const Job& job, const ClusterState& state) {
  if ((job.flags & job_flag::kRequeueAfter) != 0)
    return std::nullopt;  // told when it is back in the queue
  if (is_element(job) && !wants(*job.spec, "ARRAY_TASKS")) return about_end_of_array(job, state);
  // Cancelled is an end, not a failure.
  const bool is_failed = job.state != JobState::kCompleted && job.state != JobState::kCancelled;
  if (is_failed && wants(*job.spec, "FAIL")) {
    return mail_to(job, "Failed", fmt::format("{} Failed, {}", prefix_of(job), outcome_text(job)));
  }
  if (!wants(*job.spec, "END")) return std::nullopt;
  return mail_to(job, "Ended", fmt::format("{} Ended, {}", prefix_of(job), outcome_text(job)));
}

}  // namespace

std::vector<Mail> mails_about(const Event& event, const ClusterState& state) {
  std::vector<Mail> mails;
  const auto add = [&](std::optional<Mail> mail) {
    if (mail) mails.push_back(std::move(*mail));
  };
  const auto job_of = [&](JobId id) -> const Job* {
    const Job* job = state.jobs().find(id);
    return job == nullptr || job->spec->get(JobText::kMailType).empty() ? nullptr : job;
  };
  if (const auto* started = get_if<JobStarted>(&event.body)) {
    if (const Job* job = job_of(started->job)) add(about_start(*job, state));
  } else if (const auto* ending = get_if<JobEnding>(&event.body)) {
    const Job* job = job_of(ending->job);
    if (job == nullptr) return mails;
    // Beside the mail about the end: TIME_LIMIT is an occasion of its own.
    if (job->state == JobState::kTimeout && wants(*job->spec, "TIME_LIMIT"))
      mails.push_back(mail_about_time(*job, 100, event.time));
    add(about_end(*job, state));
  } else if (const auto* requeued = get_if<JobRequeued>(&event.body)) {
    const Job* job = job_of(requeued->job);
    if (job != nullptr && wants(*job->spec, "REQUEUE"))
      mails.push_back(mail_to(*job, "Requeued", prefix_of(*job) + " Requeued"));
  } else if (const auto* changed = get_if<JobChanged>(&event.body)) {
    if (changed->reason != PendingReason::kDependencyNeverSatisfied) return mails;
    const Job* job = job_of(changed->job);
    if (job == nullptr || !wants(*job->spec, "INVALID_DEPEND")) return mails;
    mails.push_back(mail_to(*job, "Invalid dependency", prefix_of(*job) + " Invalid dependency"));
  }
  return mails;
}

std::vector<int> mailed_time_shares(const JobSpec& spec) {
  std::vector<int> shares;
  if (spec.get(JobText::kMailType).empty()) return shares;
  for (const int percent : {50, 80, 90}) {
    if (wants(spec, fmt::format("TIME_LIMIT_{}", percent))) shares.push_back(percent);
  }
  return shares;
}

Mail mail_about_time(const Job& job, int percent, TimePoint now) {
  const std::string what =
      percent >= 100 ? "Reached time limit" : fmt::format("Reached {}% of time limit", percent);
  return mail_to(job, what,
                 fmt::format("{} {}, Run time {}", prefix_of(job), what,
                             padded_duration_text(now - job.start_time - job.suspended_before())));
}

}  // namespace muster
