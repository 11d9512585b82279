// Values of keys: read and shown by the same rules, so that scontrol shows what the file says.
// Source: slurm.conf(5), the values of each key.

#include "slurm/conf/conf_form.h"

#include <fmt/core.h>

#include "slurm/duration_text.h"
#include "slurm/memory_text.h"

namespace muster::conf_form {
namespace {

bool is_unlimited(std::string_view text) {
  return equal_ignoring_case(text, "UNLIMITED") || equal_ignoring_case(text, "INFINITE") ||
         text == "-1";
}

Result<Duration> read_units(std::string_view text, std::int64_t unit_seconds) {
  // -1 is no number of seconds or minutes: it is refused.
  if (text != "-1" && is_unlimited(text)) return Duration::infinite();
  const auto count = parse_whole32(text);
  if (!count) return must_be("a whole number or UNLIMITED");
  return Duration::seconds(unit_seconds * static_cast<std::int64_t>(*count));
}

std::string show_units(Duration value, std::int64_t unit_seconds, std::string_view unit) {
  // What has no limit shows as that word, whatever the unit.
  if (value.is_infinite()) return "UNLIMITED";
  return fmt::format("{} {}", value.seconds() / unit_seconds, unit);
}

}  // namespace

tl::unexpected<Error> must_be(std::string what) {
  return fail(ErrorCode::kInvalidArgument, "the value must be " + std::move(what));
}

Result<std::uint64_t> read_number(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const auto value = parse_whole(text, high);
  if (!value || *value < low)
    return must_be(fmt::format("a whole number from {} to {}", low, high));
  return *value;
}

Result<std::int32_t> Days::read(std::string_view text) {
  if (equal_ignoring_case(text, "UNLIMITED") || text == "-1") return -1;
  return static_cast<std::int32_t>(TRY(read_number(text, 0, 32767)));
}
std::string Days::show(std::int32_t value) {
  return value < 0 ? "UNLIMITED" : fmt::format("{}", value);
}

Result<Duration> Seconds::read(std::string_view text) { return read_units(text, 1); }
std::string Seconds::show(Duration value) { return show_units(value, 1, "sec"); }
Result<Duration> Minutes::read(std::string_view text) { return read_units(text, 60); }
std::string Minutes::show(Duration value) { return show_units(value, 60, "min"); }

Result<Duration> TimeLimit::read(std::string_view text) { return parse_time_limit(text); }
std::string TimeLimit::show(Duration value) { return padded_duration_text(value); }

Result<Duration> OptionalTime::read(std::string_view text) {
  // NONE is no limit of its own, unlike 0, which would be none at all.
  if (equal_ignoring_case(text, "NONE")) return Duration();
  return parse_time_limit(text);
}
std::string OptionalTime::show(Duration value) {
  return value == Duration() ? "NONE" : padded_duration_text(value);
}

Result<std::uint64_t> Memory::read(std::string_view text) {
  // 0 means without a limit, as in the state.
  if (is_unlimited(text)) return std::uint64_t{0};
  return parse_memory(text);
}
std::string Memory::show(std::uint64_t value) {
  return value == 0 ? "UNLIMITED" : fmt::format("{}", value);
}

Result<std::uint32_t> Disk::read(std::string_view text) {
  const std::uint64_t mib = TRY(parse_memory(text));
  if (mib > UINT32_MAX) return must_be("below 4 PiB");
  return static_cast<std::uint32_t>(mib);
}
std::string Disk::show(std::uint32_t value) { return fmt::format("{}", value); }

Result<bool> Flag::read(std::string_view text) {
  // Slurm takes any of these for a switch.
  for (const std::string_view word : {"1", "YES", "TRUE", "UP", "Y"}) {
    if (equal_ignoring_case(text, word)) return true;
  }
  for (const std::string_view word : {"0", "NO", "FALSE", "DOWN", "N"}) {
    if (equal_ignoring_case(text, word)) return false;
  }
  return must_be("YES or NO");
}
std::string Flag::show(bool value) { return value ? "1" : "0"; }
std::string YesNo::show(bool value) { return value ? "YES" : "NO"; }

Result<std::string> Text::read(std::string_view text) { return std::string(text); }
std::string Text::show(const std::string& value) { return value.empty() ? "(null)" : value; }

// A host that the machine does not know is not asked here: it is asked when the port is opened.
Result<std::string> Listen::read(std::string_view text) {
  if (text.empty()) return std::string();
  const std::size_t colon = text.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_whole(text.substr(colon + 1), 65535);
  if (!port) return must_be("HOST:PORT, the port from 0 (one that is free) to 65535");
  return fmt::format("{}:{}", text.substr(0, colon), *port);
}
std::string Listen::show(const std::string& value) { return Text::show(value); }

Result<std::vector<std::string>> Names::read(std::string_view text) { return split_list(text); }
std::string Names::show(const std::vector<std::string>& value) {
  return Text::show(join(value, ","));
}

// ALL is the empty list: everybody.
Result<std::vector<std::string>> NamesOrAll::read(std::string_view text) {
  if (equal_ignoring_case(text, "ALL")) return std::vector<std::string>();
  return split_list(text);
}
std::string NamesOrAll::show(const std::vector<std::string>& value) {
  return value.empty() ? "ALL" : join(value, ",");
}

Result<std::vector<std::uint32_t>> ExitCodes::read(std::string_view text) {
  std::vector<std::uint32_t> codes;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto low = parse_whole32(part.substr(0, dash), 255);
    const auto high =
        dash == std::string_view::npos ? low : parse_whole32(part.substr(dash + 1), 255);
    // 0 is no code of a failure, and 256 none at all.
    if (!low || !high || *low == 0 || *high < *low)
      return must_be("exit codes from 1 to 255, such as 1,5-9");
    // Each code by itself, as the controller compares them.
    for (std::uint32_t code = *low; code <= *high; ++code) codes.push_back(code);
  }
  return codes;
}
std::string ExitCodes::show(const std::vector<std::uint32_t>& value) {
  std::vector<std::string> parts;
  for (const std::uint32_t code : value) parts.push_back(fmt::format("{}", code));
  return Text::show(join(parts, ","));
}

}  // namespace muster::conf_form
