#include "api/determined/submissions.h"

#include <fmt/format.h>
#include <kj/vector.h>

#include <algorithm>
#include <memory>

#include "api/http/replies.h"

namespace muster::api {

Status may_speak(const Caller& caller, TrialId trial) {
  // Tokens of users speak for every trial of theirs; the core asks whose it is.
  if (caller.claims.scope != TokenScope::kTask || caller.claims.trial == trial) return {};
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("this token is not of trial {}", trial.value()), "");
}

namespace {

// A command of its own for each: so many wait at once that others' commands stand between them.
constexpr std::size_t kSlice = 64;

struct Each {
  Caller caller;
  std::vector<Request> requests;
  std::size_t next = 0;
  Refusals refusals = {};
};

kj::Promise<Refusals> submit_slices(ApiPort& port, std::shared_ptr<Each> each) {
  if (each->next == each->requests.size()) return std::move(each->refusals);
  const std::size_t end = std::min(each->next + kSlice, each->requests.size());
  kj::Vector<kj::Promise<std::optional<Error>>> slice(end - each->next);
  for (; each->next < end; ++each->next) {
    std::vector<Request> one;
    one.push_back(std::move(each->requests[each->next]));
    slice.add(port.submit(each->caller, std::move(one)).then([](std::vector<Reply> replies) {
      return error_of(replies);
    }));
  }
  return kj::joinPromises(slice.releaseAsArray())
      .then([&port, each](kj::Array<std::optional<Error>> errors) {
        for (std::optional<Error>& error : errors) each->refusals.push_back(std::move(error));
        return submit_slices(port, each);
      });
}

}  // namespace

kj::Promise<Refusals> submit_each(ApiPort& port, const Caller& caller,
                                  std::vector<Request> requests) {
  return submit_slices(port, std::make_shared<Each>(Each{caller, std::move(requests)}));
}

kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return port.submit(caller, std::move(requests)).then([](std::vector<Reply> replies) {
    return done_or(error_of(replies));
  });
}

}  // namespace muster::api
