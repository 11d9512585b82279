// Two causes of one delay: time that passed while this process did not run says nothing about the
// disk. `ran` is the time that it did run.
#include "agent/write_time.h"

#include <fmt/format.h>

namespace muster {

Status judge_write(const ElapsedTime& taken) {
  if (taken.passed <= kStaleAfter) return {};
  if (taken.ran > kStaleAfter)
    return fail(ErrorCode::kUnavailable,
                fmt::format("the spool's disk took {:.1f} s to record a launch",
                            static_cast<double>(taken.ran.microseconds()) / 1e6),
                "see what slows it down");
  return fail(ErrorCode::kDeadlineExceeded, "the agent stood still while it recorded a launch", "");
}

}  // namespace muster
