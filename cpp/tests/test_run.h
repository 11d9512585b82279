// What tests of whole runs share: a folder of their own, and an environment without what is around
// them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "environment.h"
#include "storage.h"

namespace muster::core {

inline std::string text_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, text] : own_variables()) {
      if (name.rfind("MUSTER_", 0) == 0 || name.rfind("DET_", 0) == 0 ||
          name.rfind("SLURM_", 0) == 0)
        ::unsetenv(name.c_str());
    }
    folder_ = std::filesystem::temp_directory_path() / ("core-client-" + new_uuid());
    std::filesystem::create_directories(folder_);
    set("MUSTER_RUN_DIR", run_dir().string());
  }
  void TearDown() override {
    ::unsetenv("MUSTER_RUN_DIR");
    for (const std::string& name : set_) ::unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }
  void set(const std::string& name, const std::string& text) {
    ::setenv(name.c_str(), text.c_str(), 1);
    set_.push_back(name);
  }
  std::filesystem::path run_dir() const { return folder_ / "run"; }

  std::filesystem::path folder_;
  std::vector<std::string> set_;
};

}  // namespace muster::core
