// Spans of time as Slurm reads and writes them. A limit has whole minutes, which is what the queue
// can hold to; a span that was used has seconds.

#include "slurm/duration_text.h"

#include <fmt/compile.h>
#include <fmt/core.h>

#include <array>
#include <optional>
#include <vector>

#include "text/words.h"

namespace muster {
namespace {

// One less than Slurm's INFINITE: as much as can be asked for.
constexpr std::uint64_t kMinutesMax = 4294967294;
constexpr std::uint64_t kSecondsMax = kMinutesMax * 60;

tl::unexpected<Error> invalid(std::string_view text) {
  return fail(
      ErrorCode::kInvalidArgument, "Invalid time limit specification",
      fmt::format("'{}': write minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes"
                  "[:seconds]] or UNLIMITED, at most {} minutes",
                  text, kMinutesMax));
}

// The sum of parts[i] * units[i], in seconds. Nullopt: too many parts, no number, or too much.
std::optional<std::uint64_t> weighted_sum(std::string_view text,
                                          std::span<const std::uint64_t> units) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > units.size()) return std::nullopt;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // The bound by unit, so that the product cannot overflow.
    const auto value = parse_whole(parts[i], kSecondsMax / units[i]);
    if (!value) return std::nullopt;
    total += *value * units[i];
  }
  return total;
}

std::optional<std::uint64_t> parse_seconds(std::string_view text) {
  static constexpr std::array<std::uint64_t, 3> kHoursFirst = {3600, 60, 1};
  static constexpr std::array<std::uint64_t, 2> kMinutesFirst = {60, 1};
  const std::size_t dash = text.find('-');
  // Days stand before a dash and change the meaning of the rest.
  if (dash == std::string_view::npos) {
    return split(text, ':').size() == 3 ? weighted_sum(text, kHoursFirst)
                                        : weighted_sum(text, kMinutesFirst);
  }
  const auto days = parse_whole(text.substr(0, dash), kSecondsMax / 86400);
  const std::string_view after = text.substr(dash + 1);
  // "2-" is two days and no hours.
  const auto rest =
      after.empty() ? std::optional<std::uint64_t>(0) : weighted_sum(after, kHoursFirst);
  if (!days || !rest) return std::nullopt;
  return *days * 86400 + *rest;
}

bool is_word_for_infinite(std::string_view text) {
  // Slurm takes -1 for it.
  return equal_ignoring_case(text, "UNLIMITED") || equal_ignoring_case(text, "INFINITE") ||
         text == "-1";
}

struct Parts {
  std::int64_t days;
  std::int64_t hours;
  std::int64_t minutes;
  std::int64_t seconds;
};

Parts split_duration(Duration duration) {
  const std::int64_t total = duration.seconds();
  return {total / 86400, total / 3600 % 24, total / 60 % 60, total % 60};
}

// The texts that both forms share.
std::optional<std::string> common_text(Duration duration) {
  if (duration.is_infinite()) return "UNLIMITED";
  if (duration < Duration()) return "INVALID";
  const Parts p = split_duration(duration);
  if (p.days == 0) return std::nullopt;
  return fmt::format("{}-{:02}:{:02}:{:02}", p.days, p.hours, p.minutes, p.seconds);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::string_view word = trim(text);
  if (is_word_for_infinite(word)) return Duration::infinite();
  const auto seconds = parse_seconds(word);
  if (!seconds || *seconds > kSecondsMax) return invalid(text);
  return Duration::seconds(static_cast<std::int64_t>(*seconds));
}

Result<Duration> parse_time_limit(std::string_view text) {
  const Duration exact = TRY(parse_duration(text));
  // 0 asks for no limit. Source: sbatch(1), --time.
  if (exact.is_infinite() || exact == Duration()) return Duration::infinite();
  // Rounded up: a limit of 90 seconds is two minutes, never one.
  return Duration::minutes((exact.seconds() + 59) / 60);
}

std::string short_duration_text(Duration duration) {
  // Both forms have these three texts in common.
  if (auto text = common_text(duration)) return *text;
  const Parts p = split_duration(duration);
  return p.hours != 0 ? fmt::format(FMT_COMPILE("{}:{:02}:{:02}"), p.hours, p.minutes, p.seconds)
                      : fmt::format(FMT_COMPILE("{}:{:02}"), p.minutes, p.seconds);
}

std::string padded_duration_text(Duration duration) {
  if (auto text = common_text(duration)) return *text;
  const Parts p = split_duration(duration);
  return fmt::format("{:02}:{:02}:{:02}", p.hours, p.minutes, p.seconds);
}

}  // namespace muster
