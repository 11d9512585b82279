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

// The texts that ask for resources.
constexpr std::array kRequestTexts = {
    JobText::kGresPerNode, JobText::kGresPerJob, JobText::kGresPerTask, JobText::kFeatures,
    JobText::kPrefer,      JobText::kNodeList,   JobText::kExcludeList};

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

Status read_text(const JobSpec& spec, JobText key, NodeListMemo& memo, ResourceRequest& request) {
  switch (key) {
    case JobText::kGresPerNode: request.gres_per_node = TRY(gres_of(spec, key)); break;
    case JobText::kGresPerJob: request.gres_per_job = TRY(gres_of(spec, key)); break;
    case JobText::kGresPerTask: request.gres_per_task = TRY(gres_of(spec, key)); break;
    case JobText::kFeatures: request.features = TRY(features_of(spec, key)); break;
    case JobText::kPrefer: request.preferred = TRY(features_of(spec, key)); break;
    case JobText::kNodeList: request.required_nodes = TRY(memo.names_of(key, spec.get(key))); break;
    case JobText::kExcludeList:
      request.excluded_nodes = TRY(memo.names_of(key, spec.get(key)));
      break;
    default: break;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> NodeListMemo::names_of(JobText key, std::string_view text) {
  if (text.empty()) return std::vector<std::string>{};
  auto& [known_text, known_names] = known_[key];
  if (known_text == text) return known_names;
  auto names = expand_hostlist(text);
  if (!names.has_value())
    return fail(ErrorCode::kInvalidArgument, "Invalid node name specified", names.error().text());
  known_names = std::move(names).value();
  // By bytes, so that equal lists are equal requests; people are shown the text.
  std::ranges::sort(known_names);
  known_names.erase(std::unique(known_names.begin(), known_names.end()), known_names.end());
  known_text = text;
  return known_names;
}

// Jobs without any of these need no parsing.
bool asks_by_text(const JobSpec& spec) {
  return std::ranges::any_of(kRequestTexts, [&](JobText key) { return !spec.get(key).empty(); });
}

Status parse_request(JobSpec& spec) {
  // Copied, and put back at once: a text that cannot be read changes nothing.
  ResourceRequest request = *spec.request;
  NodeListMemo memo;
  for (const JobText key : kRequestTexts) TRY(read_text(spec, key, memo, request));
  // Most jobs have no such lists: they keep the request that they share with others.
  if (request != *spec.request) spec.request = std::move(request);
  return {};
}

Status parse_request_text(JobSpec& spec, JobText key, NodeListMemo& memo) {
  if (std::ranges::find(kRequestTexts, key) == kRequestTexts.end()) return {};
  ResourceRequest request = *spec.request;
  TRY(read_text(spec, key, memo, request));
  if (request != *spec.request) spec.request = std::move(request);
  return {};
}

}  // namespace muster
