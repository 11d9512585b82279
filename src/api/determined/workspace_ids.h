// Workspaces and projects: where experiments stand. Experiments name theirs; those that name none,
// or one that is not there, stand in the first of each, which always is.
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
/// For what belongs to no workspace, which is the first. Errors: kUnimplemented: the body names
/// another one, by workspaceId or workspaceName.
Status check_no_workspace(const Json& body, std::string_view what);

WorkspaceIds workspace_ids_of(const Catalog& catalog, const ExperimentLabels& labels);

/// Ids as HTTP has them: those of documents, after the first place.
constexpr std::uint32_t entry_id(std::uint32_t document) {
  return shown_id(DocumentKind::kWorkspace, document);
}
/// Nullopt: the first place, which is no document.
constexpr std::optional<std::uint32_t> document_of(std::uint32_t place) {
  return place <= kFirstWorkspaceId ? std::nullopt : std::optional(place - 1);
}

}  // namespace muster::api
