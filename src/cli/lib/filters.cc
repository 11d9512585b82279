// What squeue, sacct, scancel and sinfo have in common: lists of states, users, nodes and
// clusters. Names are looked up on this machine, as Slurm's commands do; what they mean on the
// cluster is the controller's to say.

#include "cli/lib/filters.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "cli/lib/session.h"
#include "slurm/hostlist.h"
#include "text/words.h"

namespace muster::cli {

bool StateFilter::matches(JobState state, std::uint16_t flags) const {
  if (is_all) return true;
  const bool completes = (flags & job_flag::kCompleting) != 0;
  // COMPLETING is a flag beside the base state, which a job keeps meanwhile.
  return (is_completing && completes) || std::ranges::find(states, state) != states.end();
}

namespace {

std::string known_states() {
  std::string names;
  for (int i = 0; i < kJobStateCount; ++i)
    names += fmt::format("{},", job_state_name(static_cast<JobState>(i)));
  return names + "COMPLETING,all";
}

/// Conditions that no job of ours is ever in match nothing.
/// Slurm's names are accepted, so that a script that lists them all works.
bool is_foreign_state(std::string_view word) {
  static constexpr std::string_view kForeign[] = {
      "CONFIGURING", "CF", "STAGE_OUT",    "SO", "RESIZING",     "RS", "REVOKED",       "RV",
      "SIGNALING",   "SI", "STOPPED",      "ST", "REQUEUE_FED",  "RF", "RESV_DEL_HOLD", "RD",
      "REQUEUED",    "RQ", "REQUEUE_HOLD", "RH", "SPECIAL_EXIT", "SE", "EXPEDITING"};
  return std::ranges::any_of(
      kForeign, [&](std::string_view known) { return equal_ignoring_case(known, word); });
}

}  // namespace

Result<StateFilter> parse_states(std::string_view text) {
  StateFilter filter;
  for (const std::string_view word : split_words(text, ',')) {
    if (equal_ignoring_case(word, "all")) {
      filter.is_all = true;
    } else if (equal_ignoring_case(word, "COMPLETING") || equal_ignoring_case(word, "CG")) {
      filter.is_completing = true;
    } else if (const auto state = parse_job_state(word)) {
      filter.states.push_back(*state);
    } else if (!is_foreign_state(word)) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid job state specified: {}", word),
                  "Valid job states include: " + known_states());
    }
  }
  return filter;
}

Status add_users(std::string_view text, JobFilter& filter) {
  for (const std::string_view word : split_words(text, ',')) {
    // Numbers first, as a user id may be given.
    if (const auto uid = parse_whole32(word)) {
      filter.uids.push_back(*uid);
    } else if (const passwd* user = ::getpwnam(std::string(word).c_str())) {
      filter.uids.push_back(user->pw_uid);
    } else {
      return fail(ErrorCode::kNotFound, fmt::format("Invalid user: {}", word));
    }
  }
  return {};
}

void add_me(JobFilter& filter) { filter.uids.push_back(::getuid()); }

Status add_nodes(std::string_view text, std::vector<std::string>& nodes) {
  for (std::string& name : TRY(expand_hostlist(text))) nodes.push_back(std::move(name));
  return {};
}

Status check_clusters(std::string_view text) {
  // "all" names the only cluster there is.
  const std::string own = find_cluster().cluster_name;
  for (const std::string_view word : split_words(text, ',')) {
    if (equal_ignoring_case(word, own) || equal_ignoring_case(word, "all")) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("No cluster '{}' known by database.", word),
                fmt::format("this cluster is '{}'", own));
  }
  return {};
}

// The option replaces the variable, and is checked by itself.
Status check_clusters_variable(bool is_option_given) {
  const std::string_view named = environment_value("SLURM_CLUSTERS");
  return is_option_given || named.empty() ? Status() : check_clusters(named);
}

}  // namespace muster::cli
