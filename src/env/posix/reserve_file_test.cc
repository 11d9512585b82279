#include "env/posix/reserve_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

TEST(ReserveFile, TakesItsRoomAndGivesItBack) {
  char folder[] = "/tmp/muster-reserve-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/reserve";
  PosixReserveFile file(path);
  EXPECT_EQ(file.size(), 0U);
  EXPECT_GT(file.free_bytes(), 0U);
  ASSERT_TRUE(file.lay_down(100'000));
  EXPECT_EQ(file.size(), 100'000U);
  PosixReserveFile again(path);
  EXPECT_EQ(again.size(), 100'000U) << "another process finds it";
  file.remove();
  EXPECT_EQ(file.size(), 0U);
  file.remove();
  std::filesystem::remove_all(folder);
}

TEST(ReserveFile, LeavesNothingWhereThereIsNoRoom) {
  PosixReserveFile nowhere("/proc/muster-no-such-folder/reserve");
  EXPECT_FALSE(nowhere.lay_down(1));
  EXPECT_EQ(nowhere.size(), 0U);
  EXPECT_EQ(nowhere.free_bytes(), 0U);
  char folder[] = "/tmp/muster-reserve-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  PosixReserveFile file(std::string(folder) + "/reserve");
  EXPECT_FALSE(file.lay_down(std::uint64_t{1} << 62)) << "more than any disk has";
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
