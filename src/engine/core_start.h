// What the core needs at a start beside the state.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "model/node.h"

namespace muster {

struct CoreStart {
  std::string new_cluster_id = "new";  ///< for a state that has none yet
  Duration clock_step = {};            ///< a jump of the wall clock that is followed; zero: none
  JobId job_floor = {};  ///< ids up to it were given by a state that was lost; 0: none
  JobId suspect = {};    ///< over which the last runs of the controller died: to be held; 0: none
  /// Conditions and reasons of nodes that the state does not know yet, as configured, by name.
  std::map<std::string, NodeStatus> first_status = {};
};

}  // namespace muster
