// The ids of workspaces and projects. Experiments name theirs; those that name none, or one that is
// not there, belong to the first of each, which always exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/catalog_names.h"
#include "model/experiment.h"
#include "model/json.h"
#include "state/catalog.h"

namespace muster::api {

inline constexpr std::uint32_t kFirstWorkspaceId = 1;

struct WorkspaceIds {
  std::uint32_t workspace = kFirstWorkspaceId;
  std::uint32_t project = kFirstWorkspaceId;
  bool is_archived = false;  ///< one of them is
};
/// Refuses a workspace for things that belong to none. Errors: kUnimplemented: the body names
/// another than the first, by workspaceId or workspaceName.
Status check_no_workspace(const Json& body, std::string_view what);

WorkspaceIds workspace_ids_of(const Catalog& catalog, const ExperimentLabels& labels);

/// Returns an id as HTTP has it. The ids of documents come after that of the first workspace or
/// project, which is no document.
constexpr std::uint32_t entry_id(std::uint32_t document) {
  return shown_id(DocumentKind::kWorkspace, document);
}
/// Returns the document of an id. Nullopt: it is the first, which is no document.
constexpr std::optional<std::uint32_t> document_of(std::uint32_t place) {
  return place <= kFirstWorkspaceId ? std::nullopt : std::optional(place - 1);
}

}  // namespace muster::api
