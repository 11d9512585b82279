// States of nodes in the three forms of Slurm: sinfo's short codes, its long words, and scontrol's
// base state with flags. Conditions are Muster's own bits; Slurm's order of precedence among them
// is here.

#include "cli/lib/node_text.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>

#include "slurm/array_text.h"
#include "text/words.h"

namespace muster::cli {
namespace {

struct NodeState {
  std::string_view code;
  std::string_view word;
};

bool has(const NodeView& node, std::uint16_t condition) {
  return (node.status.conditions & condition) != 0;
}
bool is_full(const NodeView& node) { return node.allocated_cpus >= node.config.cpus; }

NodeState busy_state(const NodeView& node) {
  if (!is_allocated(node)) {
    if (node.is_completing) return {"comp", "completing"};
    return node.is_planned ? NodeState{"plnd", "planned"} : NodeState{"idle", "idle"};
  }
  return is_full(node) ? NodeState{"alloc", "allocated"} : NodeState{"mix", "mixed"};
}

NodeState node_state(const NodeView& node) {
  // The order is the precedence: a drained node that is down shows as drained, as in Slurm.
  if (has(node, node_condition::kFuture)) return {"futr", "future"};
  if (has(node, node_condition::kInvalid)) return {"inval", "inval"};
  const bool is_busy = is_allocated(node) || node.is_completing;
  if (has(node, node_condition::kDrain)) {
    // Draining while something runs, drained once it has gone.
    return is_busy && !has(node, node_condition::kDown) ? NodeState{"drng", "draining"}
                                                        : NodeState{"drain", "drained"};
  }
  if (has(node, node_condition::kFail))
    return is_busy ? NodeState{"failg", "failing"} : NodeState{"fail", "fail"};
  if (has(node, node_condition::kDown)) return {"down", "down"};
  if (has(node, node_condition::kUnknown)) return {"unk", "unknown"};
  return busy_state(node);
}

std::string suffix(const NodeView& node) {
  // * says that the node does not answer; - that it is planned for a job while others run. Source:
  // sinfo(1), NODE STATE CODES.
  if (has(node, node_condition::kNotResponding | node_condition::kUnknown)) return "*";
  return node.is_planned && is_allocated(node) && !is_full(node) ? "-" : "";
}

/// Conditions and their names in -t and in State=.
struct ConditionWord {
  std::uint16_t condition;
  std::string_view flag;
  std::string_view filter;
};
constexpr ConditionWord kConditions[] = {
    {node_condition::kDrain, "DRAIN", "drain"},
    {node_condition::kFail, "FAIL", "fail"},
    {node_condition::kInvalid, "INVALID_REG", "invalid_reg"},
    {node_condition::kNotResponding, "NOT_RESPONDING", "no_respond"},
};
constexpr std::string_view kStates[] = {
    "all",     "alloc",      "allocated",    "comp",          "completing",  "down",
    "drain",   "drained",    "draining",     "drng",          "fail",        "failing",
    "failg",   "future",     "futr",         "idle",          "inval",       "invalid_reg",
    "maint",   "mix",        "mixed",        "no_respond",    "npc",         "perfctrs",
    "plnd",    "planned",    "resv",         "reserved",      "reboot",      "unk",
    "unknown", "power_down", "powered_down", "powering_down", "powering_up", "power_up",
    "boot",    "block",      "blocked",      "cloud",         "dynamic",     "error",
    "mixed-"};

}  // namespace

bool is_available(const NodeView& node) {
  return (node.status.conditions & node_condition::kNoNewWork) == 0;
}
bool is_allocated(const NodeView& node) { return node.allocated_cpus > 0; }

std::string node_state_code(const NodeView& node) {
  return std::string(node_state(node).code) + suffix(node);
}
std::string node_state_word(const NodeView& node) {
  return std::string(node_state(node).word) + suffix(node);
}

// scontrol's State=: a base state and flags behind plus signs, rather than one word.
std::string node_state_flags(const NodeView& node) {
  std::string text = has(node, node_condition::kDown)      ? "DOWN"
                     : has(node, node_condition::kFuture)  ? "FUTURE"
                     : has(node, node_condition::kUnknown) ? "UNKNOWN"
                     : !is_allocated(node)                 ? "IDLE"
                     : is_full(node)                       ? "ALLOCATED"
                                                           : "MIXED";
  if (node.is_completing) text += "+COMPLETING";
  for (const ConditionWord& known : kConditions) {
    if (has(node, known.condition)) text += fmt::format("+{}", known.flag);
  }
  if (node.is_planned && !is_full(node)) text += "+PLANNED";
  return text;
}

// Numbers of enum node_states and its flags in slurm.h, as --json and sort orders use them.
std::int64_t node_state_number(const NodeView& node) {
  std::int64_t number = has(node, node_condition::kDown) ? 1
                        : !is_allocated(node)            ? 2
                        : is_full(node)                  ? 3
                                                         : 5;
  if (has(node, node_condition::kDrain)) number += 0x200;
  if (has(node, node_condition::kNotResponding | node_condition::kUnknown)) number += 0x800;
  if (node.is_completing) number += 0x400;
  return number;
}

bool is_node_state(std::string_view word) {
  return std::ranges::any_of(
      kStates, [&](std::string_view known) { return equal_ignoring_case(known, word); });
}

bool node_has_state(const NodeView& node, std::string_view word) {
  const NodeState words = node_state(node);
  if (equal_ignoring_case(word, "all") || equal_ignoring_case(word, words.code) ||
      equal_ignoring_case(word, words.word))
    return true;
  for (const ConditionWord& known : kConditions) {
    if (equal_ignoring_case(word, known.filter) && has(node, known.condition)) return true;
  }
  // A planned node is idle to who asks for idle ones.
  if (equal_ignoring_case(word, "idle") && words.code == "plnd") return true;
  // Completing is a flag as well: an allocated node may have it.
  const bool wants_completing =
      equal_ignoring_case(word, "comp") || equal_ignoring_case(word, "completing");
  return (wants_completing && node.is_completing) ||
         (equal_ignoring_case(word, "down") && has(node, node_condition::kDown));
}

std::string node_gres(const NodeView& node) {
  std::string text;
  for (const GresPool& pool : node.config.gres) {
    text += fmt::format("{}{}{}{}:{}", text.empty() ? "" : ",", pool.name,
                        pool.type.empty() ? "" : ":", pool.type, pool.count);
  }
  return text;
}

std::string node_gres_used(const NodeView& node) {
  std::string text;
  for (const GresGrant& used : node.allocated_gres) {
    // Devices without numbers have no indices to show.
    const std::string indices = used.devices.empty() ? "N/A" : array_indices_text(used.devices);
    text += fmt::format("{}{}:{}:{}(IDX:{})", text.empty() ? "" : ",", used.name,
                        used.type.empty() ? "(null)" : used.type, used.devices.count(), indices);
  }
  return text;
}

std::string node_load(const NodeView& node) {
  // No agent has reported yet.
  if (!node.last_contact.is_set()) return "N/A";
  return fmt::format("{}.{:02}", node.load_hundredths / 100, node.load_hundredths % 100);
}

std::string user_name(std::uint32_t uid) {
  const passwd* user = ::getpwuid(uid);
  // A user that this machine does not know shows by number.
  return user != nullptr ? user->pw_name : fmt::format("{}", uid);
}

std::string or_unlimited(std::uint64_t number) {
  return number == 0 ? "UNLIMITED" : fmt::format("{}", number);
}

}  // namespace muster::cli
