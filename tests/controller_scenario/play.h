// Plays one scenario from its text to its verdict.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace muster::scenario {

struct Verdict {
  std::vector<std::string> failures;  ///< "LINE: ...", in the order in which they were found
  std::vector<std::string> expected;  ///< parts of failures that the scenario says it has
  /// Fails where nothing was to fail, and as it says where something was.
  bool is_good() const;
};

Verdict play(std::istream& stream);

}  // namespace muster::scenario
