// A match means one of two things for its trial: it goes without a node, or it is not tried again.
#include "platform/rules/log_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "platform/rules/trial_rules.h"
#include "slurm/hostlist.h"

namespace muster {
namespace {

std::string refusal_text(const LogMatch& match) {
  return fmt::format("log policy \"{}\" forbids another try: run {} wrote \"{}\"", match.policy,
                     match.run, match.line);
}

/// Null: the job does without the node already.
JobSpecRef without_node(const JobSpec& spec, const std::string& node) {
  const std::string known(spec.get(JobText::kExcludeList));
  std::vector<std::string> excluded = spec.request->excluded_nodes;
  if (std::ranges::find(excluded, node) != excluded.end()) return nullptr;
  excluded.push_back(node);
  auto changed = std::make_shared<JobSpec>(spec);
  changed->text.set(JobText::kExcludeList, known.empty() ? node : known + "," + node);
  // The planner reads the request, people the text: both have it.
  std::ranges::sort(excluded);
  changed->request.edit()->excluded_nodes = std::move(excluded);
  return changed;
}

}  // namespace

bool is_known(const Trial& trial, const LogMatch& match) {
  return std::ranges::any_of(trial.log_matches, [&](const LogMatch& one) {
    // By policy and run: a policy that matches in each run is a match each time.
    return one.run == match.run && one.policy == match.policy;
  });
}

std::string retry_refusal(const Trial& trial, std::uint32_t run) {
  const auto found = std::ranges::find_if(trial.log_matches, [&](const LogMatch& one) {
    return one.run == run && one.action == LogAction::kCancelRetries;
  });
  return found == trial.log_matches.end() ? "" : refusal_text(*found);
}

bool has_excluded_nodes(const Trial& trial) {
  return std::ranges::any_of(
      trial.log_matches, [](const LogMatch& one) { return one.action == LogAction::kExcludeNode; });
}

std::string no_node_left(const Trial& trial, const Error& found) {
  std::vector<std::string> nodes;
  std::string policies;
  for (const LogMatch& match : trial.log_matches) {
    if (match.action != LogAction::kExcludeNode) continue;
    nodes.push_back(match.node);
    const std::string quoted = fmt::format("\"{}\"", match.policy);
    if (policies.find(quoted) == std::string::npos)
      policies += (policies.empty() ? "" : ", ") + quoted;
  }
  return fmt::format(
      "no nodes are left that it could run on: by its log policies ({}) it does without {}; of the "
      "others: {}",
      policies, sorted_hostlist(std::move(nodes)), found.text());
}

bool will_start_again(const Job& job) {
  return job.is_pending() || (job.flags & job_flag::kRequeueAfter) != 0;
}

LogConsequence consequence_of(const ClusterState& state, const Trial& trial,
                              const LogMatch& match) {
  LogConsequence consequence;
  if (trial.is_over()) return consequence;
  const Job* job = state.jobs().find(trial.job);
  // Jobs stay in memory as long as their trial is not over.
  CHECK(job != nullptr, "trial {} has no job", trial.id.value());
  // A line may be read when its run is over and the next one has been decided upon: that is ended,
  // too.
  const bool has_failed =
      std::ranges::find(trial.failed_runs, match.run) != trial.failed_runs.end();
  if (match.action == LogAction::kCancelRetries && has_failed)
    consequence.end = refusal_text(match);
  if (match.action == LogAction::kExcludeNode)
    consequence.spec = without_node(*job->spec, match.node);
  return consequence;
}

}  // namespace muster
