// Says what a line that matched a log policy means for its trial. These are rules alone: nothing is
// changed here.
//
// A match is known late: the run that wrote the line may go on, may have ended, or may have been
// followed by others.
//   exclude_node     the trial's job does without the node from its next start on; a run that goes
//   on is left alone cancel_retries   a failure of that run is the trial's end: when it fails, or
//   now, if it has failed and was tried again
// Source: Determined 0.38, log_policies; of retries its order of checks at the end of an
// allocation.
#pragma once

#include <cstdint>
#include <string>

#include "model/log_policy.h"
#include "state/cluster_state.h"

namespace muster {

/// True when the trial has the match. A run matches a policy once: what other lines of it say
/// changes nothing.
bool is_known(const Trial& trial, const LogMatch& match);

/// Returns why a failure of the run is the trial's end, in words; empty: it may be tried again.
std::string retry_refusal(const Trial& trial, std::uint32_t run);

/// True when a match excluded a node from the trial.
bool has_excluded_nodes(const Trial& trial);
/// Returns why the trial ends that no node is left for, in words. `found`: what is wrong with the
/// others.
std::string no_node_left(const Trial& trial, const Error& found);

/// True when the job waits for a start, or goes back to the queue as soon as its run is over.
bool will_start_again(const Job& job);

/// What a new match changes at once.
struct LogConsequence {
  JobSpecRef spec;  ///< of the trial's job from now on; null: as it was
  std::string end;  ///< why the trial ends now, as a failure; empty: it does not
};
/// Returns the consequence of a match. Requires: the trial does not know it.
LogConsequence consequence_of(const ClusterState& state, const Trial& trial, const LogMatch& match);

}  // namespace muster
