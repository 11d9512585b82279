#include "api/determined/submissions.h"

#include <fmt/format.h>
#include <kj/vector.h>

#include "api/http/replies.h"

namespace muster::api {

Status may_speak(const Caller& caller, TrialId trial) {
  // Tokens of users speak for every trial of theirs; the core asks whose it is.
  if (caller.claims.scope != TokenScope::kTask || caller.claims.trial == trial) return {};
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("this token is not of trial {}", trial.value()), "");
}

kj::Promise<Refusals> submit_each(ApiPort& port, const Caller& caller,
                                  std::vector<Request> requests) {
  kj::Vector<kj::Promise<std::optional<Error>>> all(requests.size());
  for (Request& request : requests) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    all.add(port.submit(caller, std::move(one)).then([](std::vector<Reply> replies) {
      return error_of(replies);
    }));
  }
  return kj::joinPromises(all.releaseAsArray()).then([](kj::Array<std::optional<Error>> errors) {
    return Refusals(errors.begin(), errors.end());
  });
}

kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return port.submit(caller, std::move(requests)).then([](std::vector<Reply> replies) {
    return done_or(error_of(replies));
  });
}

}  // namespace muster::api
