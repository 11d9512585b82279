// Makes the folder of an experiment, which is its owner's own, and that of a private one his alone
// from the beginning.
#pragma once

#include "base/result.h"
#include "env/posix/process_runner.h"
#include "model/agent_message.h"

namespace muster {

/// Makes the folder that holds the run's own (MUSTER_RUN_DIR), unless it is there already; that of
/// a private experiment (MUSTER_VISIBILITY) closed, because who once stands in a folder stays there
/// when it is closed later. Those above it are made open: others' experiments lie there too. Does
/// nothing for what is no trial's run. Errors: as make_folders_as; kPermissionDenied: it is
/// somebody else's, who could change what runs there.
Status make_experiment_folder(const LaunchStep& launch, const ProcessUser& user);

}  // namespace muster
