// Findings about configurations: where, which key, what is wrong, and what to do. Refused and
// wrong end a start; without effect and old are only said.

#include "slurm/conf/conf_finding.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {

bool is_fatal(const ConfFinding& finding) {
  // A daemon that started anyway would do something other than the file says.
  return finding.kind == ConfFindingKind::kWrong || finding.kind == ConfFindingKind::kRefused;
}

std::string conf_finding_text(const ConfFinding& finding) {
  const std::string remedy = finding.remedy.empty() ? "" : ": " + finding.remedy;
  return fmt::format("{}: {}{}", finding.place, finding.text, remedy);
}

std::string_view conf_finding_word(ConfFindingKind kind) {
  switch (kind) {
    case ConfFindingKind::kWrong: return "wrong";
    case ConfFindingKind::kRefused: return "refused";
    case ConfFindingKind::kNoEffect: return "without effect";
    case ConfFindingKind::kOld: return "old";
  }
  return "unknown";
}

// The first of them: what follows from it would only confuse.
Status first_failure(const std::vector<ConfFinding>& findings) {
  const auto found = std::ranges::find_if(findings, is_fatal);
  if (found == findings.end()) return {};
  const bool is_refusal = found->kind == ConfFindingKind::kRefused;
  // Refused is Muster's to say, wrong is the file's.
  return fail(is_refusal ? ErrorCode::kUnimplemented : ErrorCode::kInvalidArgument,
              fmt::format("{}: {}", found->place, found->text), found->remedy);
}

// The text of an error becomes a finding, and its code decides which of the two.
ConfFinding failure_at(std::string place, std::string_view key, const Error& error) {
  const bool is_refusal = error.code == ErrorCode::kUnimplemented;
  return {is_refusal ? ConfFindingKind::kRefused : ConfFindingKind::kWrong, std::move(place),
          std::string(key), error.message, error.detail};
}

}  // namespace muster
