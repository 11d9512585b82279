// Says what follows from an event for its experiment and that experiment's search. These are rules
// alone: nothing is changed here.
#pragma once

#include <optional>
#include <string>

#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the experiment that the event may bring to its end. Nullopt: none.
std::optional<ExperimentId> experiment_of(const EventBody& event, const ClusterState& state);

/// Returns what an experiment that completes should say when none of its trials ever reported the
/// metric by which they are ranked; empty: one did, or something else was said of it already.
std::string unheard_metric_text(const Experiment& experiment, const ClusterState& state);

/// Returns the search's input after the event was applied. Nullopt: there is none, or nobody
/// listens any more.
std::optional<SearchAsked> search_asked_by(const EventBody& event, const ClusterState& state);

}  // namespace muster
