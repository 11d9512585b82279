// Amounts of memory: "4G" and the like. Units: whole MiB, as everywhere in Muster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Reads a whole number with an optional unit K, M (the default), G, T or P, in either case, and an
/// optional B after it. Units: the result in MiB; kibibytes round up. Shape: up to 2^44 MiB.
/// Errors: kInvalidArgument "Invalid memory specification" with the text (fractions too). Source:
/// sbatch(1) --mem.
Result<std::uint64_t> parse_memory(std::string_view text);

/// Returns the amount in the largest unit that leaves a whole number: 4096 gives "4G", 1500 gives
/// "1500M", 0 gives "0". Source: squeue(1) %m, scontrol(1) MinMemoryNode and TRES "mem=4G".
std::string memory_text(std::uint64_t mib);

/// Returns the amount in the largest unit that leaves at least 1, with two decimals unless whole:
/// 1500 KiB gives "1.46M". Units: `kib` in KiB. Source: sstat(1), sacct(1) MaxRSS.
std::string scaled_memory_text(std::uint64_t kib);

}  // namespace muster
