// Curves of one metric for a table of trials, in few questions to the metric store. They are an
// ornament: whatever fails leaves the table without them.

#include "cli/muster/metric_curves.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/lib/web.h"
#include "cli/muster/profile_text.h"

namespace muster::cli {
namespace {

constexpr std::size_t kWidth = 16;
// A table of more is not read by its curves; each costs a look at the metric store.
constexpr std::size_t kTrialsMax = 200;
// A URL has a length that servers accept.
constexpr std::size_t kTrialsAtOnce = 50;

/// As it may stand in a query.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

MetricCurves curves_of(const Json& series) {
  MetricCurves curves;
  for (const Json& one : items_of(series, "trials")) {
    const Json* trial = one.find("trial");
    const Json* id = trial == nullptr ? nullptr : trial->find("id");
    if (id == nullptr || id->whole() == nullptr) continue;
    std::vector<double> values;
    for (const Json& group : items_of(one, "metrics")) {
      for (const Json& point : items_of(group, "data")) {
        const Json* named = point.find("values");
        // One metric was asked for: the first value is it.
        const auto number =
            named == nullptr || named->object() == nullptr || named->object()->empty()
                ? std::nullopt
                : named->object()->front().value.number();
        if (number && std::isfinite(*number)) values.push_back(*number);
      }
    }
    // A single point is no curve.
    if (values.size() > 1)
      curves.emplace(TrialId(static_cast<std::uint32_t>(*id->whole())), sparkline(values, kWidth));
  }
  return curves;
}

MetricCurves metric_curves(Session& session, const std::vector<TrialView>& trials,
                           const std::string& metric) {
  MetricCurves curves;
  // Curves are for people: a program that reads the table gets none.
  if (::isatty(STDOUT_FILENO) != 1 || trials.empty()) return curves;
  Web web(session);
  // Without HTTP the table is shown without curves.
  if (!web.open().has_value()) return curves;
  const std::size_t count = std::min(trials.size(), kTrialsMax);
  for (std::size_t begin = 0; begin < count; begin += kTrialsAtOnce) {
    std::string path =
        fmt::format("trials/time-series?group=validation&maxDatapoints={}&metricNames={}", kWidth,
                    escaped(metric));
    for (std::size_t at = begin; at < std::min(begin + kTrialsAtOnce, count); ++at)
      path += fmt::format("&trialIds={}", trials[at].id.value());
    const auto series = web.get(path);
    if (!series.has_value()) break;
    curves.merge(curves_of(*series));
  }
  return curves;
}

}  // namespace muster::cli
