#include "codec/config_secrets.h"

#include <algorithm>

#include "codec/json_text.h"
#include "codec/yaml_text.h"

namespace muster {
namespace {

bool is_secret(const Json::Member& member) { return member.name == "access_key" || member.name == "secret_key"; }

/// The text as it is when it holds no keys.
std::string without_keys(const std::string& text) {
  auto document = parse_yaml(text);
  if (!document.has_value()) return {};  // it was read when it was accepted; what cannot be read is not shown
  if (document->root.find("checkpoint_storage") == nullptr) return text;
  Json::Object* storage = document->root.member("checkpoint_storage").object();
  if (storage == nullptr || std::erase_if(*storage, is_secret) == 0) return text;
  return json_text(document->root);
}

}  // namespace

ExperimentSpecRef spec_shown_to(const Identity& reader, const ExperimentSpecRef& spec) {
  if (reader.is_operator || reader.user == spec->user) return spec;
  auto shown = std::make_shared<ExperimentSpec>(*spec);
  shown->config = without_keys(spec->config);
  shown->original = without_keys(spec->original);
  return shown;
}

}  // namespace muster
