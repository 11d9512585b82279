// Indices of job arrays as sbatch(1), --array, has them, and the short forms in which they are
// shown. Sets are bitmaps, so that ranges that overlap count once.

#include "slurm/array_text.h"

#include <fmt/core.h>

#include <optional>
#include <vector>

#include "text/words.h"

namespace muster {
namespace {

tl::unexpected<Error> invalid(std::string detail) {
  return fail(ErrorCode::kInvalidArgument, "Invalid job array specification", std::move(detail));
}

struct Range {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t step = 1;
};

std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::size_t colon = text.find(':');
  const auto low = parse_whole32(text.substr(0, std::min(dash, colon)));
  if (dash == std::string_view::npos) {
    // 3:2 is a step without a range.
    if (!low || colon != dash) return std::nullopt;
    return Range{*low, *low, 1};
  }
  const std::string_view rest = text.substr(dash + 1);
  const std::size_t step_at = rest.find(':');
  const auto high = parse_whole32(rest.substr(0, step_at));
  const auto step = step_at == std::string_view::npos ? 1 : parse_whole32(rest.substr(step_at + 1));
  if (!low || !high || !step || *high < *low || *step == 0) return std::nullopt;
  return Range{*low, *high, *step};
}

Status add_range(std::string_view text, std::uint32_t max_array_size, Bitmap& indices) {
  const auto range = parse_range(text);
  if (!range) return invalid(fmt::format("'{}': write INDEX, LOW-HIGH or LOW-HIGH:STEP", text));
  // The bound first: a large range is refused before its bits are set.
  if (range->high >= max_array_size) {
    return invalid(fmt::format("index {} of '{}' is not below MaxArraySize={}", range->high, text,
                               max_array_size));
  }
  // 64 bits: low + step may pass the largest index.
  for (std::uint64_t i = range->low; i <= range->high; i += range->step) indices.set(i);
  return {};
}

// The distance between all neighbours, or 0 when it varies. Requires: two members or more.
std::size_t even_step(const std::vector<std::size_t>& members) {
  const std::size_t step = members[1] - members[0];
  for (std::size_t i = 2; i < members.size(); ++i) {
    if (members[i] - members[i - 1] != step) return 0;
  }
  return step;
}

std::string ranges_text(const std::vector<std::size_t>& members) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? fmt::format("{}", members[i])
                                 : fmt::format("{}-{}", members[i], members[end - 1]));
    i = end;
  }
  return join(parts, ",");
}

}  // namespace

Result<ArraySpec> parse_array(std::string_view text, std::uint32_t max_array_size) {
  ArraySpec spec;
  std::string_view list = trim(text);
  // The throttle stands behind the whole list.
  if (const std::size_t percent = list.find('%'); percent != std::string_view::npos) {
    const auto throttle = parse_whole32(list.substr(percent + 1));
    if (!throttle) return invalid(fmt::format("'{}': write a number of elements after %", text));
    spec.throttle = *throttle;
    list = list.substr(0, percent);
  }
  // As Slurm writes it in its own answers: what is printed can be given back.
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']')
    list = list.substr(1, list.size() - 2);
  for (const std::string_view part : split(list, ','))
    TRY(add_range(part, max_array_size, spec.indices));
  return spec;
}

ArrayRange array_range(const ArraySpec& spec) {
  const std::vector<std::size_t> members = spec.indices.indices();
  ArrayRange range;
  range.task_count = static_cast<std::uint32_t>(members.size());
  // An array without members has no range.
  if (members.empty()) return range;
  range.index_min = static_cast<std::uint32_t>(members.front());
  range.index_max = static_cast<std::uint32_t>(members.back());
  const std::size_t step = members.size() > 1 ? even_step(members) : 1;
  // Slurm's variables have a step of 1 where the distances differ. Source: sbatch(1),
  // SLURM_ARRAY_TASK_STEP.
  range.index_step = step == 0 ? 1 : static_cast<std::uint32_t>(step);
  return range;
}

std::string array_indices_text(const Bitmap& indices) {
  // Below it ranges are as short as a step, and easier to read.
  constexpr std::size_t kSpanBelowStepForm = 10;
  const std::vector<std::size_t> members = indices.indices();
  if (members.size() > 1 && members.back() - members.front() > kSpanBelowStepForm) {
    const std::size_t step = even_step(members);
    if (step > 1) return fmt::format("{}-{}:{}", members.front(), members.back(), step);
  }
  return ranges_text(members);
}

std::string array_text(const ArraySpec& spec) {
  const std::string indices = array_indices_text(spec.indices);
  return spec.throttle == 0 ? indices : fmt::format("{}%{}", indices, spec.throttle);
}

std::string cut_array_text(std::string text, std::size_t limit) {
  constexpr std::string_view kMark = "...";
  if (limit == 0 || text.size() <= limit) return text;
  // The mark counts against the limit.
  text.resize(limit < kMark.size() ? 0 : limit - kMark.size());
  return text.append(kMark.substr(0, limit));
}

}  // namespace muster
