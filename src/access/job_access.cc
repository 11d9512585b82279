#include "access/job_access.h"

namespace muster::access {

bool may_control(const Job& job, const Identity& identity) {
  return identity.is_operator || job.spec->user == identity.user;
}

}  // namespace muster::access
