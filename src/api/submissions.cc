#include "api/submissions.h"

#include "api/replies.h"

namespace muster::api {

kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return port.submit(caller, std::move(requests)).then([](std::vector<Reply> replies) { return done_or(error_of(replies)); });
}

}  // namespace muster::api
