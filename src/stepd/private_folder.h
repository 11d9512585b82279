// The folder of a private experiment: its owner's alone from the beginning.
#pragma once

#include "base/result.h"
#include "env/posix/process_runner.h"
#include "model/agent_message.h"

namespace muster {

/// Makes the folder that holds the run's own, closed, unless it is there already: who once stands
/// in a folder stays there when it is closed later. Those above it are made open, because others'
/// experiments lie there too. Nothing for what is no private trial's run (MUSTER_VISIBILITY,
/// MUSTER_RUN_DIR). Errors: as make_folders_as.
Status make_private_folder(const LaunchStep& launch, const ProcessUser& user);

}  // namespace muster
