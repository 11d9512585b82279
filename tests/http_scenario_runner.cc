// Plays the *.scenario files of HTTP, each as a test of its own: FOLDER.NAME. The format is
// described in tests/scenarios/README.md.
//
//   http_scenario_runner [--gtest_filter=models.*] [FOLDER]
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/http_scenario/play.h"
#include "tests/scenario_text.h"

namespace {

class Scenario : public testing::Test {
 public:
  Scenario(std::string path, std::string parts)
      : path_(std::move(path)), parts_(std::move(parts)) {}

  void TestBody() override {
    const auto verdict = muster::http_scenario::play(path_, parts_);
    if (verdict.is_good()) return;
    for (const std::string& failure : verdict.failures) ADD_FAILURE() << path_ << ":" << failure;
    for (const std::string& text : verdict.expected)
      ADD_FAILURE() << path_ << ": was to fail: " << text;
  }

 private:
  std::string path_;
  std::string parts_;
};

void add(const std::string& path, const std::filesystem::path& folder) {
  const std::filesystem::path file(path);
  const std::string group = file.parent_path().lexically_relative(folder).string();
  const std::string parts = (folder / "parts").string();
  testing::RegisterTest(group.c_str(), file.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
                        [path, parts]() -> testing::Test* { return new Scenario(path, parts); });
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* sources = std::getenv("MUSTER_SOURCE_DIR");
  const std::filesystem::path folder =
      argc > 1 ? std::filesystem::path(argv[1])
               : std::filesystem::path(sources == nullptr ? "." : sources) / "tests/scenarios/http";
  const std::vector<std::string> folders{folder.string()};
  const auto files = muster::scenario::scenario_files(folders);
  for (const std::string& file : files) add(file, folder);
  return files.empty() ? 1 : RUN_ALL_TESTS();
}
