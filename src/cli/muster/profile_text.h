// Shows a trial's hardware profile as a table: what its first rank's machine did while it trained.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/json.h"

namespace muster::cli {

/// The groups that profiles are reported in, in the order in which they are shown.
inline constexpr const char* kProfileGroups[] = {"trial", "cpu",     "memory",
                                                 "disk",  "network", "gpu"};

class Profile {
 public:
  /// Adds the lines that `/trials/metrics/trial_metrics` streams for one group. Errors:
  /// kCorruption: it is another stream.
  Status add(const std::string& group, std::string_view lines);
  bool is_empty() const { return series_.empty(); }
  /// Returns one row per number: last, mean, least, most, and its course.
  std::string text() const;

 private:
  void add(const std::string& group, const std::string& name, const Json& value);

  std::map<std::pair<std::string, std::string>, std::vector<double>>
      series_;  ///< by group and name, in the order of time
};

/// Returns the course of values in so many characters at most, the least at the bottom: each
/// character is the mean of its stretch.
std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace muster::cli
