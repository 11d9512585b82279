// muster why JOB: everything that stands in a job's way, or how it ended.
#include <fmt/format.h>

#include "cli/lib/commands.h"
#include "cli/lib/job_selector.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/session.h"
#include "slurm/hostlist.h"

namespace muster::cli {
namespace {

std::string jobs_text(const std::vector<JobId>& jobs) {
  std::string text;
  for (const JobId job : jobs) text += (text.empty() ? "" : ", ") + std::to_string(job.value());
  return text;
}

std::string nodes_text(const std::vector<NodeIndex>& nodes, const std::vector<NodeView>& all) {
  std::vector<std::string> names;
  for (const NodeIndex node : nodes) {
    if (node.value() < all.size()) names.push_back(all[node.value()].config.name);
  }
  return compress_hostlist(names);
}

void print_detail(const ReasonDetail& detail, const std::vector<NodeView>& nodes) {
  std::string line =
      fmt::format("  {:<14} {}", pending_reason_word(detail.reason), detail.constraint);
  // Jobs that go first hold nothing: only their number counts.
  const bool is_queue = detail.reason == PendingReason::kPriority;
  if (is_queue) {
    line += fmt::format(": {}", detail.found);
  } else if (detail.wanted != 0 || detail.found != 0) {  // both 0: the reason has no amounts
    line += fmt::format(": wants {}, there is {}", detail.wanted, detail.found);
  }
  print(line + "\n");
  if (!detail.blocking_jobs.empty())
    print(fmt::format("  {:<14} {} jobs {}\n", "", is_queue ? "behind" : "held by",
                      jobs_text(detail.blocking_jobs)));
  if (!detail.nodes.empty())
    print(fmt::format("  {:<14} nodes {}\n", "", nodes_text(detail.nodes, nodes)));
}

void print_waiting(const JobView& job, const std::vector<NodeView>& nodes,
                   const ShowContext& context) {
  print(fmt::format("Job {} waits: {}\n", job_id_text(job), pending_reason_word(job.reasons.word)));
  for (const ReasonDetail& detail : job.reasons.details) print_detail(detail, nodes);
  if (!job.dependency.empty()) print(fmt::format("  {:<14} {}\n", "Dependency", job.dependency));
  if (job.reasons.expected_start.is_set() && !job.reasons.expected_start.is_never()) {
    const std::string on = nodes_text(job.reasons.planned_nodes, nodes);
    print(fmt::format("Expected start: {}{}\n", context.time(job.reasons.expected_start, "unknown"),
                      on.empty() ? "" : " on " + on));
  }
}

void print_other(const JobView& job, const ShowContext& context) {
  if (!is_finished(job.state)) {
    print(fmt::format("Job {} is {} on {} since {}\n", job_id_text(job),
                      shown_state_name(job.state, job.flags), job.node_list,
                      context.time(job.start_time, "unknown")));
    return;
  }
  print(fmt::format("Job {} ended: {} {}:{}{}{}\n", job_id_text(job), job_state_name(job.state),
                    job.exit.code(), job.exit.signal(), job.detail.empty() ? "" : ": ",
                    job.detail));
}

}  // namespace

int run_why(const Words& words) {
  Console console("muster why");
  if (words.size() != 1 || words.front() == "--help") {
    // Help is no failure, a missing job is.
    print(
        "Usage: muster why JOB\n\nEverything that stands in a waiting job's way, or how it "
        "ended.\n");
    return words.size() == 1 ? 0 : 1;
  }
  auto selector = parse_job_selector(words.front());
  if (!selector.has_value()) return console.fail(selector.error());
  Session session(console);
  Query query;
  // The details come from the planner's last plan.
  query.detail = QueryDetail::kWhy;
  query.filter.jobs.push_back(std::move(selector).value());
  const auto jobs = session.query(query);
  if (!jobs.has_value()) return console.fail(jobs.error());
  // Reasons name nodes by index.
  Query nodes_query;
  nodes_query.kind = QueryKind::kNodes;
  const auto nodes = session.query(nodes_query);
  if (!nodes.has_value()) return console.fail(nodes.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  for (const JobView& job : jobs->jobs) {
    if (job.state == JobState::kPending) {
      print_waiting(job, nodes->nodes, context);
    } else {
      print_other(job, context);
    }
  }
  return 0;
}

}  // namespace muster::cli
