// Operators are root, the user whom the controller runs as, SlurmUser and MusterOperators
// (apps/musterd/main.cc).
#include "access/job_access.h"

namespace muster::access {

bool may_control(const Job& job, const Identity& identity) {
  return identity.is_operator || job.spec->user == identity.user;
}

}  // namespace muster::access
