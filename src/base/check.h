// Assertions that stay on in every build. A failed CHECK is a bug of Muster's, never a user's
// mistake: the process stops at once, because a state machine that went on from a broken invariant
// would journal it.
#pragma once

#include <fmt/core.h>

#include <string>

namespace muster {

/// Writes `file:line: check failed: condition: message` to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace muster

/// CHECK(condition) or CHECK(condition, "format {}", args...): aborts with the message when false.
/// The condition is evaluated once, the arguments only when it is false.
#define CHECK(condition, ...)                                                                \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::muster::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                        \
  } while (false)

/// DCHECK is as CHECK, but with NDEBUG its condition is not even evaluated: for checks too costly
/// for a release.
#ifdef NDEBUG
#define DCHECK(condition, ...) \
  do {                         \
  } while (false)
#else
#define DCHECK(condition, ...) CHECK(condition, __VA_ARGS__)
#endif
