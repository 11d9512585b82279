// Bounds the texts of jobs and steps, and what may stand in them. Every replica stores every text,
// and what stands in lists is one line in other users' terminals and programs.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/job_spec.h"
#include "model/step.h"

namespace muster::admission {

/// True for texts of one line without control characters (tabs may be). Others (paths, commands)
/// are shown with theirs escaped.
bool is_one_line(std::string_view text);

/// Checks a job's texts, at submission and after every edit. Errors: kInvalidArgument, naming the
/// text, what is wrong with it and what is allowed.
Status check_texts(const JobSpec& spec);
Status check_texts(const StepSpec& spec);

}  // namespace muster::admission
