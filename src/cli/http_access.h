// Where the controller serves HTTP, and a token for it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"

namespace muster::cli {

struct HttpAccess {
  std::string master;  ///< "http://host:port"
  std::string token;   ///< the caller's own
};

/// A token that lasts for so many days. Errors: kFailedPrecondition: HTTP is not served.
Result<HttpAccess> find_http(Session& session, int days);

}  // namespace muster::cli
