// The headers that we read and write.
#pragma once

#include <kj/compat/http.h>

namespace muster::api {

struct HeaderIds {
  explicit HeaderIds(kj::HttpHeaderTable::Builder& builder);
  kj::HttpHeaderId authorization;
  kj::HttpHeaderId allocation_token;
  kj::HttpHeaderId cookie;
  kj::HttpHeaderId set_cookie;
  kj::HttpHeaderId disposition;
  kj::HttpHeaderId accept;
  kj::HttpHeaderId origin;
  kj::HttpHeaderId fetch_site;
  kj::HttpHeaderId muster_request;
  kj::HttpHeaderId service_secret;
};

}  // namespace muster::api
