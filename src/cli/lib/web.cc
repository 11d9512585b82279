// HTTP for commands that have no other way. A command gets a token of its own for each call of the
// program, from the controller's socket, and needs no login.

#include "cli/lib/web.h"

#include <fmt/format.h>

#include <iterator>

#include "cli/lib/http_call.h"
#include "text/json_text.h"

namespace muster::cli {
namespace {

std::string full_path(const std::string& path) {
  return path.starts_with('/') ? path : "/api/v1/" + path;
}

}  // namespace

Status Web::open() {
  access_ = TRY(find_http(session_, kCommandLife));
  return {};
}

Result<Json> Web::get(const std::string& path) {
  return call_http(session_, access_, {"GET", full_path(path)});
}

Result<Json> Web::post(const std::string& path, const Json& body) {
  return call_http(session_, access_, {"POST", full_path(path), json_text(body)});
}

Status Web::stream(const std::string& path, std::string accept,
                   const std::function<Status(std::string_view bytes)>& take) {
  HttpCall call{"GET", full_path(path)};
  call.accept = std::move(accept);
  return stream_http(session_, access_, call, take);
}

Result<std::vector<Json>> all_items(Web& web, const std::string& path, std::string_view name) {
  std::vector<Json> all;
  // By pages: the API answers with so many at most.
  while (true) {
    const Json answer = TRY(web.get(fmt::format("{}?offset={}", path, all.size())));
    std::vector<Json> some = items_of(answer, name);
    // An empty page ends it also where the total is wrong or grows.
    const bool is_over = some.empty();
    std::move(some.begin(), some.end(), std::back_inserter(all));
    const Json* pages = answer.find("pagination");
    const Json* total = pages == nullptr ? nullptr : pages->find("total");
    if (is_over || total == nullptr || total->whole() == nullptr ||
        static_cast<std::int64_t>(all.size()) >= *total->whole())
      return all;
  }
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

std::string number_cell(const Json* value) {
  if (value == nullptr || value->is_null()) return "-";
  if (value->text() != nullptr) return *value->text();
  // JSON's whole numbers are shown with all digits.
  const auto number = value->number();
  return number && value->whole() == nullptr ? fmt::format("{:.6g}", *number) : json_text(*value);
}

std::vector<Json> items_of(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found != nullptr && found->array() != nullptr ? *found->array() : std::vector<Json>();
}

}  // namespace muster::cli
