// Configurations are kept as text. They are parsed and written again only for a reader who is
// neither owner nor operator, and only where there is something to remove.

#include "trials/config_secrets.h"

#include <algorithm>
#include <array>

#include "text/json_text.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

bool is_secret(const Json::Member& member) {
  return member.name == "access_key" || member.name == "secret_key";
}

/// The text as it is when it holds no keys.
std::string without_keys(const std::string& text) {
  auto document = parse_yaml(text);
  if (!document.has_value())
    return {};  // it was read when it was accepted; what cannot be read is not shown
  bool is_changed = false;
  // `find` first, since member() would create the section.
  if (document->root.find("checkpoint_storage") != nullptr) {
    Json::Object* storage = document->root.member("checkpoint_storage").object();
    is_changed = storage != nullptr && std::erase_if(*storage, is_secret) > 0;
  }
  if (document->root.find("data") != nullptr) {
    Json::Object* data = document->root.member("data").object();
    is_changed |= data != nullptr && std::erase_if(*data, [](const Json::Member& member) {
                                       return member.name == "secrets";
                                     }) > 0;
  }
  // Unchanged text keeps its comments, which JSON would lose.
  return is_changed ? json_text(document->root) : text;
}

/// A JSON object of what everybody may know.
std::string what_lists_show(const std::string& text) {
  // A list of what is shown rather than of what is hidden: a new field stays closed until it is
  // added here.
  constexpr std::array<std::string_view, 11> kShown{
      "name",     "description",     "labels",    "workspace",    "project",        "visibility",
      "searcher", "hyperparameters", "resources", "max_restarts", "reproducibility"};
  auto document = parse_yaml(text);
  Json::Object* all = document.has_value() ? document->root.object() : nullptr;
  if (all == nullptr) return "{}";
  std::erase_if(*all, [&](const Json::Member& member) {
    return std::ranges::find(kShown, member.name) == kShown.end();
  });
  return json_text(document->root);
}

}  // namespace

ExperimentSpecRef spec_shown_to(const Identity& reader, const ExperimentSpecRef& spec,
                                bool is_open) {
  if (reader.is_operator || reader.user == spec->user) return spec;
  // The specification is shared with the core and with other readers: only a copy may lose its
  // keys.
  auto shown = std::make_shared<ExperimentSpec>(*spec);
  if (!is_open) {
    if (!spec->config.empty()) shown->config = what_lists_show(spec->config);
    for (std::string* closed : {&shown->original, &shown->entrypoint, &shown->run_folder})
      closed->clear();
    return shown;
  }
  shown->config = without_keys(spec->config);
  shown->original = without_keys(spec->original);
  return shown;
}

}  // namespace muster
