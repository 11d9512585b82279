// Job arrays as text: --array=0-15:2%4 and the forms in which the commands show the elements still
// waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/array.h"

namespace muster {

/// Reads comma-separated numbers, ranges and stepped ranges ("1,3,5-7", "0-15:2"), brackets around
/// them allowed, with an optional %N: so many elements at once (0: no limit). Shape: indices below
/// `max_array_size`. Errors: kInvalidArgument "Invalid job array specification" with the offending
/// part. Source: sbatch(1) --array.
Result<ArraySpec> parse_array(std::string_view text, std::uint32_t max_array_size);

/// Returns the range that every element's environment has. `index_step` is 1 unless the indices
/// keep one distance.
ArrayRange array_range(const ArraySpec& spec);

/// Returns "0,2,4-6"; with an even step and a span above 10 "0-14:2". Empty for no indices. Source:
/// squeue(1), as it shows 12_[0-15%4].
std::string array_indices_text(const Bitmap& indices);
/// Returns `array_indices_text`, and "%4" when a throttle is set.
std::string array_text(const ArraySpec& spec);

/// Returns `text` cut to `limit` characters that end in "..."; whole when it fits or when `limit`
/// is 0. Source: squeue(1), SLURM_BITSTR_LEN (64 unless set).
std::string cut_array_text(std::string text, std::size_t limit = 64);

}  // namespace muster
