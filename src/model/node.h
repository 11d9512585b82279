// A node: what the configuration says it has, and the condition it is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// A node's pool of one generic resource. Device indices run over all pools of one name in their
/// order.
struct GresPool {
  std::string name;
  std::string type;  ///< empty: untyped
  std::uint32_t count = 0;
  std::vector<std::string> files;  ///< device files, one per device, or empty
  friend bool operator==(const GresPool&, const GresPool&) = default;
};

/// A node as configured. `sockets` counts those of all boards. `cpus` = sockets * cores * threads
/// unless given. Memory in MiB.
struct NodeConfig {
  std::string name;
  std::string host_name;
  std::string address;
  std::uint16_t port = 0;
  std::uint32_t cpus = 1;
  std::uint32_t boards = 1;
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
  std::uint64_t memory_mib = 1;
  std::uint32_t tmp_disk_mib = 0;
  std::uint32_t weight = 1;
  std::vector<GresPool> gres;
  std::vector<std::string> features;
  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

/// Why a node accepts no new work; the bits of `NodeStatus::conditions`. kDown and kDrain stand as
/// long as one of their causes does: what sets or lifts them names a cause, and never them.
namespace node_condition {
inline constexpr std::uint16_t kDown = 1U << 0;           ///< nothing runs there
inline constexpr std::uint16_t kDrain = 1U << 1;          ///< what runs there is the last
inline constexpr std::uint16_t kNotResponding = 1U << 2;  ///< silent for longer than 5 s
inline constexpr std::uint16_t kUnknown = 1U << 3;        ///< never registered
inline constexpr std::uint16_t kInvalid = 1U << 4;        ///< registered with less than configured
inline constexpr std::uint16_t kFail = 1U << 5;           ///< an operator expects it to fail
inline constexpr std::uint16_t kFuture = 1U << 6;
inline constexpr std::uint16_t kDownBySilence = 1U << 7;  ///< for SlurmdTimeout; lifted when heard
inline constexpr std::uint16_t kDownByAbsence = 1U << 8;  ///< slurm.conf does not name it any more
inline constexpr std::uint16_t kDownByOrder = 1U << 9;    ///< an operator's
inline constexpr std::uint16_t kDrainByFault = 1U << 10;  ///< its agent's own; gone with the fault
/// Set by an operator, or by the controller after launches that failed there; an operator lifts it.
inline constexpr std::uint16_t kDrainByOrder = 1U << 11;
inline constexpr std::uint16_t kDownCauses = kDownBySilence | kDownByAbsence | kDownByOrder;
inline constexpr std::uint16_t kDrainCauses = kDrainByFault | kDrainByOrder;
/// The conditions that have a reason.
inline constexpr std::uint16_t kReasoned = kDown | kDrain | kFail | kInvalid;
/// The conditions whose reason only another order replaces.
inline constexpr std::uint16_t kOrders = kDownByOrder | kDrainByOrder | kFail;
inline constexpr std::uint16_t kNoNewWork =
    kDown | kDrain | kNotResponding | kUnknown | kInvalid | kFail | kFuture;
}  // namespace node_condition

/// A node's condition, changed by events alone.
struct NodeStatus {
  std::uint16_t conditions = node_condition::kUnknown;
  std::string reason;  ///< of DOWN, DRAIN, ...
  UserId reason_user;
  TimePoint reason_time;
  std::string boot_id;  ///< the kernel's, from the last registration
  TimePoint boot_time;
  TimePoint agent_start_time;
  std::string version;  ///< of the agent
  std::string arch;
  std::string os;
  std::string comment;
  std::string extra;
  TimePoint last_busy_time;
  std::string machine_id;  ///< of the machine that registered last: the same after a reboot; empty:
                           ///< not known
  std::string fault;       ///< what its agent finds wrong with it, of kDrainByFault
  std::string shortfall;   ///< what it lacks of its configuration, of kInvalid
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

/// A change of conditions: which begin and which end.
struct ConditionChange {
  std::uint16_t set = 0;
  std::uint16_t clear = 0;
};

/// Returns the conditions after a change; kDown and kDrain follow from their causes.
std::uint16_t changed_conditions(std::uint16_t before, ConditionChange change);

/// Returns the reason of those causes that are nobody's order: absence before silence before a
/// fault before a shortfall. Empty: none of them stands.
std::string standing_reason(const NodeStatus& status, std::uint16_t conditions);

/// Returns the reason that a node gets by a change that is no order. Nullopt: the node keeps its
/// own, because that is an order's, or because nothing that has a reason changes. `status`: that
/// before the change, with the fault and the shortfall of after it.
std::optional<std::string> reason_after(const NodeStatus& status, ConditionChange change);

/// Finds the causes for which a node is down or drained, and the texts that belong to them, from
/// the text of its reason: before event rules 3 that text alone said so. Causes that stood before
/// count for nothing.
void find_causes(NodeStatus& status);

}  // namespace muster
