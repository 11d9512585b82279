// What reading a configuration brings to light, one finding for each thing that an operator should
// know of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

enum class ConfFindingKind : std::uint8_t {
  kWrong = 0,     ///< a mistake: no daemon starts with it
  kRefused = 1,   ///< asks for what Muster does not do: no daemon starts with it
  kNoEffect = 2,  ///< accepted, and nothing follows from it
  kOld = 3,       ///< followed, by a spelling that has been replaced
};

struct ConfFinding {
  ConfFindingKind kind = ConfFindingKind::kWrong;
  std::string place;   ///< "FILE:LINE"; "FILE" for what is missing in it
  std::string key;     ///< empty where the line is no line of keys
  std::string text;    ///< what was found: "Prolog=/x is not supported"
  std::string remedy;  ///< why, and what to do
  friend bool operator==(const ConfFinding&, const ConfFinding&) = default;
};

/// True for a finding that keeps a daemon from starting.
bool is_fatal(const ConfFinding& finding);
/// Returns "PLACE: TEXT: REMEDY".
std::string conf_finding_text(const ConfFinding& finding);
/// Returns "wrong", "refused", "without effect", "old".
std::string_view conf_finding_word(ConfFindingKind kind);

/// Returns the first finding that is fatal, as an error: kUnimplemented for a refusal, else
/// kInvalidArgument.
Status first_failure(const std::vector<ConfFinding>& findings);
/// Returns the finding that an error about `key` makes.
ConfFinding failure_at(std::string place, std::string_view key, const Error& error);

}  // namespace muster
