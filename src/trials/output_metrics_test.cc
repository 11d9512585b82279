#include "trials/output_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster {
namespace {

/// "STEP: name=value name=value" with what was read; "" for prose.
std::string shown(std::string_view line) {
  const auto report = parse_printed_report(line);
  if (!report) return "";
  std::string text = std::to_string(report->steps) + ":";
  for (const Metric& metric : report->metrics) {
    std::array<char, 64> value;
    std::snprintf(value.data(), value.size(), "%.17g", std::get<double>(metric.value));
    text += " " + metric.name + "=" + value.data();
  }
  return text;
}

TEST(PrintedReport, PairsAreReadAmongOtherWords) {
  EXPECT_EQ(shown("loss=0.5 step=100"), "100: loss=0.5");
  EXPECT_EQ(shown("step=100 loss=0.5"), "100: loss=0.5");
  EXPECT_EQ(shown("  INFO: epoch 3 | step=7 | loss=0.25, lr=1e-3; acc=+.5\t"),
            "7: loss=0.25 lr=0.001 acc=0.5");
  EXPECT_EQ(shown("step=1,loss=2,acc=3"), "1: loss=2 acc=3");
  EXPECT_EQ(shown("step=1|loss=2|"), "1: loss=2");
  EXPECT_EQ(shown("step=0 val/loss_a.b-c=-2 _x=3"), "0: val/loss_a.b-c=-2 _x=3");
  EXPECT_EQ(shown("step=5 batch=x loss=1 name=2b"), "5: loss=1");
}

TEST(PrintedReport, ProseIsNoReport) {
  for (const char* line : {"",
                           "step",
                           "step=3",
                           "step=3 failed",
                           "loss=0.5",
                           "loss=0.5 steps=3",
                           "step = 3 loss = 1",
                           "step=x loss=1",
                           "footstep=3 loss=1",
                           "step=-1 loss=1",
                           "step=1.5 loss=1",
                           "step=nan loss=1",
                           "step=inf loss=1",
                           "step=1e30 loss=1",
                           "STEP=1 loss=1",
                           "step=1 step=2 loss=1",
                           "step=1 loss=1 loss=1",
                           "step=1:loss=2",
                           "(step=1 loss=2)",
                           "step=1 loss=1,234",
                           "step=1 loss=0x10",
                           "step=1 loss=1e",
                           "step=1 loss=.",
                           "step=1 loss=",
                           "step=1 loss=1.2.3",
                           "step=1 loss=5%",
                           "step=1 loss=1s",
                           "step=1 2x=3",
                           "step=1 =3",
                           "step=1 a b=c=3",
                           "step=1 loss=--1",
                           "step=1 loss=+-1",
                           "step=1 loss='1'",
                           "step=1 loss=1_000",
                           "step=1 loss=infinit",
                           "step=1 loss=nan(1)"}) {
    EXPECT_EQ(shown(line), "") << line;
  }
}

TEST(PrintedReport, ANumberIsAnyNumber) {
  EXPECT_EQ(shown("step=100.0 a=1"), "100: a=1");
  EXPECT_EQ(shown("step=1e2 a=1."), "100: a=1");
  EXPECT_EQ(shown("step=9007199254740992 a=1"), "9007199254740992: a=1");
  EXPECT_EQ(shown("step=1 a=nan b=NaN c=inf d=-inf e=Infinity f=-INFINITY g=+inf"),
            "1: a=nan b=nan c=inf d=-inf e=inf f=-inf g=inf");
  EXPECT_EQ(shown("step=1 a=1e999 b=-1e999 c=1e-999 d=-0.0"), "1: a=inf b=-inf c=0 d=-0");
  EXPECT_EQ(shown("step=1 a=0.1"), "1: a=0.10000000000000001");  // to the bit
  EXPECT_EQ(shown("step=1 a=007"), "1: a=7");
}

TEST(PrintedReport, WhatADoubleCannotHoldIsInfiniteOrZero) {
  const std::string many(400, '0');
  EXPECT_EQ(shown("step=1 a=1" + many + " b=1" + many + ".5e-1 c=0." + many + "1 d=-0." + many +
                  "1e+3 e=1e+999 f=2e99999999999999999999 g=2e-99999999999999999999"),
            "1: a=inf b=inf c=0 d=-0 e=inf f=inf g=0");
}

TEST(PrintedReport, AnObjectOnOneLine) {
  EXPECT_EQ(shown(R"({"step": 100, "loss": 0.5})"), "100: loss=0.5");
  EXPECT_EQ(
      shown(
          R"(  {"loss": 1, "step": 3.0, "note": "text", "deep": {"a": 1}, "list": [1], "ok": true, "none": null}  )"),
      "3: loss=1");
  EXPECT_EQ(
      shown(
          R"({"step": 1, "a": NaN, "b": Infinity, "c": -Infinity, "d": "NaN", "e": "nan", "f": "1"})"),
      "1: a=nan b=inf c=-inf d=nan");
  EXPECT_EQ(shown(R"({"step": 1, "NaN says \" Infinity": "-Infinity \\", "a": 2})"), "1: a=2");
  EXPECT_EQ(shown(R"({"step": 1, "two words": 1, "a": 2})"), "1: a=2");
}

TEST(PrintedReport, AnObjectThatIsNone) {
  for (const char* line :
       {R"({"step": 1})", R"({"loss": 1})", R"({"step": "1", "loss": 1})",
        R"({"step": 1, "loss": "x"})", R"({"step": 1.5, "loss": 1})", R"({"step": -1, "loss": 1})",
        R"({"step": 1, "loss": 1)", R"([{"step": 1, "loss": 1}])", R"({step: 1, loss: 1})",
        R"({"step": 1, "loss": 1} {"step": 2})", R"({"metrics": {"step": 1, "loss": 1}})",
        R"({"step": true, "loss": 1})", R"({"step": null, "loss": 1})",
        R"({"step": NaNa, "loss": 1})"}) {
    EXPECT_EQ(shown(line), "") << line;
  }
}

TEST(PrintedReport, LinesAndMetricsHaveABound) {
  std::string many = "step=1";
  for (std::size_t i = 0; i < kReportMetricsMax; ++i) many += " m" + std::to_string(i) + "=1";
  ASSERT_TRUE(parse_printed_report(many));
  EXPECT_EQ(parse_printed_report(many)->metrics.size(), kReportMetricsMax);
  EXPECT_FALSE(parse_printed_report(many + " more=1"));
  std::string line = "step=1 loss=1 ";
  line.resize(kReportLineMax, 'x');
  EXPECT_TRUE(parse_printed_report(line));
  EXPECT_FALSE(parse_printed_report(line + "x"));
  std::string deep =
      R"({"step": 1, "loss": 1, "deep": )" + std::string(4000, '[') + std::string(4000, ']') + "}";
  EXPECT_FALSE(parse_printed_report(deep));
}

/// Whatever bytes come, nothing breaks, and what is read keeps the rules.
TEST(PrintedReport, AnyBytes) {
  std::uint64_t seed = 7;
  using namespace std::string_view_literals;
  const std::string_view alphabet = "step=lo 0123.e-+,;|{}\":\\nNaIfity/_\0\xff\xc3\xa9\t"sv;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = round % 2 == 0 ? "step=1 a=" : "{\"step\":1,\"a\":";
    for (int i = 0; i < 24; ++i) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      line += alphabet[(seed >> 33) % alphabet.size()];
    }
    const auto report = parse_printed_report(line);
    if (!report) continue;
    EXPECT_GE(report->steps, 0);
    EXPECT_FALSE(report->metrics.empty());
    for (const Metric& metric : report->metrics) EXPECT_NE(metric.name, "step");
  }
}

}  // namespace
}  // namespace muster
