// Makes replies in the shapes that Determined's clients expect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/http/http_message.h"
#include "base/result.h"
#include "model/json.h"

namespace muster::api {

HttpReply json_reply(const Json& body);
/// Returns {}: done.
HttpReply empty_reply();
/// Returns the status that fits the code, and {"error": {"code", "reason", "error"}} as gRPC's
/// gateway has it, with the cause where there is one.
HttpReply error_reply(const Error& error);
/// Returns 401: no token, or none of ours.
HttpReply unauthenticated_reply(const std::string& why);
HttpReply error_reply(unsigned status, unsigned code, std::string_view reason,
                      const std::string& text, ErrorCause cause = ErrorCause::kNone);

/// Returns {}, or the error.
HttpReply done_or(const std::optional<Error>& error);
/// Returns an error that says what is wrong with the request.
Error wrong(std::string text);

/// Returns the first error of the replies and of what they touched, or nothing.
std::optional<Error> error_of(const std::vector<Reply>& replies);

/// The part of a list that offset and limit ask for. A negative or missing limit: all.
struct PageWindow {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t total = 0;
};
/// Returns the window of a request. Errors: kInvalidArgument.
Result<PageWindow> window_of(const HttpRequest& request, std::size_t total);
Json pagination_of(const PageWindow& window);

/// Returns the part of a list that is asked for, each shown by `show`, as {name: [...],
/// "pagination": {...}}.
template <class List, class Show>
HttpReply list_reply(const HttpRequest& request, std::string name, const List& list, Show&& show) {
  const auto window = window_of(request, list.size());
  if (!window.has_value()) return error_reply(window.error());
  Json::Array items;
  for (std::size_t i = window->begin; i < window->end; ++i) items.push_back(show(list[i]));
  return json_reply(
      Json::Object{{std::move(name), std::move(items)}, {"pagination", pagination_of(*window)}});
}

}  // namespace muster::api
