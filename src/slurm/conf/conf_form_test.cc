#include "slurm/conf/conf_form.h"

#include <gtest/gtest.h>

namespace muster::conf_form {
namespace {

// The value as it is shown after it was read, or what it must be.
template <class Form>
std::string shown(std::string_view text) {
  const auto value = Form::read(text);
  return value.has_value() ? Form::show(*value) : value.error().message;
}

TEST(ConfForm, Seconds) {
  EXPECT_EQ(shown<Seconds>("30"), "30 sec");
  EXPECT_EQ(shown<Seconds>("0"), "0 sec");
  EXPECT_EQ(shown<Seconds>("4294967295"), "4294967295 sec");
  for (const char* word : {"UNLIMITED", "infinite"})
    EXPECT_EQ(shown<Seconds>(word), "UNLIMITED") << word;
  for (const char* bad : {"", "-1", "1:30", "30s", "4294967296", " 30"})
    EXPECT_EQ(shown<Seconds>(bad), "the value must be a whole number or UNLIMITED") << bad;
}

TEST(ConfForm, Minutes) {
  EXPECT_EQ(Minutes::read("5").value(), Duration::minutes(5));
  EXPECT_EQ(shown<Minutes>("5"), "5 min");
  EXPECT_EQ(shown<Minutes>("Unlimited"), "UNLIMITED");
  EXPECT_EQ(shown<Minutes>("4294967295"), "4294967295 min");
}

TEST(ConfForm, TimeLimitsAreThoseOfJobs) {
  EXPECT_EQ(shown<TimeLimit>("30"), "00:30:00");
  EXPECT_EQ(shown<TimeLimit>("1-0"), "1-00:00:00");
  EXPECT_EQ(shown<TimeLimit>("0:01"), "00:01:00") << "whole minutes";
  for (const char* word : {"UNLIMITED", "INFINITE", "-1", "0"})
    EXPECT_EQ(shown<TimeLimit>(word), "UNLIMITED") << word;
  EXPECT_EQ(shown<TimeLimit>("NONE"), "Invalid time limit specification");
}

TEST(ConfForm, AnOptionalTimeMayBeNone) {
  EXPECT_EQ(shown<OptionalTime>("none"), "NONE");
  EXPECT_EQ(shown<OptionalTime>("30"), "00:30:00");
  EXPECT_EQ(shown<OptionalTime>("UNLIMITED"), "UNLIMITED");
  EXPECT_EQ(OptionalTime::read("NONE").value(), Duration());
}

TEST(ConfForm, Memory) {
  EXPECT_EQ(shown<Memory>("512"), "512");
  EXPECT_EQ(shown<Memory>("4G"), "4096");
  for (const char* word : {"0", "UNLIMITED", "-1"}) EXPECT_EQ(shown<Memory>(word), "UNLIMITED");
  EXPECT_EQ(shown<Memory>("4X"), "Invalid memory specification");
}

TEST(ConfForm, DisksEndWhereThirtyTwoBitsDo) {
  EXPECT_EQ(shown<Disk>("4294967295"), "4294967295");
  EXPECT_EQ(shown<Disk>("4095T"), "4293918720");
  for (const char* bad : {"4294967296", "4096T", "4P"})
    EXPECT_EQ(shown<Disk>(bad), "the value must be below 4 PiB") << bad;
}

TEST(ConfForm, Flags) {
  for (const char* word : {"1", "yes", "TRUE", "Up", "y"}) {
    EXPECT_EQ(shown<Flag>(word), "1") << word;
    EXPECT_EQ(shown<YesNo>(word), "YES") << word;
  }
  for (const char* word : {"0", "No", "false", "DOWN", "n"}) {
    EXPECT_EQ(shown<Flag>(word), "0") << word;
    EXPECT_EQ(shown<YesNo>(word), "NO") << word;
  }
  for (const char* bad : {"", "2", "on", "yes ", "yesno"})
    EXPECT_EQ(shown<Flag>(bad), "the value must be YES or NO") << bad;
}

TEST(ConfForm, Texts) {
  EXPECT_EQ(shown<Text>("a b"), "a b");
  EXPECT_EQ(shown<Text>(""), "(null)");
}

TEST(ConfForm, ListensOnAPortOfAHost) {
  EXPECT_EQ(shown<Listen>(""), "(null)");
  EXPECT_EQ(shown<Listen>("head:080"), "head:80");
  EXPECT_EQ(shown<Listen>(":0"), ":0");
  EXPECT_EQ(shown<Listen>("[fe80::1]:65535"), "[fe80::1]:65535");
  for (const char* bad : {"head", "head:", "head:x", "head:65536", "head:-1", "8080"}) {
    EXPECT_EQ(shown<Listen>(bad),
              "the value must be HOST:PORT, the port from 0 (one that is free) to 65535")
        << bad;
  }
}

TEST(ConfForm, Lists) {
  EXPECT_EQ(Names::read(" a, ,b ").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(shown<Names>("a,b"), "a,b");
  EXPECT_EQ(shown<Names>(""), "(null)");
  EXPECT_EQ(shown<NamesOrAll>("all"), "ALL");
  EXPECT_EQ(shown<NamesOrAll>(""), "ALL");
  EXPECT_EQ(shown<NamesOrAll>("all,x"), "all,x") << "the name of a group, among others";
}

TEST(ConfForm, ExitCodes) {
  EXPECT_EQ(shown<ExitCodes>("1,5-7"), "1,5,6,7");
  EXPECT_EQ(ExitCodes::read("1-255").value().size(), 255U);
  EXPECT_EQ(shown<ExitCodes>("9,3"), "9,3");
  for (const char* bad : {"", "0", "256", "0-3", "7-5", "1,", "a", "1-", "-3", "1-256", "1-2-3"}) {
    EXPECT_EQ(shown<ExitCodes>(bad), "the value must be exit codes from 1 to 255, such as 1,5-9")
        << bad;
  }
}

TEST(ConfForm, NumbersHaveBoundsThatAreIncluded) {
  using Small = Number<std::uint16_t, 3, 300>;
  EXPECT_EQ(shown<Small>("3"), "3");
  EXPECT_EQ(shown<Small>("300"), "300");
  for (const char* bad : {"2", "301", "", "-3", "65539", "4294967299", "3.0"})
    EXPECT_EQ(shown<Small>(bad), "the value must be a whole number from 3 to 300") << bad;
  EXPECT_EQ(read_number("18446744073709551615", 0, UINT64_MAX).value(), UINT64_MAX);
}

TEST(ConfForm, ALimitMayBeNone) {
  using Count = Limit<std::uint32_t>;
  for (const char* word : {"UNLIMITED", "unlimited", "-1"})
    EXPECT_EQ(shown<Count>(word), "UNLIMITED") << word;
  EXPECT_EQ(shown<Count>("1"), "1");
  EXPECT_EQ(shown<Count>("4294967293"), "4294967293");
  for (const char* bad : {"0", "4294967294", "-2", ""})
    EXPECT_FALSE(Count::read(bad).has_value()) << bad;
}

TEST(ConfForm, Days) {
  EXPECT_EQ(shown<Days>("0"), "0");
  EXPECT_EQ(shown<Days>("32767"), "32767");
  EXPECT_EQ(shown<Days>("-1"), "UNLIMITED");
  EXPECT_EQ(Days::read("Unlimited").value(), -1);
  for (const char* bad : {"32768", "-2", "", "1.5"})
    EXPECT_FALSE(Days::read(bad).has_value()) << bad;
}

}  // namespace
}  // namespace muster::conf_form
