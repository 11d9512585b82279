// The text of a preview: trials of equal course in one line. Lengths are units of training, and
// nothing is said of hours, which depend on the code and the nodes.

#include "cli/muster/search_preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "search/preview.h"

namespace muster::cli {
namespace {

/// "1,234,567".
std::string grouped(double value) {
  // Without digits behind the point, as units are whole.
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// Trials that train to their own end are counted in trials: nobody knows how long that is.
struct Lengths {
  explicit Lengths(const SearcherSection& searcher)
      : own_end(searcher.trial_length > 0 ? static_cast<double>(searcher.trial_length)
                                          : std::numeric_limits<double>::max()),
        unit(searcher.search.time_metric) {}
  double own_end;
  std::string unit;
  bool is_open(double units) const { return units == std::numeric_limits<double>::max(); }
};

std::string ended_text(const search::VirtualTrial& trial) {
  if (!trial.stop) return "at its own end";
  switch (trial.stop->cause) {
    case StopCause::kTrained: return "trained in full";
    case StopCause::kRungCut: return fmt::format("cut at rung {}", trial.stop->rung);
    case StopCause::kReplaced: return "replaced by a copy of a better one";
    case StopCause::kSearchOver: return "waiting when the search was over";
    case StopCause::kClosed: return "closed by its search";
  }
  return "";
}

/// Where the method has rungs: the top one, which no trial need have reached. Otherwise 0.
double full_length(const SearchMethodConfig& method) {
  return std::visit(
      [](const auto& config) {
        if constexpr (requires { config.max_time; }) return static_cast<double>(config.max_time);
        return 0.0;
      },
      method);
}

}  // namespace

std::string preview_text(const SearcherSection& searcher, const HyperSpace& space,
                         const std::string& method_name, std::uint64_t seed) {
  const Lengths lengths(searcher);
  const auto [result, at_once] = search::preview_run(searcher.search, space, seed, lengths.own_end);

  // Sorted by bracket, then by length, then by how they ended.
  std::map<std::tuple<std::uint32_t, double, std::string>, std::uint32_t> rows;
  for (const search::VirtualTrial& trial : result.trials)
    ++rows[{trial.stop ? trial.stop->bracket : 0, trial.units, ended_text(trial)}];
  // A custom search asks for its trials while it runs.
  if (result.trials.empty()) {
    return fmt::format(
        "{}: its trials are those that its own program asks for; {} in {} is better\n", method_name,
        searcher.search.smaller_is_better ? "less" : "more", searcher.search.metric);
  }
  std::string text = fmt::format(
      "{}: {} trials, {} at once; {} in {} is better\n\n", method_name, result.trials.size(),
      at_once, searcher.search.smaller_is_better ? "less" : "more", searcher.search.metric);
  text += fmt::format("{:>8} {:>8} {:>14}  {}\n", "BRACKET", "TRIALS",
                      lengths.unit.empty() ? "LENGTH" : lengths.unit, "END");
  for (const auto& [key, count] : rows) {
    const auto& [bracket, units, end] = key;
    text += fmt::format("{:>8} {:>8} {:>14}  {}\n", bracket, count,
                        lengths.is_open(units) ? "-" : grouped(units), end);
  }
  // Where lengths are open no sum would mean anything.
  if (lengths.unit.empty() || std::ranges::any_of(result.trials, [&](const auto& trial) {
        return lengths.is_open(trial.units);
      })) {
    return text;
  }
  const double total = result.total_units();
  double longest = full_length(searcher.search.method);
  for (const search::VirtualTrial& trial : result.trials) longest = std::max(longest, trial.units);
  const double whole = longest * static_cast<double>(result.trials.size());
  text += fmt::format("\nIn all {} {}; every trial in full would be {} ({:.0f} %).\n",
                      grouped(total), lengths.unit, grouped(whole), 100 * total / whole);
  text += fmt::format("With {} at once it lasts as long as {} {}.\n", at_once,
                      grouped(result.makespan), lengths.unit);
  return text;
}

}  // namespace muster::cli
