#include "records/log_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::records {
namespace {

std::vector<std::string> read(std::string_view log, std::size_t* end = nullptr) {
  std::vector<std::string> found;
  const LogScan scan =
      each_log_record(log, [&](std::string_view bytes) { found.emplace_back(bytes); });
  if (end != nullptr) *end = scan.end;
  return found;
}

TEST(LogRecord, ComesBackAsItWas) {
  const std::string binary("\0\xf5MS1\n", 6);
  std::size_t end = 0;
  const std::string log = log_record("first") + log_record("") + log_record(binary);
  EXPECT_EQ(read(log, &end), (std::vector<std::string>{"first", "", binary}));
  EXPECT_EQ(end, log.size());
}

TEST(LogRecord, ATornOneCostsItselfAlone) {
  const std::string torn = log_record("a record that a full disk cut short");
  for (std::size_t size = 0; size < torn.size(); ++size) {
    const std::string log = log_record("before") + torn.substr(0, size) + log_record("after");
    EXPECT_EQ(read(log), (std::vector<std::string>{"before", "after"})) << size << " bytes";
  }
}

TEST(LogRecord, ADamagedOneIsPassedOver) {
  std::string damaged = log_record("damaged");
  damaged.back() ^= 1;
  const std::string log = log_record("first") + damaged + log_record("whole");
  EXPECT_EQ(read(log), (std::vector<std::string>{"first", "whole"}));
  const auto pass_over = [](std::string_view) {};
  EXPECT_EQ(each_log_record(log, pass_over).skipped, damaged.size());
  EXPECT_EQ(each_log_record(log + damaged, pass_over).skipped, 2 * damaged.size());
  EXPECT_EQ(each_log_record(log_record("whole"), pass_over).skipped, 0U);
}

TEST(LogRecord, ReadingGoesOnWhereTheRestOfARecordArrives) {
  const std::string last = log_record("last");
  std::string log = log_record("first") + last.substr(0, 6);
  std::size_t end = 0;
  EXPECT_EQ(read(log, &end), std::vector<std::string>{"first"});
  log += last.substr(6);
  EXPECT_EQ(read(std::string_view(log).substr(end)), std::vector<std::string>{"last"});
}

}  // namespace
}  // namespace muster::records
