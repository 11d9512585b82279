// How long the texts of jobs and steps may be, and what may stand in them. Every replica keeps
// every text, and what stands in lists is one line in other users' terminals and programs.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/job_spec.h"
#include "model/step.h"

namespace muster::admission {

/// True for texts of one line without control characters (tabs may be). Others (paths, commands)
/// are shown with theirs escaped.
bool is_one_line(std::string_view text);

/// Asked at submission and after every edit. Errors: kInvalidArgument, naming the text, what is
/// wrong with it and what is allowed.
Status check_texts(const JobSpec& spec);
Status check_texts(const StepSpec& spec);

}  // namespace muster::admission
