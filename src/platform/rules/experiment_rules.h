// What follows from an event for its experiment and that experiment's search. Rules alone: nothing
// is changed here.
#pragma once

#include <optional>
#include <string>

#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// The experiment that the event may bring to its end. Nullopt: none.
std::optional<ExperimentId> experiment_of(const EventBody& event, const ClusterState& state);

/// What is to be said of an experiment that completes, when none of its trials ever reported the
/// metric that they are ranked by; empty: one did, or something else was said of it already.
std::string unheard_metric_text(const Experiment& experiment, const ClusterState& state);

/// What the search is told after the event was applied. Nullopt: nothing, or nobody listens any
/// more.
std::optional<SearchAsked> search_asked_by(const EventBody& event, const ClusterState& state);

}  // namespace muster
