#include "state/event_applier.h"

#include <algorithm>

#include "base/check.h"

namespace muster {

void EventApplier::operator()(const EpochStarted& event) {
  // An event of an older leader cannot come after a newer leader's.
  CHECK(event.epoch > state.epoch_, "epoch {} after {}", event.epoch.value(), state.epoch_.value());
  state.epoch_ = event.epoch;
  const bool had_causes = has_causes();
  state.rules_ = event.rules;
  // Nodes get their causes at the event that brings the rule, so that every replay does it at the
  // same place.
  if (!had_causes && has_causes()) find_all_causes();
  if (event.cluster_id.empty()) return;
  // The id is given once, to the first controller of a new state.
  CHECK(state.cluster_id_.empty(), "cluster {} would become {}", state.cluster_id_,
        event.cluster_id);
  state.cluster_id_ = event.cluster_id;
}

void EventApplier::operator()(const JobIdsReserved& event) {
  // Forward alone.
  CHECK(event.next >= state.next_job_, "job id {} was given before", event.next.value());
  state.next_job_ = event.next;
}

void EventApplier::operator()(const ConfigApplied& event) {
  state.settings_ = event.config->settings;
  state.partitions_ = event.config->partitions;
  state.nodes_.configure(event.config->nodes);
  // FirstJobId is for a new state alone: later it would give ids a second time. Source:
  // slurm.conf(5).
  if (!state.is_configured_) state.next_job_ = JobId(state.settings_.first_job_id);
  state.is_configured_ = true;
  state.rehash_config();
}

bool EventApplier::has_causes() const {
  constexpr std::uint32_t kCauses = 3;
  // Rule 3: conditions carry their causes as bits.
  return state.rules_ >= kCauses;
}

void EventApplier::find_all_causes() {
  for (std::uint32_t i = 0; i < state.nodes_.all().size(); ++i) {
    find_causes(state.nodes_.at(NodeIndex(i)).status);
    state.nodes_.rehash(NodeIndex(i));
  }
}

void EventApplier::change_conditions(NodeIndex index, ConditionChange change) {
  std::uint16_t& conditions = state.nodes_.at(index).status.conditions;
  conditions = has_causes() ? changed_conditions(conditions, change)
                            // By earlier rules bits were set and cleared as they came.
                            : static_cast<std::uint16_t>((conditions & ~change.clear) | change.set);
}

void EventApplier::operator()(const NodeRegistered& event) {
  NodeStatus& status = state.nodes_.at(event.node).status;
  status.boot_id = event.boot_id;
  status.boot_time = event.boot_time;
  status.agent_start_time = event.agent_start_time;
  status.version = event.version;
  status.arch = event.arch;
  status.os = event.os;
  status.machine_id = event.machine_id;
  status.shortfall = event.shortfall;
  change_conditions(event.node, {event.set_conditions, event.clear_conditions});
  const std::uint16_t reasoned =
      has_causes() ? node_condition::kReasoned : node_condition::kNoNewWork;
  if (!event.reason.empty()) {
    status.reason = event.reason;
    status.reason_time = now;
    if (has_causes()) status.reason_user = UserId();
    // Nothing is left that has a reason: the text of the last one goes.
  } else if ((status.conditions & reasoned) == 0) {
    status.reason.clear();
    status.reason_time = TimePoint::unset();
  }
  state.nodes_.rehash(event.node);
}

void EventApplier::operator()(const NodeChanged& event) {
  Node& node = state.nodes_.at(event.node);
  change_conditions(event.node, {event.set_conditions, event.clear_conditions});
  if (event.reason) {
    node.status.reason = *event.reason;
    node.status.reason_user = event.user;
    node.status.reason_time = event.reason->empty() ? TimePoint::unset() : now;
  }
  if (event.weight) node.config.weight = *event.weight;
  if (event.features) node.config.features = *event.features;
  if (event.weight || event.features) state.nodes_.rehash_config(event.node);
  if (event.comment) node.status.comment = *event.comment;
  if (event.extra) node.status.extra = *event.extra;
  if (event.fault) node.status.fault = *event.fault;
  state.nodes_.rehash(event.node);
}

void EventApplier::operator()(const PartitionChanged& event) {
  const std::size_t index = event.partition.value();
  CHECK(index <= state.partitions_.size(), "no partition {}", index);
  // A new partition comes right after the last: jobs refer to them by index.
  if (index == state.partitions_.size()) state.partitions_.emplace_back();
  state.partitions_[index] = event.config;
  state.rehash_config();
}

void EventApplier::operator()(const RequestAnswered& event) {
  state.answers_.add(event.request, Answer{event.user, now, event.replies});
}

}  // namespace muster
