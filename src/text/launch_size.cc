// Environment and code are checked at submission, a launch as a whole when its message is made:
// variables and files are added in between.

#include "text/launch_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/printable_text.h"
#include "text/words.h"

namespace muster {

Status check_launch_size(const LaunchStep& launch) {
  // Room for all other fields of the message: ids, nodes, cores, limits.
  constexpr std::size_t kRestBytes = std::size_t{1} << 20;
  std::size_t bytes = 0;
  // Script and environment are shared by many launches, and may be absent.
  for (const Bytes& one : {launch.script, launch.environment})
    bytes += one == nullptr ? 0 : one->size();
  for (const std::string& variable : launch.variables) bytes += variable.size();
  for (const TaskFile& file : launch.files) bytes += file.text.size();
  if (bytes <= kLaunchBytesMax - kRestBytes) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("what its node is to be told comes to {} bytes, more than {}", bytes,
                          kLaunchBytesMax - kRestBytes),
              "keep what is large in files");
}

Status check_code_size(std::size_t bytes) {
  if (bytes <= kCodeBytesMax) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the code comes to more than {} MiB", kCodeBytesMax >> 20),
              "name data and results in .detignore, or keep them outside of the folder");
}

Status check_environment(std::string_view block) {
  if (block.size() > kEnvironmentBytesMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the environment comes to {} MiB, more than {}", block.size() >> 20,
                            kEnvironmentBytesMax >> 20),
                "no program could be started with it: put what is large into a file, or name what "
                "is needed with --export");
  }
  for (const std::string_view variable : split(block, '\0')) {
    if (variable.size() <= kVariableBytesMax) continue;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the variable {} has {} bytes, more than {}",
                    // Only the name, and not all of one that has no end: the value may be secret,
                    // and megabytes long.
                    printable(variable.substr(0, std::min<std::size_t>(variable.find('='), 100))),
                    variable.size(), kVariableBytesMax),
        "no program could be started with it: put its value into a file");
  }
  return {};
}

}  // namespace muster
