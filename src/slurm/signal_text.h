// Signals by name and number, and --signal=B:USR2@30. Numbers are Linux's on x86 and Arm: they
// travel in messages, so they must not depend on the machine that reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Reads "USR1", "SIGUSR1", "usr1" or "10". Shape: 1..64.
/// Errors: kInvalidArgument "Unknown signal: TEXT". Source: scancel(1) --signal.
Result<std::uint16_t> parse_signal(std::string_view text);

/// Returns "USR1"; the number where it has no name.
std::string signal_name(std::uint16_t number);
/// Returns the words that shells use: "Segmentation fault", "Killed"; "Unknown signal 99" where
/// there are none. Source: strsignal(3), which srun(1) prints after "task 0: ".
std::string signal_description(std::uint16_t number);

/// What --signal asks for.
struct SignalOption {
  std::uint16_t number = 0;
  std::uint32_t seconds = 60;      ///< before the end of the time limit
  bool is_batch_only = false;      ///< B: the batch shell alone, not the steps
  bool is_at_reservation = false;  ///< R: when a reservation begins
  friend bool operator==(const SignalOption&, const SignalOption&) = default;
};

/// Reads [{R|B|RB}:]SIGNAL[@SECONDS]. Shape: seconds 0..65535.
/// Errors: kInvalidArgument "Invalid signal specification" with the text. Source: sbatch(1)
/// --signal.
Result<SignalOption> parse_signal_option(std::string_view text);

}  // namespace muster
