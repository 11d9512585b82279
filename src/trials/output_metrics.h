// Reads metrics in what a script prints: for training code without any import. Pure.
//
// A line is a report when it names its step and at least one metric, in one of two forms:
//   key=number pairs among other words   epoch 3 | step=100 | loss=0.31, lr=1e-3
//   a JSON object on one line            {"step": 100, "loss": 0.31, "note": "passed over"}
// Everything else is prose. docs/reference/experiments.md is this for users.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/metric.h"

namespace muster {

/// The longest report; longer lines are prose. Units: bytes.
inline constexpr std::size_t kReportLineMax = 8192;
/// The most metrics of a report; a line with more of them is prose.
inline constexpr std::size_t kReportMetricsMax = 256;

struct PrintedReport {
  std::int64_t steps = 0;       ///< at least 0
  std::vector<Metric> metrics;  ///< numbers, NaN and infinities too; as they stand in the line,
                                ///< each name once, without the step
};

/// Reads a line. Nullopt: it is no report. `line`: without its end. A name is
/// [A-Za-z_][A-Za-z0-9_./-]*. A number is decimal, or nan, inf, infinity in any case, with or
/// without a sign, in JSON also as the texts that stand for them there. A pair is a whole word:
/// blanks part words, and so do , ; | before a blank, a name or the end ("1,234" is one word, and
/// no number). The step is whole (100, 1e2, 100.0); a name that stands twice makes the line prose.
std::optional<PrintedReport> parse_printed_report(std::string_view line);

/// The variable with which a script chooses: with 0 nothing is read out of what is printed.
inline constexpr std::string_view kOutputMetricsVariable = "MUSTER_OUTPUT_METRICS";
/// Returns what the last of the variables (NAME=VALUE) says to that; nullopt: they say nothing.
std::optional<std::string_view> output_metrics_wish(std::span<const std::string> variables);

/// True when a text may hold such a line at all. Cost: one search for a word.
bool may_hold_report(std::string_view text);

}  // namespace muster
