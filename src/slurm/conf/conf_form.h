// The forms of the values of configuration keys: each reads a text and shows the value as `scontrol
// show config` does. A row of a key table joins a form to a member:
// `conf_row<&ClusterSettings::kill_wait, Seconds>("KillWait")`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "slurm/conf/conf_key.h"

namespace muster::conf_form {

/// A time in seconds: "30" or "UNLIMITED"; shown "30 sec".
struct Seconds {
  static Result<Duration> read(std::string_view text);
  static std::string show(Duration value);
};
/// A time in minutes, read as Seconds; shown "0 min".
struct Minutes {
  static Result<Duration> read(std::string_view text);
  static std::string show(Duration value);
};
/// A time limit (duration_text.h), "UNLIMITED" included.
struct TimeLimit {
  static Result<Duration> read(std::string_view text);
  static std::string show(Duration value);
};
/// A time limit, or NONE for zero.
struct OptionalTime {
  static Result<Duration> read(std::string_view text);
  static std::string show(Duration value);
};
/// An amount in MiB, with the units of memory_text.h; 0 and UNLIMITED are no limit, shown
/// "UNLIMITED".
struct Memory {
  static Result<std::uint64_t> read(std::string_view text);
  static std::string show(std::uint64_t value);
};
/// An amount in MiB of 32 bits, shown as a number.
struct Disk {
  static Result<std::uint32_t> read(std::string_view text);
  static std::string show(std::uint32_t value);
};
/// YES or NO, 1 or 0, TRUE or FALSE; shown "1" or "0".
struct Flag {
  static Result<bool> read(std::string_view text);
  static std::string show(bool value);
};
/// A flag, shown "YES" or "NO".
struct YesNo : Flag {
  static std::string show(bool value);
};
struct Text {
  static Result<std::string> read(std::string_view text);
  static std::string show(const std::string& value);  ///< "(null)" when empty
};
/// An address to listen on, "HOST:PORT", the host perhaps empty, port 0 for one that is free; or
/// nothing. It is read with the port's digits as they are usually written.
struct Listen {
  static Result<std::string> read(std::string_view text);
  static std::string show(const std::string& value);  ///< "(null)" when empty
};
/// Names parted by commas.
struct Names {
  static Result<std::vector<std::string>> read(std::string_view text);
  static std::string show(const std::vector<std::string>& value);
};
/// Names parted by commas; ALL is the empty list and so is shown.
struct NamesOrAll {
  static Result<std::vector<std::string>> read(std::string_view text);
  static std::string show(const std::vector<std::string>& value);
};
/// Exit codes 1..255, single or in ranges: "1,5-9".
struct ExitCodes {
  static Result<std::vector<std::uint32_t>> read(std::string_view text);
  static std::string show(const std::vector<std::uint32_t>& value);
};

/// Reads a whole number in [Low, High]. Errors: kInvalidArgument with the bounds.
Result<std::uint64_t> read_number(std::string_view text, std::uint64_t low, std::uint64_t high);

template <class Value, std::uint64_t Low, std::uint64_t High>
struct Number {
  static Result<Value> read(std::string_view text) {
    return static_cast<Value>(TRY(read_number(text, Low, High)));
  }
  static std::string show(Value value) { return fmt::format("{}", value); }
};
/// A whole number from 1; UNLIMITED is 0 and so is shown.
template <class Value>
struct Limit {
  static Result<Value> read(std::string_view text) {
    if (equal_ignoring_case(text, "UNLIMITED") || text == "-1") return Value{0};
    return static_cast<Value>(TRY(read_number(text, 1, UINT32_MAX - 2)));
  }
  static std::string show(Value value) {
    return value == 0 ? "UNLIMITED" : fmt::format("{}", value);
  }
};

/// A number of days, at most 32767; UNLIMITED is -1.
struct Days {
  static Result<std::int32_t> read(std::string_view text);
  static std::string show(std::int32_t value);
};

/// Returns an error that says what a value must be.
tl::unexpected<Error> must_be(std::string what);

}  // namespace muster::conf_form

namespace muster {

/// Returns the row of an honoured key whose value `Form` reads into `member(target)`. `Member` is a
/// function `Value& (Target&)`.
template <class Target, auto Member, class Form>
constexpr ConfKey<Target> conf_row(std::string_view name) {
  return {name,
          ConfHandling::kHonoured,
          {},
          {},
          [](Target& target, std::string_view value) -> Status {
            Member(target) = TRY(Form::read(value));
            return {};
          },
          [](const Target& target) { return Form::show(Member(target)); }};
}

}  // namespace muster
