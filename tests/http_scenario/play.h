// Plays one scenario of HTTP from its text to its verdict.
#pragma once

#include <string>
#include <vector>

namespace muster::http_scenario {

struct Verdict {
  std::vector<std::string> failures;  ///< "WHERE: ...", in the order in which they were found
  std::vector<std::string> expected;  ///< parts of failures that the scenario says it has
  /// Fails where nothing was to fail, and as it says where something was.
  bool is_good() const;
};

/// `parts`: the folder of what several scenarios begin with.
Verdict play(const std::string& path, const std::string& parts);

}  // namespace muster::http_scenario
