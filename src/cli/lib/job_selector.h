// Reads job ids as users write them: 12, 12_3, 12_[0-5,9], 12.0, 12.batch, and lists of them. It
// also writes ids as the commands show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/request.h"
#include "model/view.h"

namespace muster::cli {

/// Reads one id. Errors: kInvalidArgument "Invalid job id specified" with the text.
Result<JobSelector> parse_job_selector(std::string_view text);
/// Reads a list parted by commas; those in brackets part indices. Errors: of the first bad one.
Result<std::vector<JobSelector>> parse_job_selectors(std::string_view text);
/// Returns the parts of a list whose brackets may hold commas.
std::vector<std::string_view> split_job_ids(std::string_view text);

/// Returns the selector of a view: the job, the element, or those elements of an array that it has.
Result<JobSelector> selector_of(const JobView& job);

/// Returns "12", "12_3", "12.0", "12_[1-3]".
std::string selector_text(const JobSelector& selector);
/// Returns "12", "12_3", or "12_[0-15%4]" for what is left of an array. Units: characters; 0 is no
/// limit.
std::string job_id_text(const JobView& job, std::size_t array_text_max = 64);
/// Returns "12.0", "12_3.batch".
std::string step_id_text(const StepView& step);
/// Returns the order in which a job's steps are shown: batch, extern, interactive, then by number.
std::uint32_t step_rank(std::uint32_t step);

}  // namespace muster::cli
