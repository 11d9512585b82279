// How long texts may be that users give to what they make. All of them lie in the controller's
// memory and in its journal, and names and labels are printed in other users' terminals.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/experiment.h"

namespace muster::admission {

/// One line of at most 512 bytes, without control characters. Errors: kInvalidArgument, which calls
/// it `what`.
Status check_name(std::string_view what, std::string_view name);

/// At most 256 KiB. Errors: kInvalidArgument, which calls it `what`.
Status check_text(std::string_view what, std::string_view text);

/// Errors: kInvalidArgument; also more than 256 labels.
Status check_labels(const ExperimentLabels& labels);

}  // namespace muster::admission
