// The soft limit may be raised to the hard one by anybody; a higher hard one is the site's to give.
#include "env/posix/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace muster {

Status check_open_files(unsigned least) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= least) return {};
  return fail(
      ErrorCode::kFailedPrecondition,
      fmt::format("{} open files are allowed at most, and {} are needed", limit.rlim_cur, least),
      "raise the limit: ulimit -n, or LimitNOFILE= of the service");
}

Status raise_open_files(unsigned least) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return check_open_files(least);
}

}  // namespace muster
