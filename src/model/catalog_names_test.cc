#include "model/catalog_names.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CatalogNames, AUseNamesItsCheckpointWithOrWithoutAVersion) {
  EXPECT_EQ(used_checkpoint("0b7e-1"), "0b7e-1");
  EXPECT_EQ(used_checkpoint("0b7e-1/3/12"), "0b7e-1");
  EXPECT_EQ(used_checkpoint(""), "");
}

TEST(CatalogNames, WorkspacesAndProjectsCountAfterTheFirstOfEach) {
  EXPECT_EQ(shown_id(DocumentKind::kWorkspace, 1), 2U);
  EXPECT_EQ(shown_id(DocumentKind::kProject, 1), 2U);
  for (const DocumentKind kind : {DocumentKind::kModel, DocumentKind::kModelVersion,
                                  DocumentKind::kTemplate, DocumentKind::kRunMetadata})
    EXPECT_EQ(shown_id(kind, 7), 7U);
}

TEST(CatalogNames, EachKindHasAName) {
  EXPECT_EQ(kind_name(DocumentKind::kModelVersion), "model version");
  for (int i = 0; i <= static_cast<int>(DocumentKind::kCheckpointUse); ++i)
    EXPECT_FALSE(kind_name(static_cast<DocumentKind>(i)).empty()) << i;
}

}  // namespace
}  // namespace muster
