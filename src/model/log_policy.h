// What a line of a trial's log sets off: policies as an experiment's file gives them, and the
// matches that the state keeps. Source: Determined 0.38, log_policies.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Numbers are part of journal and wire.
enum class LogAction : std::uint8_t {
  kLabel = 0,          ///< the run is marked with the policy's name
  kCancelRetries = 1,  ///< a failure of the run is the trial's end
  kExcludeNode = 2,    ///< no later run of the trial uses the node
};

/// What happens when a line of a trial's log matches a pattern.
struct LogPolicy {
  std::string name;
  std::string pattern;  ///< a regular expression, as RE2 has them; empty: the default policy of
                        ///< that name is off
  LogAction action = LogAction::kLabel;
  friend bool operator==(const LogPolicy&, const LogPolicy&) = default;
};

/// The first line of a run that matched a policy. A run has at most one for each policy.
struct LogMatch {
  std::uint32_t run = 0;  ///< from 1
  std::string policy;     ///< its name; its pattern where it has none
  LogAction action = LogAction::kLabel;
  std::string node;  ///< on which the line was written, by name
  std::string line;  ///< cut where it is long
  friend bool operator==(const LogMatch&, const LogMatch&) = default;
};

}  // namespace muster
