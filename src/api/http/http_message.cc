#include "api/http/http_message.h"

#include <algorithm>
#include <optional>

namespace muster::api {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text, bool is_form) {
  // A plus is a blank in a form and itself in a path.
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_form) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      // A percent sign without two digits: a client that sends it did not mean a path.
      if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0)
        return std::nullopt;
      out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    }
  }
  return out;
}

}  // namespace

Result<HttpRequest> parse_target(std::string_view target) {
  HttpRequest request;
  const std::size_t mark = target.find('?');
  auto path = decoded(target.substr(0, mark), false);
  if (!path || !path->starts_with('/'))
    return fail(ErrorCode::kInvalidArgument, "the request's path is damaged", "");
  request.path = std::move(*path);
  // One slash at the end is the same path; the root is its own.
  if (request.path.size() > 1 && request.path.ends_with('/')) request.path.pop_back();
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  // An empty pair is what "a&&b" has between.
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals), true);
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value)
      return fail(ErrorCode::kInvalidArgument, "the request's parameters are damaged", "");
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return request;
}

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
