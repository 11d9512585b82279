#include "api/http/http_message.h"

namespace muster::api {

std::string_view HttpRequest::parameter(std::string_view name) const {
  // The last one wins, where a client repeats a parameter.
  for (auto found = query.rbegin(); found != query.rend(); ++found) {
    if (found->first == name) return found->second;
  }
  return {};
}

// A list is one parameter that is repeated: labels=a&labels=b.
std::vector<std::string> HttpRequest::parameters(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

bool HttpRequest::has(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return true;
  }
  return false;
}

}  // namespace muster::api
