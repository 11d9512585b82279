#include "api/places.h"

namespace muster::api {

Place place_of(const Catalog& catalog, const ExperimentLabels& labels) {
  Place place;
  const DocumentRef workspace = labels.workspace.empty() ? nullptr : catalog.find(DocumentKind::kWorkspace, 0, labels.workspace);
  if (workspace == nullptr) return place;
  place.workspace = place_id(workspace->id);
  const DocumentRef project = catalog.find(DocumentKind::kProject, workspace->id, labels.project);
  if (project != nullptr) place.project = place_id(project->id);
  return place;
}

}  // namespace muster::api
