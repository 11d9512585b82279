// How large the parts of a launch may be: script or code, and environment go to a node in one
// message. There is one rule for every way in.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/agent_message.h"

namespace muster {

/// The most that a script may come to, or an experiment's code, compressed. Data belong elsewhere.
inline constexpr std::size_t kCodeBytesMax = std::size_t{56} << 20;
/// The most that an environment may come to: the kernel starts no program with more (a quarter of
/// the largest stack limit that it heeds is 6 MiB, of the usual one 2 MiB). Source: execve(2).
inline constexpr std::size_t kEnvironmentBytesMax = std::size_t{4} << 20;
/// The most that one variable may come to, its name included: MAX_ARG_STRLEN, without the NUL
/// behind it. Source: execve(2).
inline constexpr std::size_t kVariableBytesMax = (std::size_t{128} << 10) - 1;
/// What one message to a node holds: both of the above, and what else a launch says of itself.
inline constexpr std::size_t kLaunchBytesMax = std::size_t{64} << 20;

/// Checks the size of a launch. Errors: kInvalidArgument: what may be large of it comes, in all, to
/// more than a message to a node holds beside the rest.
Status check_launch_size(const LaunchStep& launch);
/// Checks the size of an archive. Errors: kInvalidArgument: so many bytes are too large, with the
/// way out.
Status check_code_size(std::size_t bytes);
/// Checks an environment. `block`: NAME=VALUE, each with a NUL behind it. Errors: kInvalidArgument:
/// it is too large, or one variable is, with the way out.
Status check_environment(std::string_view block);

}  // namespace muster
