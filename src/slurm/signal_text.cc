// Signals by name and by number, and what a shell says of a death by one. The names and numbers
// are Linux's, as Slurm uses them.

#include "slurm/signal_text.h"

#include <fmt/core.h>

#include <array>

#include "text/words.h"

namespace muster {
namespace {

struct Signal {
  std::uint16_t number;
  std::string_view name;
  std::string_view description;
};

// The first of several names of one number is the one that is printed.
constexpr std::array<Signal, 35> kSignals = {{
    {1, "HUP", "Hangup"},
    {2, "INT", "Interrupt"},
    {3, "QUIT", "Quit"},
    {4, "ILL", "Illegal instruction"},
    {5, "TRAP", "Trace/breakpoint trap"},
    {6, "ABRT", "Aborted"},
    {6, "IOT", "Aborted"},
    {7, "BUS", "Bus error"},
    {8, "FPE", "Floating point exception"},
    {9, "KILL", "Killed"},
    {10, "USR1", "User defined signal 1"},
    {11, "SEGV", "Segmentation fault"},
    {12, "USR2", "User defined signal 2"},
    {13, "PIPE", "Broken pipe"},
    {14, "ALRM", "Alarm clock"},
    {15, "TERM", "Terminated"},
    {16, "STKFLT", "Stack fault"},
    {17, "CHLD", "Child exited"},
    {17, "CLD", "Child exited"},
    {18, "CONT", "Continued"},
    {19, "STOP", "Stopped (signal)"},
    {20, "TSTP", "Stopped"},
    {21, "TTIN", "Stopped (tty input)"},
    {22, "TTOU", "Stopped (tty output)"},
    {23, "URG", "Urgent I/O condition"},
    {24, "XCPU", "CPU time limit exceeded"},
    {25, "XFSZ", "File size limit exceeded"},
    {26, "VTALRM", "Virtual timer expired"},
    {27, "PROF", "Profiling timer expired"},
    {28, "WINCH", "Window changed"},
    {29, "IO", "I/O possible"},
    {29, "POLL", "I/O possible"},
    {30, "PWR", "Power failure"},
    {31, "SYS", "Bad system call"},
    {31, "UNUSED", "Bad system call"},
}};

// What Linux has; realtime signals have numbers and no names here.
constexpr std::uint32_t kNumberMax = 64;

const Signal* find_number(std::uint16_t number) {
  for (const Signal& signal : kSignals) {
    if (signal.number == number) return &signal;
  }
  return nullptr;
}

std::string_view without_sig(std::string_view text) {
  return text.size() > 3 && equal_ignoring_case(text.substr(0, 3), "SIG") ? text.substr(3) : text;
}

tl::unexpected<Error> invalid_option(std::string_view text) {
  return fail(
      ErrorCode::kInvalidArgument, "Invalid signal specification",
      fmt::format("'{}': write [{{R|B|RB}}:]SIGNAL[@SECONDS], seconds at most 65535", text));
}

// Reads the letters before the colon. False: another letter, or none.
bool add_letters(std::string_view letters, SignalOption& option) {
  for (const char letter : letters) {
    if (to_lower(letter) == 'b') {
      option.is_batch_only = true;
    } else if (to_lower(letter) == 'r') {
      option.is_at_reservation = true;
    } else {
      return false;
    }
  }
  return !letters.empty();
}

}  // namespace

Result<std::uint16_t> parse_signal(std::string_view text) {
  const std::string_view word = trim(text);
  // Numbers first: a name that begins with a digit is none.
  if (const auto number = parse_whole32(word, kNumberMax); number && *number > 0) {
    return static_cast<std::uint16_t>(*number);
  }
  for (const Signal& signal : kSignals) {
    if (equal_ignoring_case(without_sig(word), signal.name)) return signal.number;
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("Unknown signal: {}", text),
              fmt::format("write a name like TERM or USR1, or a number from 1 to {}", kNumberMax));
}

std::string signal_name(std::uint16_t number) {
  const Signal* signal = find_number(number);
  // A number that has no name is shown as itself.
  return signal != nullptr ? std::string(signal->name) : fmt::format("{}", number);
}

std::string signal_description(std::uint16_t number) {
  const Signal* signal = find_number(number);
  return signal != nullptr ? std::string(signal->description)
                           : fmt::format("Unknown signal {}", number);
}

Result<SignalOption> parse_signal_option(std::string_view text) {
  SignalOption option;
  std::string_view rest = trim(text);
  // What stands before the colon says who gets it.
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    if (!add_letters(rest.substr(0, colon), option)) return invalid_option(text);
    rest.remove_prefix(colon + 1);
  }
  // What stands behind it says how long before the end.
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    // 65535 seconds, as Slurm's field holds.
    const auto seconds = parse_whole32(rest.substr(at + 1), 65535);
    if (!seconds) return invalid_option(text);
    option.seconds = *seconds;
    rest = rest.substr(0, at);
  }
  const auto number = parse_signal(rest);
  if (!number.has_value()) return invalid_option(text);
  option.number = *number;
  return option;
}

}  // namespace muster
