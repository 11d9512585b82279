// Tables of what a profiler measured, and curves of block characters. Units are read off the names
// of what is measured, as reports carry none.

#include "cli/muster/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cli/lib/text_table.h"
#include "text/json_reader.h"

namespace muster::cli {
namespace {

constexpr std::size_t kSparkWidth = 40;
constexpr std::array<std::string_view, 8> kLevels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

double mean_of(const double* begin, const double* end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

/// The unit stands in the name of what is measured: bytes, bytes_per_s, ratio, cores; what has none
/// is shown as it is.
std::string number_text(std::string_view name, double value) {
  const bool is_rate = name.ends_with("bytes_per_s");
  if (is_rate || name.ends_with("bytes") || name.ends_with("memory")) {
    constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    // Rounded, 999.95 shows as 1000.0: it belongs to the next unit.
    for (; std::abs(value) >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
    return fmt::format("{:.{}f} {}{}", value, unit == 0 ? 0 : 1, kUnits[unit], is_rate ? "/s" : "");
  }
  if (name.ends_with("_ratio")) return fmt::format("{:.1f} %", value * 100);
  if (name.ends_with("gpu_util")) return fmt::format("{:.1f} %", value);
  if (name.ends_with("_cores")) return fmt::format("{:.2f} cores", value);
  return std::abs(value) >= 1e6 ? fmt::format("{:.3e}", value) : fmt::format("{:.6g}", value);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  std::string line;
  if (values.empty() || width == 0) return line;
  const std::size_t count = std::min(values.size(), width);
  std::vector<double> means;
  for (std::size_t i = 0; i < count; ++i) {
    // Each column is the mean of an equal part of the values.
    means.push_back(mean_of(values.data() + i * values.size() / count,
                            values.data() + (i + 1) * values.size() / count));
  }
  const auto [least, most] = std::ranges::minmax(means);
  const double span = most / 2 - least / 2;  // halves, for the whole may be too large for a number
  for (const double mean : means) {
    // A constant line stands at the bottom.
    const double place = span > 0 ? (mean / 2 - least / 2) / span : 0;
    line += kLevels[static_cast<std::size_t>(
        std::lround(place * static_cast<double>(kLevels.size() - 1)))];
  }
  return line;
}

void Profile::add(const std::string& group, const std::string& name, const Json& value) {
  if (const Json::Object* object = value.object()) {
    for (const Json::Member& member : *object)
      add(group, name.empty() ? member.name : name + "/" + member.name, member.value);
    return;
  }
  // Values that are no numbers have no place in a table of statistics.
  if (const auto number = value.number(); number && std::isfinite(*number))
    series_[{group, name}].push_back(*number);
}

Status Profile::add(const std::string& group, std::string_view lines) {
  // One JSON document for each line, as streaming endpoints answer.
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    const Json document = TRY(parse_json(line));
    const Json* result = document.find("result");
    const Json* reports = result == nullptr ? nullptr : result->find("metrics");
    if (reports == nullptr || reports->array() == nullptr)
      return fail(ErrorCode::kCorruption,
                  "the controller answered with something else than metrics");
    for (const Json& report : *reports->array()) {
      const Json* metrics = report.find("metrics");
      const Json* averages = metrics == nullptr ? nullptr : metrics->find("avg_metrics");
      if (averages != nullptr) add(group, "", *averages);
    }
  }
  return {};
}

std::string Profile::text() const {
  std::vector<Row> rows;
  for (const char* group : kProfileGroups) {
    for (const auto& [key, values] : series_) {
      if (key.first != group) continue;
      const auto [least, most] = std::ranges::minmax(values);
      const auto shown = [&name = key.second](double value) { return number_text(name, value); };
      rows.push_back({group, key.second, shown(values.back()),
                      shown(mean_of(values.data(), values.data() + values.size())), shown(least),
                      shown(most), sparkline(values, kSparkWidth)});
    }
  }
  return table_text({"GROUP", "METRIC", "LAST", "MEAN", "LEAST", "MOST", "COURSE"}, rows);
}

}  // namespace muster::cli
