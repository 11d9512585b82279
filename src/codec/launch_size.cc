#include "codec/launch_size.h"

#include <fmt/format.h>

namespace muster {

Status check_code_size(std::size_t bytes) {
  if (bytes <= kCodeBytesMax) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("the code comes to more than {} MiB", kCodeBytesMax >> 20),
              "name data and results in .detignore, or keep them outside of the folder");
}

Status check_environment_size(std::size_t bytes) {
  if (bytes <= kEnvironmentBytesMax) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("the environment comes to {} MiB, more than {}", bytes >> 20, kEnvironmentBytesMax >> 20),
              "no program could be started with it: put what is large into a file, or name what is needed with --export");
}

}  // namespace muster
