#include "cli/web.h"

#include "cli/http_call.h"
#include "codec/json_text.h"

namespace muster::cli {
namespace {

constexpr int kTokenDays = 1;

std::string full_path(const std::string& path) { return path.starts_with('/') ? path : "/api/v1/" + path; }

}  // namespace

Status Web::open() {
  access_ = TRY(find_http(session_, kTokenDays));
  return {};
}

Result<Json> Web::get(const std::string& path) { return call_http(session_, access_, {"GET", full_path(path)}); }

Result<Json> Web::post(const std::string& path, const Json& body) { return call_http(session_, access_, {"POST", full_path(path), json_text(body)}); }

Status Web::stream(const std::string& path, std::string accept, const std::function<Status(std::string_view bytes)>& take) {
  HttpCall call{"GET", full_path(path)};
  call.accept = std::move(accept);
  return stream_http(session_, access_, call, take);
}

int print_json(const Console& console, Session& session, const std::string& path) {
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto found = web.get(path);
  if (!found.has_value()) return console.fail(found.error());
  print(json_text(*found) + "\n");
  return 0;
}

std::string text_of(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found != nullptr && found->text() != nullptr ? *found->text() : "";
}

std::vector<Json> items_of(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found != nullptr && found->array() != nullptr ? *found->array() : std::vector<Json>();
}

}  // namespace muster::cli
