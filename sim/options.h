// What a simulation does, drawn from its seed: which faults happen how often, how large the cluster
// is, what is asked of it. A recipe names a family of such draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"

namespace muster::sim {

struct Options {
  std::uint64_t seed = 0;
  std::string recipe;
  // The cluster.
  std::uint32_t nodes = 4;
  std::uint32_t cpus = 8;
  std::uint32_t gpus = 2;
  std::uint32_t threads_per_core = 1;
  std::uint8_t return_to_service = 2;
  // The work: so many client requests, then faults stop and everything must end.
  std::uint32_t requests = 300;
  Duration request_gap = Duration::milliseconds(200);  ///< mean
  Duration run_time = Duration::seconds(5);            ///< mean of a task
  bool is_only_batch = false;                          ///< one-CPU batch jobs and nothing else
  bool has_experiments = false;                        ///< searches beside the jobs
  bool is_checked_deeply = true;  ///< ledger and hashes at every opportunity; false: at the end
  // Faults; mean time between two, zero: never.
  Duration controller_crash;
  Duration agent_crash;
  Duration spool_loss;      ///< an agent ends, and its spool is emptied or damaged
  Duration spool_put_back;  ///< an agent ends, and an older copy of its spool takes the place of
                            ///< the present one
  Duration supervisor_crash;
  Duration supervisor_stop;  ///< one stands still for up to a minute
  Duration node_crash;
  Duration disk_full;
  Duration disk_fault;  ///< of any kind, at any call of the controller's stores, a loss of power
                        ///< among them
  Duration back_up;     ///< a copy of the state folder is taken
  Duration put_back;    ///< an older copy, or an empty folder, takes the place of the state
  Duration node_disk_full;  ///< a node's: for a while nothing can be started there
  Duration stranger;        ///< a second agent takes itself for a node's
  Duration link_drop;
  Duration partition;
  double duplicate = 0;      ///< chance that a message between controller and agent comes twice
  double client_loss = 0;    ///< chance that a request or its reply is lost: the client asks again
  double slow_spawn = 0;     ///< chance that a supervisor takes seconds to come up
  double spool_refusal = 0;  ///< chance that launches are refused: it is full, or too slow
  double blob_failure = 0;   ///< chance that a script or an environment cannot be read
  double slow_disk = 0;      ///< chance that a flush takes seconds
  double slow_history = 0;   ///< chance that history stays behind for another while
  Duration controller_stop;  ///< stands still for up to twenty seconds
  Duration agent_stop;       ///< stands still for up to a minute
  Duration clock_jump;       ///< of the controller's wall clock
  Duration node_clock_jump;  ///< of a node's
  double task_ignores_term = 0.1;
  double task_fails = 0.1;
  bool is_traced = false;  ///< every durable event and every task on standard error
  bool is_on_disk =
      true;  ///< the production stores on a pretended disk; false: in memory, which is faster
  bool is_checkpointed = true;
};

/// The names of all recipes.
std::vector<std::string> recipe_names();
/// The options of a seed. Errors: kNotFound for an unknown recipe.
Result<Options> options_of(const std::string& recipe, std::uint64_t seed);

}  // namespace muster::sim
