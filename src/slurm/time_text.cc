// Times as sbatch(1), --begin, reads them. Words stand for parts of a time: a day, a time of day,
// or an offset; what is not said is taken from now, in the direction that was asked for.

#include "slurm/time_text.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <vector>

#include "text/words.h"

namespace muster {
namespace {

tl::unexpected<Error> invalid(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, "Invalid time specification",
              fmt::format("'{}': write now[+COUNT[UNIT]], HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], "
                          "MMDD[YY], MM/DD[/YY], "
                          "today, tomorrow, midnight, noon or teatime",
                          text));
}

struct TimeOfDay {
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
};

// What the words of a text have said so far.
struct Pieces {
  std::optional<CivilTime> date;  // its time of day is not used
  std::optional<TimeOfDay> time_of_day;
  bool has_year = true;  // false: a date that recurs every year
};

std::optional<std::int64_t> number(std::string_view text, std::uint64_t max = 9999) {
  const auto value = parse_whole(text, max);
  if (!value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

// --- now+COUNT[UNIT] ---

std::optional<std::int64_t> unit_seconds(std::string_view text) {
  // Slurm's units, of which the first letters are enough.
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 604800}}};
  // A number without a unit is seconds.
  if (text.empty()) return 1;
  for (const Unit& unit : kUnits) {
    if (is_abbreviation(text, unit.name)) return unit.seconds;
  }
  return std::nullopt;
}

std::optional<Duration> parse_offset(std::string_view text) {
  if (text.empty()) return Duration();
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  text = trim(text.substr(1));
  const std::size_t digits = leading_digits(text);
  constexpr std::int64_t kSecondsMax = 100'000'000'000;  // three thousand years
  const auto count = number(text.substr(0, digits), kSecondsMax);
  const auto unit = unit_seconds(trim(text.substr(digits)));
  // Divided, so that the product cannot overflow.
  if (!count || !unit || *count > kSecondsMax / *unit) return std::nullopt;
  return Duration::seconds(sign * *count * *unit);
}

// --- times of day ---

// Elevenses and fika are Slurm's own words.
std::optional<TimeOfDay> named_time(std::string_view word) {
  struct Name {
    std::string_view name;
    std::int64_t hour;
  };
  constexpr std::array<Name, 5> kNames = {
      {{"midnight", 0}, {"noon", 12}, {"elevenses", 11}, {"fika", 15}, {"teatime", 16}}};
  for (const Name& name : kNames) {
    if (equal_ignoring_case(word, name.name)) return TimeOfDay{name.hour, 0, 0};
  }
  return std::nullopt;
}

// Cuts "am" or "pm" off the end: 'a', 'p', or 0 when neither is there.
char consume_half_of_day(std::string_view& word) {
  if (word.size() < 3 || to_lower(word.back()) != 'm') return 0;
  const char half = to_lower(word[word.size() - 2]);
  if (half != 'a' && half != 'p') return 0;
  word.remove_suffix(2);
  return half;
}

// "16:00", "16:00:30", "4pm", "4:30pm".
std::optional<TimeOfDay> clock_time(std::string_view word) {
  const char half = consume_half_of_day(word);
  const std::vector<std::string_view> parts = split(word, ':');
  // A number alone is no time of day: it would be a day.
  if (parts.size() > 3 || (parts.size() == 1 && half == 0)) return std::nullopt;
  std::array<std::int64_t, 3> values{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Each part by itself: 25:00 and 12:60 are mistakes.
    const auto value = number(parts[i], i == 0 ? 23 : 59);
    if (!value || parts[i].size() > 2) return std::nullopt;
    values[i] = *value;
  }
  // 12-hour times have no 0 and nothing above 12.
  if (half != 0 && (values[0] < 1 || values[0] > 12)) return std::nullopt;
  if (half != 0) values[0] = values[0] % 12 + (half == 'p' ? 12 : 0);
  return TimeOfDay{values[0], values[1], values[2]};
}

std::optional<TimeOfDay> parse_time_of_day(std::string_view word) {
  const auto named = named_time(word);
  return named ? named : clock_time(word);
}

// --- days ---

CivilTime midnight_after(CivilTime today, std::int64_t days) {
  return date_from_days(days_from_date(today.year, today.month, today.day) + days);
}

struct DateParts {
  std::string_view year;  // empty: not given
  std::string_view month;
  std::string_view day;
};

std::optional<DateParts> date_parts(std::string_view word) {
  if (leading_digits(word) == word.size()) {  // MMDD, MMDDYY
    if (word.size() != 4 && word.size() != 6) return std::nullopt;
    return DateParts{word.substr(4), word.substr(0, 2), word.substr(2, 2)};
  }
  if (const auto parts = split(word, '-'); parts.size() == 3) {
    if (parts[0].size() != 4) return std::nullopt;
    return DateParts{parts[0], parts[1], parts[2]};
  }
  for (const char separator : {'/', '.'}) {
    const auto parts = split(word, separator);
    if (parts.size() == 2 || parts.size() == 3) {
      return DateParts{parts.size() == 3 ? parts[2] : std::string_view(), parts[0], parts[1]};
    }
  }
  return std::nullopt;
}

