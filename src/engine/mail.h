// A mail that the controller sends about a job.
#pragma once

#include <string>

#include "model/ids.h"

namespace muster {

/// One mail to one user. The text is in the subject, as Slurm's users filter for it; there is no
/// body.
struct Mail {
  std::string to;  ///< --mail-user, else the submitting user's name
  std::string subject;
  JobId job;
  std::string job_name;
  std::string type;  ///< "Began", "Ended", ...
  UserId user = {};  ///< the job's owner, as whom it is sent
  GroupId group = {};
  friend bool operator==(const Mail&, const Mail&) = default;
};

}  // namespace muster
