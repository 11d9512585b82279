// Which ranks run on which node, and how many CPUs a task has: what srun and the supervisors both
// must know, or their numbers would not agree.

#include "slurm/rank_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "text/words.h"

namespace muster {
namespace {

// How many ranks a node takes at a time.
std::uint32_t portion_of(const DistributionRule& rule) {
  switch (rule.kind) {
    case Distribution::kBlock: return UINT32_MAX;
    case Distribution::kCyclic: return 1;
    case Distribution::kPlane: break;
  }
  CHECK(rule.plane_size > 0, "a plane holds at least one rank");
  return rule.plane_size;
}

}  // namespace

namespace {

/// How tasks lie on sockets and cores, and whether nodes are packed: said for the hardware below a
/// node, which binds in order.
bool are_lower_levels(std::string_view text) {
  for (std::string_view word : split(text, ',')) {
    if (equal_ignoring_case(word, "pack") || equal_ignoring_case(word, "nopack")) continue;
    for (const std::string_view level : split(word, ':')) {
      const std::string name = lower(level);
      if (name != "block" && name != "cyclic" && name != "fcyclic" && name != "*") return false;
    }
  }
  return true;
}

}  // namespace

Result<DistributionRule> parse_distribution(std::string_view text) {
  const std::size_t lower_levels = text.find_first_of(":,");
  // Which nodes tasks lie on is the first word's alone.
  if (lower_levels != std::string_view::npos && !are_lower_levels(text.substr(lower_levels + 1))) {
    return fail(
        ErrorCode::kInvalidArgument, "Invalid distribution specification",
        fmt::format(
            "'{}': below the nodes there are block, cyclic, fcyclic and *, then Pack or NoPack",
            text));
  }
  const std::string word = lower(trim(text.substr(0, text.find_first_of(":,"))));
  // "*" is what Slurm prints for the default.
  if (word == "block" || word == "*") return DistributionRule{};
  if (word == "cyclic") return DistributionRule{Distribution::kCyclic, 0};
  if (word == "arbitrary") {
    return fail(ErrorCode::kUnimplemented, "Invalid distribution specification",
                "'arbitrary' is not supported: use block, cyclic or plane=SIZE");
  }
  if (word.substr(0, 6) == "plane=") {
    const auto size = parse_whole32(std::string_view(word).substr(6));
    if (size && *size > 0) return DistributionRule{Distribution::kPlane, *size};
  }
  return fail(ErrorCode::kInvalidArgument, "Invalid distribution specification",
              fmt::format("'{}': write block, cyclic or plane=SIZE", text));
}

// Asked for a number on each node and no number of all: the nodes decide it.
bool follows_nodes(const JobSpec& job) {
  const bool is_count_given = (job.given & given_option::kTaskCount) != 0;
  return !is_count_given && job.request->tasks_per_node != 0 &&
         job.request->max_nodes > job.request->min_nodes;
}

std::uint32_t task_count_on(const JobSpec& job, std::size_t nodes) {
  return follows_nodes(job) ? static_cast<std::uint32_t>(nodes) * job.request->tasks_per_node
                            : job.request->task_count;
}

std::uint32_t usable_cpus(const JobSpec& job, std::size_t cpus, const NodeConfig& node) {
  const auto all = static_cast<std::uint32_t>(cpus);
  const std::uint32_t threads = std::max(1U, node.threads_per_core);
  // A node may be configured with fewer CPUs than threads; then a CPU is a core.
  const bool has_threads = node.cpus > node.sockets * node.cores_per_socket;
  if (job.request->threads_per_core == 0 || job.request->threads_per_core >= threads ||
      !has_threads)
    return all;
  // Of each core only as many as may be used.
  return all / threads * job.request->threads_per_core;
}

std::uint32_t job_tasks_on(const JobSpec& job, const NodeGrant& grant) {
  return job_tasks_on(job, grant, static_cast<std::uint32_t>(grant.cpus.count()));
}
std::uint32_t job_tasks_on(const JobSpec& job, const NodeGrant& grant, std::uint32_t usable) {
  // A number that was given, or follows from the nodes, is part of the grant.
  if ((job.given & given_option::kTaskCount) != 0 || follows_nodes(job))
    return std::max(1U, grant.task_count);
  // Otherwise as many tasks as the node's CPUs hold.
  return std::max({1U, grant.task_count, usable / std::max(1U, job.request->cpus_per_task)});
}

RankLayout rank_layout(std::span<const std::uint32_t> counts, const DistributionRule& rule) {
  const std::uint32_t portion = portion_of(rule);
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  RankLayout layout(counts.size());
  // Rounds over the nodes: with a portion of all ranks it is one round.
  for (std::uint32_t rank = 0; rank < total;) {
    for (std::size_t node = 0; node < counts.size(); ++node) {
      // A node that is full is passed over.
      for (std::uint32_t i = 0; i < portion && layout[node].size() < counts[node]; ++i) {
        layout[node].push_back(rank++);
      }
    }
  }
  return layout;
}

std::vector<TaskPosition> task_positions(const RankLayout& layout) {
  std::size_t total = 0;
  for (const auto& ranks : layout) total += ranks.size();
  // The place of a rank by its number, which is how tasks ask for it.
  std::vector<TaskPosition> places(total);
  for (std::size_t node = 0; node < layout.size(); ++node) {
    for (std::size_t local = 0; local < layout[node].size(); ++local) {
      places[layout[node][local]] = {static_cast<std::uint32_t>(node),
                                     static_cast<std::uint32_t>(local)};
    }
  }
  return places;
}

std::string counts_text(std::span<const std::uint32_t> counts) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    // 2,2,2 is 2(x3) in Slurm's variables.
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    parts.push_back(end - i == 1 ? fmt::format("{}", counts[i])
                                 : fmt::format("{}(x{})", counts[i], end - i));
    i = end;
  }
  return join(parts, ",");
}

std::string ranks_text(std::span<const std::uint32_t> ranks) {
  std::vector<std::string> parts;
  for (const std::uint32_t rank : ranks) parts.push_back(fmt::format("{}", rank));
  return join(parts, ",");
}

}  // namespace muster