bool add_date(std::string_view word, const CivilTime& today, Pieces& pieces) {
  const auto parts = date_parts(word);
  if (!parts) return false;
  pieces.has_year = !parts->year.empty();
  const auto year = pieces.has_year ? number(parts->year) : today.year;
  const auto month = number(parts->month);
  const auto day = number(parts->day);
  if (!year || !month || !day) return false;
  // Two digits mean this century.
  pieces.date = CivilTime{*year < 100 ? 2000 + *year : *year, *month, *day, 0, 0, 0};
  // The 29th of February without a year is real in some year: which one is decided later.
  return is_valid(*pieces.date) || (!pieces.has_year && *month == 2 && *day == 29);
}

// A day was said already: of two, one would silently win.
bool add_day(std::string_view word, const CivilTime& today, Pieces& pieces) {
  if (pieces.date) return false;
  if (equal_ignoring_case(word, "today")) pieces.date = midnight_after(today, 0);
  if (equal_ignoring_case(word, "tomorrow")) pieces.date = midnight_after(today, 1);
  return pieces.date || add_date(word, today, pieces);
}

// --- putting words together ---

// The words of a text: blanks part them, and so does the T or the third dash of an ISO day.
std::vector<std::string> words_of(std::string_view text) {
  constexpr std::size_t kIsoDay = 10;
  std::vector<std::string> words = split_list(text, ' ');
  if (words.empty() || words[0].size() <= kIsoDay) return words;
  const char separator = words[0][kIsoDay];
  if (words[0][4] != '-' || (to_lower(separator) != 't' && separator != '-')) return words;
  const std::string rest = words[0].substr(kIsoDay + 1);
  words[0].resize(kIsoDay);
  words.insert(words.begin() + 1, rest);
  return words;
}

// "4", "pm" is one word.
void join_halves_of_day(std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size();) {
    // "pm" alone belongs to the number before it.
    const bool is_half = equal_ignoring_case(words[i], "am") || equal_ignoring_case(words[i], "pm");
    if (!is_half) {
      ++i;
      continue;
    }
    words[i - 1] += words[i];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::optional<Pieces> parse_pieces(std::string_view text, const CivilTime& today) {
  std::vector<std::string> words = words_of(text);
  join_halves_of_day(words);
  Pieces pieces;
  for (const std::string& word : words) {
    const auto time_of_day = parse_time_of_day(word);
    // Two times of day contradict each other.
    if (time_of_day && pieces.time_of_day) return std::nullopt;
    if (time_of_day) {
      pieces.time_of_day = time_of_day;
    } else if (!add_day(word, today, pieces)) {
      return std::nullopt;
    }
  }
  // A text of nothing but blanks says nothing.
  if (!pieces.date && !pieces.time_of_day) return std::nullopt;
  return pieces;
}

// One step towards the wanted direction: a day for a bare time of day, a year for a day without
// one.
CivilTime shifted(const Pieces& pieces, CivilTime time, std::int64_t step) {
  if (pieces.date) {
    time.year += step;
    return time;
  }
  const CivilTime day = midnight_after(time, step);
  return {day.year, day.month, day.day, time.hour, time.minute, time.second};
}

bool is_wrong_side(const CivilTime& time, const TimeContext& context) {
  const TimePoint point = context.zone.to_point(time);
  return context.direction == TimeDirection::kFuture ? point < context.now : point > context.now;
}

// The nearest real day in the wanted direction. A 29th of February is at most eight years away.
std::optional<CivilTime> completed(const Pieces& pieces, const CivilTime& today,
                                   const TimeContext& context) {
  constexpr int kStepsMax = 9;
  CivilTime time = pieces.date ? *pieces.date : today;
  const TimeOfDay of_day = pieces.time_of_day.value_or(TimeOfDay{});
  time.hour = of_day.hour;
  time.minute = of_day.minute;
  time.second = of_day.second;
  // A day with a year is what was meant, whatever direction was asked for.
  if (pieces.date && pieces.has_year) return time;
  const std::int64_t step = context.direction == TimeDirection::kFuture ? 1 : -1;
  for (int i = 0; i < kStepsMax; ++i) {
    if (is_valid(time) && !is_wrong_side(time, context)) return time;
    time = shifted(pieces, time, step);
  }
  return std::nullopt;
}

}  // namespace

Result<TimePoint> parse_time(std::string_view text, const TimeContext& context) {
  const std::string_view word = trim(text);
  // Slurm's own form: seconds since 1970.
  if (equal_ignoring_case(word.substr(0, 3), "uts")) {
    const auto seconds = number(word.substr(3), 253402300799);
    if (!seconds) return invalid(text);
    return TimePoint::from_seconds(*seconds);
  }
  if (equal_ignoring_case(word.substr(0, 3), "now")) {
    const auto offset = parse_offset(trim(word.substr(3)));
    if (!offset) return invalid(text);
    // Whole seconds: an offset from now is not a fraction of one.
    return TimePoint::from_seconds(context.now.seconds()) + *offset;
  }
  const CivilTime today = context.zone.to_civil(context.now);
  const auto pieces = parse_pieces(word, today);
  if (!pieces) return invalid(text);
  const auto civil = completed(*pieces, today, context);
  if (!civil) return invalid(text);
  return context.zone.to_point(*civil);
}

std::string iso_time_text(TimePoint time, const ZoneRule& zone) {
  const CivilTime civil = zone.to_civil(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", civil.year, civil.month, civil.day,
                     civil.hour, civil.minute, civil.second);
}

std::string time_text(TimePoint time, const ZoneRule& zone, std::string_view absent) {
  if (!time.is_set() || time.is_never()) return std::string(absent);
  return iso_time_text(time, zone);
}

}  // namespace muster
