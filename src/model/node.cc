// Down and drained are conclusions: each follows from its causes (silence, absence, an order; a
// fault, an order). A node returns only when the last cause is gone, and reasons are rewritten
// only where no person gave one.

#include "model/node.h"

#include <string_view>

namespace muster {
namespace {

using namespace node_condition;

// Slurm's text for a node whose slurmd does not answer.
constexpr std::string_view kSilenceText = "Not responding";
// These texts are also how find_causes reads old journals: they cannot change.
constexpr std::string_view kAbsenceText = "not in slurm.conf any more";
constexpr std::string_view kFaultBegins = "Node fault: ";

bool has(std::uint16_t conditions, std::uint16_t any) { return (conditions & any) != 0; }

std::uint16_t with(std::uint16_t conditions, std::uint16_t bits, bool is_set) {
  return static_cast<std::uint16_t>(is_set ? conditions | bits : conditions & ~bits);
}

}  // namespace

std::uint16_t changed_conditions(std::uint16_t before, ConditionChange change) {
  // Clears first: a bit in both is set.
  const auto causes = static_cast<std::uint16_t>((before & ~change.clear) | change.set);
  const std::uint16_t down = with(causes, kDown, has(causes, kDownCauses));
  return with(down, kDrain, has(causes, kDrainCauses));
}

std::string standing_reason(const NodeStatus& status, std::uint16_t conditions) {
  if (has(conditions, kDownByAbsence)) return std::string(kAbsenceText);
  if (has(conditions, kDownBySilence)) return std::string(kSilenceText);
  if (has(conditions, kDrainByFault)) return std::string(kFaultBegins) + status.fault;
  return has(conditions, kInvalid) ? status.shortfall : "";
}

std::optional<std::string> reason_after(const NodeStatus& status, ConditionChange change) {
  const std::uint16_t after = changed_conditions(status.conditions, change);
  const auto changed = static_cast<std::uint16_t>(status.conditions ^ after);
  const bool is_new = has(changed, kReasoned | kDownCauses | kDrainCauses);
  if (has(after, kOrders) || !is_new) return std::nullopt;
  return standing_reason(status, after);
}

void find_causes(NodeStatus& status) {
  const bool is_down = has(status.conditions, kDown);
  const bool is_drained = has(status.conditions, kDrain);
  const std::string_view reason = status.reason;
  const bool is_silent = is_down && reason == kSilenceText;
  const bool is_absent = is_down && reason == kAbsenceText;
  const bool is_at_fault = is_drained && reason.starts_with(kFaultBegins);
  std::uint16_t found = with(status.conditions, kDownBySilence, is_silent);
  found = with(found, kDownByAbsence, is_absent);
  // A reason that is none of ours was written by a person.
  found = with(found, kDownByOrder, is_down && !is_silent && !is_absent);
  found = with(found, kDrainByFault, is_at_fault);
  found = with(found, kDrainByOrder, is_drained && !is_at_fault);
  status.conditions = found;
  status.fault = is_at_fault ? reason.substr(kFaultBegins.size()) : std::string_view();
  const bool is_shortfalls = has(found, kInvalid) && !has(found, kDown | kDrain | kFail);
  status.shortfall = is_shortfalls ? reason : std::string_view();
}

}  // namespace muster
