#include "agent/output_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

const OutputFileName kName{{JobId(1), 0, kBatchStep}, TrialId(2), 0, 3, LogStream::kStderr};

struct OutputFilesTest : ::testing::Test {
  OutputFilesTest() {
    char name[] = "/tmp/muster-output-files.XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~OutputFilesTest() override { std::filesystem::remove_all(folder); }
  std::filesystem::path path() const { return folder / output_file_text(kName); }
  void append(const std::string& bytes) {
    std::ofstream(path(), std::ios::app | std::ios::binary) << bytes;
  }
  std::filesystem::path folder;
  OutputFiles files{"/none"};
};

TEST_F(OutputFilesTest, ListsWhatIsOfATask) {
  EXPECT_TRUE(files.list().empty());
  files = OutputFiles(folder);
  append("12345");
  std::ofstream(folder / "notes") << "x";
  const auto found = files.list();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, kName);
  EXPECT_EQ(found[0].size, 5U);
  EXPECT_EQ(files.read(kName, 2, 2).bytes, "34");
  files.remove(kName);
  EXPECT_TRUE(files.list().empty());
  EXPECT_EQ(files.read(kName, 0, 10).bytes, "");
}

TEST_F(OutputFilesTest, WhatIsGivenUpTakesNoRoomAndIsPassedOver) {
  files = OutputFiles(folder);
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(i % 251);
  append(bytes);
  files.give_up(kName, 300'000);
  append("behind");
  bytes += "behind";
  struct stat known {};
  ASSERT_EQ(::stat(path().c_str(), &known), 0);
  EXPECT_EQ(static_cast<std::size_t>(known.st_size), bytes.size());
  EXPECT_LT(known.st_blocks * 512, 800'000);
  const OutputPiece piece = files.read(kName, 1000, 10);
  EXPECT_GT(piece.offset, 290'000U);
  EXPECT_LE(piece.offset, 300'000U);
  EXPECT_EQ(piece.bytes, bytes.substr(piece.offset, 10));
  EXPECT_EQ(files.read(kName, 500'000, 10).offset, 500'000U);
}

}  // namespace
}  // namespace muster
