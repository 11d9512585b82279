#include "slurm/signal_text.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

namespace muster {
namespace {

TEST(SignalText, ReadsNamesAndNumbers) {
  for (const char* text : {"USR1", "SIGUSR1", "usr1", "sigusr1", "10", " 10 "}) {
    EXPECT_EQ(parse_signal(text).value(), 10) << text;
  }
  EXPECT_EQ(parse_signal("CLD").value(), 17);
  EXPECT_EQ(parse_signal("64").value(), 64);
  for (const char* bad : {"", "0", "65", "-9", "SIG", "USR3", "SIGSIGTERM"}) {
    EXPECT_EQ(parse_signal(bad).error().message, std::string("Unknown signal: ") + bad);
  }
}

TEST(SignalText, NamesReadBackAndNumbersAreThisMachines) {
  for (std::uint16_t number = 1; number <= 64; ++number)
    EXPECT_EQ(parse_signal(signal_name(number)).value(), number);
  EXPECT_EQ(parse_signal("TERM").value(), SIGTERM);
  EXPECT_EQ(parse_signal("USR2").value(), SIGUSR2);
  EXPECT_EQ(parse_signal("STOP").value(), SIGSTOP);
  EXPECT_EQ(parse_signal("SYS").value(), SIGSYS);
  EXPECT_EQ(signal_name(6), "ABRT");
  EXPECT_EQ(signal_name(40), "40");
}

TEST(SignalText, DescribesAsTheLibraryDoes) {
  for (int number = 1; number <= 31; ++number) {
    EXPECT_EQ(signal_description(static_cast<std::uint16_t>(number)), strsignal(number));
  }
  EXPECT_EQ(signal_description(99), "Unknown signal 99");
}

TEST(SignalText, ReadsTheOption) {
  EXPECT_EQ(parse_signal_option("USR1").value(), (SignalOption{.number = 10}));
  EXPECT_EQ(parse_signal_option("B:USR2@30").value(),
            (SignalOption{.number = 12, .seconds = 30, .is_batch_only = true}));
  EXPECT_EQ(
      parse_signal_option("rb:10@0").value(),
      (SignalOption{.number = 10, .seconds = 0, .is_batch_only = true, .is_at_reservation = true}));
  for (const char* bad :
       {"", "X:USR1", ":USR1", "USR1@", "USR1@x", "USR1@65536", "B:", "B:USR9", "@30"}) {
    EXPECT_EQ(parse_signal_option(bad).error().message, "Invalid signal specification") << bad;
  }
}

TEST(SignalText, TheSecondOfTwoNamesIsReadAndTheFirstShown) {
  for (const auto& [second, first] : {std::pair("IOT", "ABRT"), std::pair("CLD", "CHLD"),
                                      std::pair("POLL", "IO"), std::pair("UNUSED", "SYS")}) {
    EXPECT_EQ(signal_name(parse_signal(second).value()), first);
    EXPECT_EQ(parse_signal(std::string("sig") + second), parse_signal(first));
  }
}

TEST(SignalText, SecondsAndLettersOfTheOptionGoToTheirEnds) {
  EXPECT_EQ(parse_signal_option("TERM@65535").value().seconds, 65535U);
  EXPECT_EQ(parse_signal_option(" b:sigterm ").value().number, SIGTERM);
  EXPECT_TRUE(parse_signal_option("R:1").value().is_at_reservation);
  EXPECT_TRUE(parse_signal_option("BR:1").value().is_batch_only);
  for (const char* bad : {"B:R:1", "BX:1", "1@-1", "1@ 5", "1@5@6", "0", "65"})
    EXPECT_FALSE(parse_signal_option(bad).has_value()) << bad;
}

}  // namespace
}  // namespace muster
