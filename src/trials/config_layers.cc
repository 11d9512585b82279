// Merges recursively with the path of names as context: only a path tells whether two lists are
// joined, or whether two maps describe the same thing.

#include "trials/config_layers.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/yaml_text.h"

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
  - name: Storage misconfigured
    pattern: 'An error occurred \((NoSuchBucket|InvalidAccessKeyId|SignatureDoesNotMatch)\)'
    action: cancel_retries
debug: false
)";

/// The lists that layers join, by path. Everywhere else the upper list replaces the lower one.
constexpr std::array<std::string_view, 8> kJoined{"bind_mounts",
                                                  "resources.devices",
                                                  "environment.proxy_ports",
                                                  "environment.ports",
                                                  "environment.environment_variables",
                                                  "environment.environment_variables.cpu",
                                                  "environment.environment_variables.cuda",
                                                  "environment.environment_variables.rocm"};
constexpr std::string_view kVariables = "environment.environment_variables";
constexpr std::string_view kJoinedByName = "log_policies";

/// Two maps of which one cannot complete the other: another storage, another search method, another
/// kind of range.
bool is_other_thing(std::string_view path, const Json& over, const Json& under) {
  const bool is_storage_or_range =
      path == "checkpoint_storage" || path.starts_with("hyperparameters.");
  if (path != "searcher" && !is_storage_or_range) return false;
  const std::string_view mark = path == "searcher" ? "name" : "type";
  // A search method has a name, a storage and a range have a type.
  const Json* a = over.find(mark);
  const Json* b = under.find(mark);
  // A range over a map without a type, or the reverse: the map without one holds nested
  // hyperparameters. A storage without a type only completes the one below it.
  if (is_storage_or_range && (a == nullptr) != (b == nullptr) && path != "checkpoint_storage")
    return true;
  return a != nullptr && b != nullptr && *a != *b;
}

Json join_lists(const Json::Array& over, const Json::Array& under) {
  Json::Array joined = under;
  joined.insert(joined.end(), over.begin(), over.end());
  return joined;
}

/// The upper ones first, where the user's file counts them.
Json join_by_name(const Json::Array& over, const Json::Array& under) {
  Json::Array joined = over;
  for (const Json& lower : under) {
    const Json* name = lower.find("name");
    const bool is_replaced = name != nullptr && std::ranges::any_of(over, [&](const Json& upper) {
                               const Json* other = upper.find("name");
                               return other != nullptr && *other == *name;
                             });
    if (!is_replaced) joined.push_back(lower);
  }
  return joined;
}

/// A list of variables as the map from kinds of slots that the other layer has.
Json::Object by_kinds(const Json& variables) {
  if (variables.object() != nullptr) return *variables.object();
  // Not into rocm as well: the form joins cuda and rocm, and would have each variable twice.
  return variables.array()->empty() ? Json::Object()
                                    : Json::Object{{"cpu", variables}, {"cuda", variables}};
}

bool is_list_or_map(const Json& value) {
  return value.array() != nullptr || value.object() != nullptr;
}

Json merge_at(const std::string& path, const Json& over, const Json& under);

Json merge_maps(const std::string& path, const Json::Object& over, const Json::Object& under) {
  // A map by name, since a search through `under` for each member of `over` would cost the product
  // of both.
  std::map<std::string_view, const Json*> lower;
  for (const Json::Member& member : under) lower.emplace(member.name, &member.value);
  Json::Object merged;
  for (const Json::Member& member : over) {
    const auto below = lower.find(member.name);
    const std::string inner = path.empty() ? member.name : path + "." + member.name;
    // The order of fields is the upper layer's, and then the lower one's: the configuration is
    // shown to people as it was written.
    merged.push_back({member.name, below == lower.end()
                                       ? member.value
                                       : merge_at(inner, member.value, *below->second)});
    if (below != lower.end()) lower.erase(below);
  }
  for (const Json::Member& member : under) {
    if (lower.contains(member.name)) merged.push_back(member);
  }
  return merged;
}

Json merge_at(const std::string& path, const Json& over, const Json& under) {
  if (over.is_null()) return under;
  if (over.array() != nullptr && under.array() != nullptr) {
    if (path == kJoinedByName) return join_by_name(*over.array(), *under.array());
    if (std::ranges::find(kJoined, path) != kJoined.end())
      return join_lists(*over.array(), *under.array());
  }
  // A list and a map of variables can be joined only in the form that both have.
  if (path == kVariables && is_list_or_map(over) && is_list_or_map(under))
    return merge_maps(path, by_kinds(over), by_kinds(under));
  if (over.object() == nullptr || under.object() == nullptr || is_other_thing(path, over, under))
    return over;
  return merge_maps(path, *over.object(), *under.object());
}

Json parse_defaults() {
  auto document = parse_yaml(kDefaults);
  // The text is a constant of this file: a failure is ours and not a user's.
  CHECK(document.has_value(), "the defaults cannot be read: {}", document.error().text());
  return std::move(document->root);
}

}  // namespace

Json merge_layers(const Json& over, const Json& under) { return merge_at("", over, under); }

const Json& experiment_defaults() {
  static const Json kDefaults = parse_defaults();
  return kDefaults;
}

}  // namespace muster
