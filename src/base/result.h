// Errors as values. `Result<T>` is what every fallible function returns; no code of Muster throws.
// Codes are named by what the caller should do, so that there never need be many.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

/// What the caller should do about a failure. Numbers are part of the wire format: never reused.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 1,     ///< fix the request
  kNotFound = 2,            ///< the named thing is not there
  kAlreadyExists = 3,       ///< the named thing is there already
  kFailedPrecondition = 4,  ///< the state of the thing forbids it
  kPermissionDenied = 5,    ///< ask somebody who may
  kResourceExhausted = 6,   ///< back off, then try again
  kUnavailable = 7,         ///< reconnect and retry
  kDeadlineExceeded = 8,    ///< it took too long
  kConflict = 9,            ///< read again, then retry
  kCorruption = 10,         ///< stop and call a person
  kUnimplemented = 11,      ///< named, but not there
  kInternal = 12,           ///< a bug of ours
};

/// The code's name in snake_case, e.g. "invalid_argument".
std::string_view error_code_name(ErrorCode code);

/// What exactly failed, for the few failures on which a program acts differently than its code
/// says. Texts are for people: no program compares them. Numbers are part of the wire format:
/// never reused.
enum class ErrorCause : std::uint8_t {
  kNone = 0,               ///< the code says all that a program needs
  kQueueFull = 1,          ///< MaxJobCount jobs are in the queue: sbatch waits and tries again
  kJobPending = 2,         ///< the job has not started
  kUnknownPartition = 3,   ///< no partition has that name
  kMemoryUnavailable = 4,  ///< no node of the partition has that much memory
  kNoAnswer = 5,           ///< nobody answered at the controller's address
  kNoRoom = 6,             ///< a disk without room refused a write: it may succeed later
  kStaleRun = 7,           ///< a newer run of the trial has begun, or the trial has ended
  kCannotServe = 8,        ///< a service job has said why it never will answer
  kExclusiveOptions = 9,   ///< two options of a command line exclude each other
  kNotANumber = 10,        ///< an option's value is no whole number in its range
  kNodeCount = 11,         ///< an option's value is no count of nodes
};

/// The cause's name in snake_case, e.g. "queue_full"; kNone has the empty one.
std::string_view error_cause_name(ErrorCause cause);

/// A failure: what to do (`code`), the one-line text that the user sees (`message`, Slurm's own
/// words where clients match on them), and what was found and how out of it (`detail`, may be
/// empty).
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string detail;
  ErrorCause cause = ErrorCause::kNone;

  /// Returns "message: detail", or the message alone.
  std::string text() const;

  friend bool operator==(const Error&, const Error&) = default;
};

/// A value or an Error. Reading the value of one that holds an error is undefined: check
/// has_value(), or use TRY.
template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// `return fail(...)` from a function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(detail)});
}
inline tl::unexpected<Error> fail(ErrorCode code, ErrorCause cause, std::string message,
                                  std::string detail = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(detail), cause});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace muster

/// `auto x = TRY(expression);` yields the value, moved out of the Result, or returns the error from
/// the enclosing function or lambda, which must itself return a Result. `TRY(status);` does the
/// same for a Status. The expression is evaluated once.
#define TRY(expression) MUSTER_TRY(expression, MUSTER_JOIN(try_result_, __COUNTER__))
#define MUSTER_JOIN(a, b) MUSTER_JOIN_AGAIN(a, b)
#define MUSTER_JOIN_AGAIN(a, b) a##b
// NOLINTBEGIN(bugprone-macro-parentheses): `result` is the name that is declared.
#define MUSTER_TRY(expression, result)                                     \
  __extension__({                                                          \
    auto result = (expression);                                            \
    if (!result.has_value()) [[unlikely]] {                                \
      return ::tl::unexpected<::muster::Error>(std::move(result).error()); \
    }                                                                      \
    ::muster::detail::unwrap(std::move(result));                           \
  })
// NOLINTEND(bugprone-macro-parentheses)

namespace muster::detail {
template <class T>
T unwrap(Result<T>&& result) {
  return std::move(result).value();
}
inline void unwrap(Status&&) {}
}  // namespace muster::detail
