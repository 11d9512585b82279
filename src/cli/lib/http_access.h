// Finds where the controller serves HTTP, and a token for it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/lib/session.h"

namespace muster::cli {

struct HttpAccess {
  std::string master;  ///< "http://host:port"
  std::string token;   ///< the caller's own
};

/// Returns the address and a token that lasts for so long, or as long as the cluster lets one: of
/// up to 12 hours for this command's own calls, beyond to the end of a day and one that `muster
/// token list` shows. Errors: kFailedPrecondition: HTTP is not served.
Result<HttpAccess> find_http(Session& session, Duration life);
/// How long one day's calls of a command need a token.
inline constexpr Duration kCommandLife = Duration::hours(12);

}  // namespace muster::cli
