// The words for nodes and partitions that sinfo and scontrol share.
#pragma once

#include <string>
#include <string_view>

#include "model/view.h"

namespace muster::cli {

/// Returns base state and suffix: "idle", "mix", "drng", "down*".
std::string node_state_code(const NodeView& node);
/// Returns "idle", "mixed", "draining", "down*".
std::string node_state_word(const NodeView& node);
/// Returns "IDLE+DRAIN": every condition, as scontrol shows it.
std::string node_state_flags(const NodeView& node);
/// Returns a number to sort by: Slurm's, conditions above base states.
std::int64_t node_state_number(const NodeView& node);
/// True for "idle", "drain", "alloc", "mixed", ...: a state or a condition that the node has, in
/// any case.
bool node_has_state(const NodeView& node, std::string_view word);
/// True when `word` names a state at all.
bool is_node_state(std::string_view word);

bool is_available(const NodeView& node);
bool is_allocated(const NodeView& node);
/// Returns "gpu:h100:4,nic:1"; empty: none.
std::string node_gres(const NodeView& node);
/// Returns "gpu:h100:3(IDX:0-2)"; empty: none configured.
std::string node_gres_used(const NodeView& node);
/// Returns the load as "0.25"; "N/A" before the node has ever been heard.
std::string node_load(const NodeView& node);
/// Returns a user's name, or its number where it has none.
std::string user_name(std::uint32_t uid);
/// Returns the number, or "UNLIMITED" for zero.
std::string or_unlimited(std::uint64_t number);

}  // namespace muster::cli
