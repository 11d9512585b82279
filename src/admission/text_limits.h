// Bounds the texts that users give to what they make. All of them lie in the controller's memory
// and in its journal, and names and labels are printed in other users' terminals.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/experiment.h"

namespace muster::admission {

/// Checks that a name is one line of at most 512 bytes, without control characters. Errors:
/// kInvalidArgument, which calls it `what`.
Status check_name(std::string_view what, std::string_view name);

/// Checks that a text has at most 256 KiB. Errors: kInvalidArgument, which calls it `what`.
Status check_text(std::string_view what, std::string_view text);

/// Checks the labels. Errors: kInvalidArgument; also more than 256 labels.
Status check_labels(const ExperimentLabels& labels);

}  // namespace muster::admission
