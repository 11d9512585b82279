#include "api/determined/workspace_ids.h"

#include <gtest/gtest.h>

#include <memory>

namespace muster::api {
namespace {

TEST(WorkspaceIds, FollowTheLabels) {
  Catalog catalog;
  const auto put = [&](DocumentKind kind, std::uint32_t id, std::uint32_t parent,
                       const char* name) {
    Document document;
    document.kind = kind;
    document.id = id;
    document.parent = parent;
    document.name = name;
    catalog.put(std::make_shared<const Document>(document));
  };
  put(DocumentKind::kWorkspace, 1, 0, "w");
  put(DocumentKind::kProject, 1, 1, "p");
  ExperimentLabels labels;
  EXPECT_EQ(workspace_ids_of(catalog, labels).project, kFirstWorkspaceId);
  labels.workspace = "w";
  labels.project = "p";
  EXPECT_EQ(workspace_ids_of(catalog, labels).workspace, 2U);
  EXPECT_EQ(workspace_ids_of(catalog, labels).project, 2U);
  labels.workspace = "gone";
  EXPECT_EQ(workspace_ids_of(catalog, labels).workspace, kFirstWorkspaceId);
}

}  // namespace
}  // namespace muster::api
