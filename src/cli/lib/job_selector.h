// Job ids as users write them: 12, 12_3, 12_[0-5,9], 12.0, 12.batch, and lists of them. How ids are
// shown too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/request.h"
#include "model/view.h"

namespace muster::cli {

/// Errors: kInvalidArgument "Invalid job id specified" with the text.
Result<JobSelector> parse_job_selector(std::string_view text);
/// A list parted by commas; those in brackets part indices. Errors: of the first bad one.
Result<std::vector<JobSelector>> parse_job_selectors(std::string_view text);
/// The parts of a list whose brackets may hold commas.
std::vector<std::string_view> split_job_ids(std::string_view text);

/// What the view shows: the job, the element, or those elements of an array that it has.
Result<JobSelector> selector_of(const JobView& job);

/// "12", "12_3", "12.0", "12_[1-3]".
std::string selector_text(const JobSelector& selector);
/// "12", "12_3", or "12_[0-15%4]" for what is left of an array. Units: characters; 0 is no limit.
std::string job_id_text(const JobView& job, std::size_t array_text_max = 64);
/// "12.0", "12_3.batch".
std::string step_id_text(const StepView& step);
/// The order in which a job's steps are shown: batch, extern, interactive, then by number.
std::uint32_t step_rank(std::uint32_t step);

}  // namespace muster::cli
