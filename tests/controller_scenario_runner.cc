// Plays the *.scenario files below a folder through the whole controller and compares what users
// and nodes saw with what they expect. The format is described in tests/scenarios/README.md.
//
//   controller_scenario_runner FILE-OR-FOLDER...
#include <fmt/core.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/controller_scenario/play.h"
#include "tests/scenario_text.h"

namespace {

/// Prints what is wrong with the scenario. True: nothing.
bool run_file(const std::string& path) {
  std::ifstream stream(path);
  const muster::scenario::Verdict verdict = muster::scenario::play(stream);
  if (verdict.is_good()) return true;
  for (const std::string& failure : verdict.failures) fmt::print("{}:{}\n", path, failure);
  for (const std::string& text : verdict.expected) fmt::print("{}: was to fail: {}\n", path, text);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> places(argv + 1, argv + argc);
  const auto files = muster::scenario::scenario_files(places);
  std::size_t failed_count = 0;
  for (const std::string& file : files) failed_count += run_file(file) ? 0 : 1;
  fmt::print("{} scenarios, {} failed\n", files.size(), failed_count);
  return files.empty() || failed_count > 0 ? 1 : 0;
}
