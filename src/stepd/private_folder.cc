#include "stepd/private_folder.h"

#include <string>

#include "codec/environment_text.h"

namespace muster {

Status make_private_folder(const LaunchStep& launch, const ProcessUser& user) {
  const std::string run(get_variable(launch.variables, "MUSTER_RUN_DIR").value_or(""));
  const std::string experiment = run.substr(0, run.rfind('/'));
  const std::string above = experiment.substr(0, experiment.rfind('/'));
  if (get_variable(launch.variables, "MUSTER_VISIBILITY") != "private" || above.empty()) return {};
  TRY(make_folders_as(user, above, 0777 & ~launch.job->umask));
  return make_folders_as(user, experiment, 0700);
}

}  // namespace muster
