// A node: what the configuration says it has, and the condition it is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// A node's pool of one generic resource. Device indices run over all pools of one name in their order.
struct GresPool {
  std::string name;
  std::string type;                 ///< empty: untyped
  std::uint32_t count = 0;
  std::vector<std::string> files;   ///< device files, one per device, or empty
  friend bool operator==(const GresPool&, const GresPool&) = default;
};

/// A node as configured. `cpus` = boards * sockets * cores * threads unless given. Memory in MiB.
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

/// Why a node takes no new work; the bits of `NodeStatus::conditions`.
namespace node_condition {
inline constexpr std::uint16_t kDown = 1U << 0;           ///< nothing runs there
inline constexpr std::uint16_t kDrain = 1U << 1;          ///< an operator asked for no new work
inline constexpr std::uint16_t kNotResponding = 1U << 2;  ///< silent for longer than 5 s
inline constexpr std::uint16_t kUnknown = 1U << 3;        ///< never registered
inline constexpr std::uint16_t kInvalid = 1U << 4;        ///< registered with less than configured
inline constexpr std::uint16_t kFail = 1U << 5;           ///< expected to fail
inline constexpr std::uint16_t kFuture = 1U << 6;
inline constexpr std::uint16_t kNoNewWork =
    kDown | kDrain | kNotResponding | kUnknown | kInvalid | kFail | kFuture;
}  // namespace node_condition

/// A node's condition, changed by events alone.
struct NodeStatus {
  std::uint16_t conditions = node_condition::kUnknown;
  std::string reason;         ///< of DOWN, DRAIN, ...
  UserId reason_user;
  TimePoint reason_time;
  std::string boot_id;        ///< the kernel's, from the last registration
  TimePoint boot_time;
  TimePoint agent_start_time;
  std::string version;        ///< of the agent
  std::string arch;
  std::string os;
  std::string comment;
  std::string extra;
  TimePoint last_busy_time;
  std::string machine_id;     ///< of the machine that registered last: the same after a reboot; empty: not known
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

}  // namespace muster
