// Ids of workspaces and projects as Determined has them: the first of each is 1, the documents'
// own ids follow. An experiment names both by text.

#include "api/determined/workspace_ids.h"

#include <fmt/format.h>

#include "api/http/fields.h"

namespace muster::api {

WorkspaceIds workspace_ids_of(const Catalog& catalog, const ExperimentLabels& labels) {
  // Without a workspace it is the first, which is no document.
  const DocumentRef workspace = labels.workspace.empty()
                                    ? nullptr
                                    : catalog.find(DocumentKind::kWorkspace, 0, labels.workspace);
  if (workspace == nullptr) return {};
  const DocumentRef project = catalog.find(DocumentKind::kProject, workspace->id, labels.project);
  if (project == nullptr) return {};  // the first project is in the first workspace
  return {entry_id(workspace->id), entry_id(project->id),
          workspace->is_archived || project->is_archived};
}

Status check_no_workspace(const Json& body, std::string_view what) {
  // 0 and 1 both mean the first.
  const std::int64_t id = whole_field(body, "workspaceId").value_or(0);  // 0: of none
  const bool is_first =
      (id == 0 || id == kFirstWorkspaceId) &&
      (!is_given(body, "workspaceName") || text_field(body, "workspaceName") == kUncategorized);
  if (is_first) return {};
  return fail(ErrorCode::kUnimplemented, fmt::format("{} belong to no workspace", what),
              "leave workspaceId and workspaceName out");
}

}  // namespace muster::api
