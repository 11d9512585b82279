// Amounts of memory as Slurm reads and shows them, in MiB: the smallest that is asked for. Rounded
// up where a unit is smaller, so that nobody gets less than asked.

#include "slurm/memory_text.h"

#include <fmt/core.h>

#include <optional>

#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kUnits = "KMGTPE";
// 16 EiB in MiB: more would overflow what amounts are counted in.
constexpr std::uint64_t kMibMax = std::uint64_t{1} << 44;

tl::unexpected<Error> invalid(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, "Invalid memory specification",
              fmt::format("'{}': write a whole number and K, M (the default), G or T", text));
}

// MiB in `count` of the unit that `suffix` names. Nullopt: no unit, or above kMibMax.
std::optional<std::uint64_t> in_mib(std::uint64_t count, std::string_view suffix) {
  // "GB" and "G" are the same unit.
  if (suffix.size() == 2 && to_lower(suffix[1]) == 'b') suffix.remove_suffix(1);
  if (suffix.size() > 1) return std::nullopt;
  // Without a unit it is MiB. Source: sbatch(1), --mem.
  const std::string unit = suffix.empty() ? "m" : lower(suffix);
  const std::size_t power = lower(kUnits).find(unit);
  if (power == std::string::npos || power > 4) return std::nullopt;
  // Kibibytes are rounded up to whole MiB.
  if (power == 0) return (count + 1023) / 1024;
  const std::size_t shift = 10 * (power - 1);
  // Before the shift, which would overflow.
  if (count > kMibMax >> shift) return std::nullopt;
  return count << shift;
}

}  // namespace

Result<std::uint64_t> parse_memory(std::string_view text) {
  const std::string_view word = trim(text);
  const std::size_t digits = leading_digits(word);
  // 2^54 KiB are 2^44 MiB: what a number may be before its unit.
  const auto count = parse_whole(word.substr(0, digits), std::uint64_t{1} << 54);
  if (!count) return invalid(text);
  const auto mib = in_mib(*count, word.substr(digits));
  if (!mib) return invalid(text);
  return *mib;
}

std::string memory_text(std::uint64_t mib) {
  if (mib == 0) return "0";
  // As long as it divides: 1536M and not 1.5G, which no option takes.
  std::size_t unit = 1;
  for (; mib % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) mib /= 1024;
  return fmt::format("{}{}", mib, kUnits[unit]);
}

std::string scaled_memory_text(std::uint64_t kib) {
  if (kib == 0) return "0";
  std::size_t unit = 0;
  std::uint64_t divisor = 1;
  // As sacct shows it: the largest unit in which it is at least one.
  for (; kib / divisor >= 1024 && unit + 1 < kUnits.size(); ++unit) divisor *= 1024;
  // A whole number has no decimals.
  if (kib % divisor == 0) return fmt::format("{}{}", kib / divisor, kUnits[unit]);
  return fmt::format("{:.2f}{}", static_cast<double>(kib) / static_cast<double>(divisor),
                     kUnits[unit]);
}

}  // namespace muster
