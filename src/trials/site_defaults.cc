// Reads a site's layer as part of the least experiment that there is: the form that reads users'
// files is the only code that knows an experiment's fields. Faults are collected, so that an
// administrator sees all at once.

#include "trials/site_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/yaml_text.h"
#include "trials/config_layers.h"
#include "trials/experiment_form.h"

namespace muster {
namespace {

/// What is no matter of one experiment alone.
/// Names, search and entrypoint belong to one experiment.
constexpr std::array<std::string_view, 10> kFields{
    "environment",        "checkpoint_storage", "checkpoint_policy", "log_policies", "max_restarts",
    "preemption_timeout", "resources",          "retention_policy",  "profiling",    "budget"};
const std::vector<std::string> kPool{"resources", "resource_pool"};

/// The least that is an experiment, for the form to read a layer by.
const Json& least_experiment() {
  static const Json kLeast = Json::Object{
      {"entrypoint", "x"}, {"searcher", Json::Object{{"name", "single"}, {"metric", "loss"}}}};
  return kLeast;
}

class Reader {
 public:
  Reader(std::string_view file, const YamlDocument& document) : file_(file), document_(document) {}

  SiteDefaults read(const std::set<std::string>& partitions) {
    SiteDefaults site;
    if (document_.root.is_null()) return site;
    if (document_.root.object() == nullptr) {
      refuse("", "it is no map; give defaults: and partitions:");
      return site;
    }
    for (const Json::Member& member : *document_.root.object()) {
      if (member.name != "defaults" && member.name != "partitions")
        refuse(member.name, "there is no such part; give defaults: and partitions:");
    }
    // The cluster's first, wherever they stand: a partition's lie over them.
    if (const Json* defaults = document_.root.find("defaults"))
      site.cluster = layer("defaults", *defaults, {});
    if (const Json* found = document_.root.find("partitions"))
      read_partitions(*found, partitions, site);
    return site;
  }

  Status status() const {
    if (problems_.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is wrong", file_),
                fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  void refuse(const std::string& path, std::string_view message) {
    const auto line = document_.lines.find(path);
    const std::string place =
        line == document_.lines.end() ? std::string() : fmt::format("line {}: ", line->second);
    problems_.push_back(fmt::format("{}{}{}{}", place, path, path.empty() ? "" : ": ", message));
  }

  void read_partitions(const Json& value, const std::set<std::string>& partitions,
                       SiteDefaults& site) {
    if (value.is_null()) return;
    if (value.object() == nullptr)
      return refuse("partitions", "it is no map; give each partition's defaults by its name");
    for (const Json::Member& member : *value.object()) {
      const std::string path = "partitions." + member.name;
      // A misspelt partition would never apply, and nobody would notice.
      if (!partitions.contains(member.name))
        refuse(path, fmt::format("there is no partition {}; there are {}", member.name,
                                 fmt::join(partitions, ", ")));
      Json found = layer(path, member.value, site.cluster);
      if (found.find(kPool) != nullptr)
        refuse(path + ".resources.resource_pool", "this is the partition's already; take it out");
      if (!found.is_null()) site.partitions.emplace(member.name, std::move(found));
    }
  }

  /// The layer, if it and those below make an experiment that could be.
  Json layer(const std::string& path, const Json& value, const Json& below) {
    if (value.is_null()) return {};
    if (value.object() == nullptr) {
      refuse(path, "it is no map; give fields as an experiment's file has them");
      return {};
    }
    for (const Json::Member& member : *value.object()) {
      if (std::ranges::find(kFields, member.name) != kFields.end()) continue;
      refuse(path + "." + member.name,
             fmt::format("a site cannot decide this; it can: {}", fmt::join(kFields, ", ")));
    }
    // The form would repeat faults of the layer that are reported already.
    if (!problems_.empty()) return {};
    // A partition's part may complete the cluster's, so both are below the experiment.
    const Json merged = merge_layers(
        least_experiment(), merge_layers(merge_layers(value, below), experiment_defaults()));
    for (const FormProblem& problem : read_experiment(merged, {}).problems)
      refuse_field(path, problem);
    return value;
  }

  void refuse_field(const std::string& path, const FormProblem& problem) {
    // The form's paths begin at the experiment, the file's lines at its root.
    const std::string whole = path + "." + problem.path;
    const auto line = document_.lines.find(whole);
    problems_.push_back(
        FormProblem{whole, problem.message, line == document_.lines.end() ? 0 : line->second}
            .text());
  }

  std::string_view file_;
  const YamlDocument& document_;
  std::vector<std::string> problems_;
};

std::string partition_of(const Json& config, const Json& cluster, const std::string& otherwise) {
  for (const Json* each : {&config, &cluster}) {
    const Json* pool = each->find(kPool);
    if (pool != nullptr && pool->text() != nullptr && !pool->text()->empty()) return *pool->text();
  }
  return otherwise;
}

}  // namespace

Result<SiteDefaults> parse_site_defaults(std::string_view file, std::string_view text,
                                         const std::set<std::string>& partitions) {
  auto document = parse_yaml(text);
  if (!document.has_value()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is wrong", file),
                fmt::format("{}: {}", document.error().message, document.error().detail));
  }
  Reader reader(file, *document);
  SiteDefaults site = reader.read(partitions);
  TRY(reader.status());
  return site;
}

Json over_site_defaults(const Json& config, const SiteDefaults& site,
                        const std::string& default_partition) {
  const auto partition =
      site.partitions.find(partition_of(config, site.cluster, default_partition));
  const Json upper =
      partition == site.partitions.end() ? config : merge_layers(config, partition->second);
  return merge_layers(upper, site.cluster);
}

}  // namespace muster
