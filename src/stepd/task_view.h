// What a step's tasks see of the node's files where it is not as it is: their private folders, what
// is bound for them, the names of the cluster's nodes. The folders' content lies in the spool.
#pragma once

#include "env/posix/mount_view.h"
#include "env/posix/process_runner.h"
#include "stepd/step_program.h"

namespace muster {

/// Makes the private folders and files of the step, and what is missing for its binds, with the
/// user's rights. Errors: kInvalidArgument for a path that cannot be; as open_as; kUnavailable when
/// the spool refuses.
Result<MountView> make_task_view(const LaunchStep& launch, const StepdOptions& options,
                                 const ProcessUser& user);

/// Removes the private folders. Requires: no task uses them.
void remove_task_view(const LaunchStep& launch, const StepdOptions& options);

}  // namespace muster
