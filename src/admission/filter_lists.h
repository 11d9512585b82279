// The lists of a filter of jobs, whose words each job is compared with. Thousands of jobs meet
// thousands of words, so that the lists are sorted once, where a request comes in, and searched by
// halves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/request.h"

namespace muster {

/// Sorts each list but that of the jobs, which are looked up by their numbers, and leaves each word
/// there once. Errors: kInvalidArgument: one has more than 65,536.
Status sort_lists(JobFilter& filter);

/// True when the list is empty, which means any, or has the word. Requires: sort_lists. Cost: O(log
/// words).
bool is_listed(const std::vector<std::string>& list, std::string_view word);
bool is_listed(const std::vector<std::uint32_t>& list, std::uint32_t number);
bool is_listed(const std::vector<JobState>& list, JobState state);

}  // namespace muster
