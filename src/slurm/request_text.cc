// The texts of a job's resources become what the planner compares: once, where they come in, so
// that every reader sees the same.

#include "slurm/request_text.h"

#include <algorithm>
#include <array>

#include "slurm/feature_text.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"

namespace muster {
namespace {

Result<std::vector<std::string>> sorted_nodes(std::string_view text) {
  if (text.empty()) return std::vector<std::string>{};
  auto names = expand_hostlist(text);
  if (!names.has_value()) {
    return fail(ErrorCode::kInvalidArgument, "Invalid node name specified", names.error().text());
  }
  // Sorted, as the planner looks names up in it.
  return sorted_hosts(std::move(names).value());
}

Result<std::vector<GresAmount>> gres_of(const JobSpec& spec, JobText key) {
  const std::string_view text = spec.get(key);
  // An absent text is no amount, unlike one that cannot be read.
  if (text.empty()) return std::vector<GresAmount>{};
  return parse_gres(text);
}

Result<FeatureConstraint> features_of(const JobSpec& spec, JobText key) {
  const std::string_view text = spec.get(key);
  if (text.empty()) return FeatureConstraint{};
  return parse_features(text);
}

}  // namespace

// Jobs without any of these need no parsing.
bool asks_by_text(const JobSpec& spec) {
  constexpr std::array kTexts = {JobText::kGresPerNode, JobText::kGresPerJob, JobText::kGresPerTask,
                                 JobText::kFeatures,    JobText::kPrefer,     JobText::kNodeList,
                                 JobText::kExcludeList};
  return std::ranges::any_of(kTexts, [&](JobText key) { return !spec.get(key).empty(); });
}

Status parse_request(JobSpec& spec) {
  // Copied, and put back at once: a text that cannot be read changes nothing.
  ResourceRequest request = *spec.request;
  request.gres_per_node = TRY(gres_of(spec, JobText::kGresPerNode));
  request.gres_per_job = TRY(gres_of(spec, JobText::kGresPerJob));
  request.gres_per_task = TRY(gres_of(spec, JobText::kGresPerTask));
  request.features = TRY(features_of(spec, JobText::kFeatures));
  request.preferred = TRY(features_of(spec, JobText::kPrefer));
  request.required_nodes = TRY(sorted_nodes(spec.get(JobText::kNodeList)));
  request.excluded_nodes = TRY(sorted_nodes(spec.get(JobText::kExcludeList)));
  // Most jobs have no such lists: they keep the request that they share with others.
  if (request != *spec.request) spec.request = std::move(request);
  return {};
}

}  // namespace muster
