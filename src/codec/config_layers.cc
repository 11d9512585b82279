#include "codec/config_layers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "codec/yaml_text.h"

namespace muster {
namespace {

constexpr std::string_view kDefaults = R"(
description: ""
labels: []
hyperparameters: {}
data: {}
resources:
  slots_per_trial: 1
  weight: 1
  is_single_node: false
environment:
  environment_variables: []
checkpoint_policy: best
max_restarts: 5
preemption_timeout: 3600
perform_initial_validation: false
min_validation_period: {batches: 0}
min_checkpoint_period: {batches: 0}
profiling: {enabled: false, begin_on_batch: 0, sync_timings: true}
log_policies:
  - {name: CUDA OOM, pattern: ".*CUDA out of memory.*"}
  - {name: ECC Error, pattern: ".*uncorrectable ECC error encountered.*"}
debug: false
)";

/// The lists that layers join. Everywhere else the upper list replaces the lower one.
constexpr std::array<std::string_view, 5> kJoined{"bind_mounts", "devices", "proxy_ports", "ports", "environment_variables"};
constexpr std::string_view kJoinedByName = "log_policies";

/// Two maps of which one cannot complete the other: another storage, another search method.
bool is_other_thing(const Json& over, const Json& under) {
  for (const std::string_view mark : {"type", "name"}) {
    const Json* a = over.find(mark);
    const Json* b = under.find(mark);
    if (a != nullptr && b != nullptr && *a != *b) return true;
  }
  return false;
}

Json join_lists(const Json::Array& over, const Json::Array& under) {
  Json::Array joined = under;
  joined.insert(joined.end(), over.begin(), over.end());
  return joined;
}

Json join_by_name(const Json::Array& over, const Json::Array& under) {
  Json::Array joined;
  for (const Json& lower : under) {
    const Json* name = lower.find("name");
    const bool is_replaced = name != nullptr && std::ranges::any_of(over, [&](const Json& upper) {
      const Json* other = upper.find("name");
      return other != nullptr && *other == *name;
    });
    if (!is_replaced) joined.push_back(lower);
  }
  joined.insert(joined.end(), over.begin(), over.end());
  return joined;
}

Json merge_member(std::string_view name, const Json& over, const Json& under) {
  if (over.array() != nullptr && under.array() != nullptr) {
    if (name == kJoinedByName) return join_by_name(*over.array(), *under.array());
    if (std::ranges::find(kJoined, name) != kJoined.end()) return join_lists(*over.array(), *under.array());
  }
  return merge_layers(over, under);
}

Json parse_defaults() {
  auto document = parse_yaml(kDefaults);
  CHECK(document.has_value(), "the defaults cannot be read: {}", document.error().text());
  return std::move(document->root);
}

}  // namespace

Json merge_layers(const Json& over, const Json& under) {
  if (over.is_null()) return under;
  if (over.object() == nullptr || under.object() == nullptr || is_other_thing(over, under)) return over;
  Json merged = over;
  for (const Json::Member& lower : *under.object()) {
    Json& member = merged.member(lower.name);
    member = merge_member(lower.name, member, lower.value);
  }
  return merged;
}

const Json& experiment_defaults() {
  static const Json defaults = parse_defaults();
  return defaults;
}

}  // namespace muster
