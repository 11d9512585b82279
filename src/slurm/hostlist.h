// Host lists: "node[1-3,08],login" and the names that it stands for.
// A name is a prefix and, at its end, an optional number whose leading zeros count ("n7" and "n07"
// are two hosts). Which of the names exist is the caller's question.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// The longest list that can be written with ranges, and so the most that `expand_hostlist` yields.
inline constexpr std::size_t kHostlistMax = 65536;
/// The most bytes that its names have together: four times what so many names of 16 bytes have.
inline constexpr std::size_t kHostlistBytesMax = 4U << 20;
/// The most bytes of a name. Source: RFC 1035, section 2.3.4.
inline constexpr std::size_t kHostNameMax = 255;

/// Returns the names of a host list in Slurm's order, duplicates kept. Entries are separated by
/// commas, blanks or line feeds. Brackets hold numbers and rising ranges; the width of a range is
/// that of its first number ("[08-11]"). Order with several brackets: the last runs fastest, then
/// the first, the second, ...; the last but one is slowest: "a[0-1]b[2-3]c[4-5]" is a0b2c4 a0b2c5
/// a1b2c4 a1b2c5 a0b3c4 ... Text may follow the last bracket: "n-[0-1].svc" is n-0.svc n-1.svc.
/// Errors: kInvalidArgument "Invalid hostlist: TEXT" with the offending part, also of a name above
/// kHostNameMax; kResourceExhausted above kHostlistMax names or kHostlistBytesMax. A long TEXT is
/// shortened. Source: scontrol(1) `show hostnames`; unlike Slurm 22.05 an unclosed bracket is an
/// error rather than a host, and like Slurm from 23.11 on names may go on behind a bracket.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

/// Returns the names as one text, in the given order: neighbours with one prefix share a bracket,
/// and neighbours that count up share a range. {"n1","n2","n9","m"} gives "n[1-2,9],m". Expanding
/// it gives the names back. Source: scontrol(1) `show hostlist`.
std::string compress_hostlist(std::span<const std::string> names);

/// Returns the names sorted and each once. Determinism: by prefix (bytes, digits inside as numbers:
/// "r9_" before "r10_"), a bare prefix first, then names that can share one range: unpadded ones
/// before padded ones, padded ones by width; then by number. Cost: O(bytes + n log n).
std::vector<std::string> sorted_hosts(std::vector<std::string> names);

/// Returns `compress_hostlist(sorted_hosts(names))`: the form in which node lists are shown.
std::string sorted_hostlist(std::vector<std::string> names);

}  // namespace muster
