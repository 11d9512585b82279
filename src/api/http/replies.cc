// Answers and errors in the shape that Determined's clients read: a code of gRPC, its name, and a
// text for people.

#include "api/http/replies.h"

#include <algorithm>

#include "api/http/fields.h"
#include "text/json_text.h"

namespace muster::api {
namespace {

/// A status of HTTP, and what gRPC calls it.
struct StatusName {
  unsigned status;
  unsigned code;
  std::string_view reason;
};

// Status and code by what the caller should do; gRPC's numbers are those of google.rpc.Code.
StatusName status_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, 3, "InvalidArgument"};
    case ErrorCode::kNotFound: return {404, 5, "NotFound"};
    case ErrorCode::kAlreadyExists: return {409, 6, "AlreadyExists"};
    case ErrorCode::kFailedPrecondition: return {400, 9, "FailedPrecondition"};
    case ErrorCode::kPermissionDenied: return {403, 7, "PermissionDenied"};
    case ErrorCode::kResourceExhausted: return {429, 8, "ResourceExhausted"};
    case ErrorCode::kUnavailable: return {503, 14, "Unavailable"};
    case ErrorCode::kDeadlineExceeded: return {504, 4, "DeadlineExceeded"};
    case ErrorCode::kConflict: return {409, 10, "Aborted"};
    case ErrorCode::kUnimplemented: return {501, 12, "Unimplemented"};
    case ErrorCode::kCorruption: return {500, 15, "DataLoss"};
    case ErrorCode::kInternal: return {500, 13, "Internal"};
  }
  return {500, 13, "Internal"};
}

}  // namespace

HttpReply json_reply(const Json& body) {
  HttpReply reply;
  reply.body = json_text(body);
  return reply;
}

HttpReply empty_reply() { return json_reply(Json::Object{}); }

HttpReply error_reply(unsigned status, unsigned code, std::string_view reason,
                      const std::string& text, ErrorCause cause) {
  Json::Object error{{"code", code}, {"reason", std::string(reason)}, {"error", text}};
  // The cause, where there is one, by which a program tells failures apart.
  if (cause != ErrorCause::kNone) error.push_back({"cause", std::string(error_cause_name(cause))});
  HttpReply reply = json_reply(Json::Object{{"error", std::move(error)}});
  reply.status = status;
  return reply;
}

HttpReply error_reply(const Error& error) {
  const StatusName name = status_name(error.code);
  std::string text = error.text();
  const bool is_missing = error.code == ErrorCode::kNotFound;
  if (is_missing && text.find("not found") == text.npos)
    text += " (not found)";  // Determined's clients look for these words
  return error_reply(name.status, name.code, name.reason, text, error.cause);
}

HttpReply done_or(const std::optional<Error>& error) {
  return error ? error_reply(*error) : empty_reply();
}

Error wrong(std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text), ""}; }

HttpReply unauthenticated_reply(const std::string& why) {
  return error_reply(401, 16, "Unauthenticated", why);
}

std::optional<Error> error_of(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    // The first thing that went wrong, wherever in the reply it stands.
    if (reply.error) return reply.error;
    for (const JobOutcome& outcome : reply.outcomes) {
      if (outcome.error) return outcome.error;
    }
    for (const ExperimentOutcome& outcome : reply.experiments) {
      if (outcome.error) return outcome.error;
    }
  }
  return std::nullopt;
}

Result<PageWindow> window_of(const HttpRequest& request, std::size_t total) {
  const std::int64_t offset = TRY(number_parameter(request, "offset", 0));
  const std::int64_t limit = TRY(number_parameter(request, "limit", 0));
  PageWindow window;
  window.total = total;
  // Counted from the end, as Determined's lists take a negative offset.
  window.begin = offset < 0
                     ? total - std::min(total, std::size_t{0} - static_cast<std::size_t>(offset))
                     : std::min(total, static_cast<std::size_t>(offset));
  // 0 is no limit: everything that is left.
  window.end = limit <= 0 ? total : std::min(total, window.begin + static_cast<std::size_t>(limit));
  return window;
}

Json pagination_of(const PageWindow& window) {
  return Json::Object{{"offset", window.begin},
                      {"limit", window.end - window.begin},
                      {"startIndex", window.begin},
                      {"endIndex", window.end},
                      {"total", window.total}};
}

}  // namespace muster::api
