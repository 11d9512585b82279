// What users call the entries of the catalog.
#pragma once

#include <string_view>

#include "model/catalog.h"

namespace muster {

constexpr std::string_view kind_name(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kModel: return "model";
    case DocumentKind::kModelVersion: return "model version";
    case DocumentKind::kWorkspace: return "workspace";
    case DocumentKind::kProject: return "project";
    case DocumentKind::kTemplate: return "template";
    case DocumentKind::kRunMetadata: return "metadata";
    case DocumentKind::kCheckpointUse: return "use of a checkpoint";
  }
  return "";
}

/// A use is named by the checkpoint's uuid, with "/MODEL/VERSION" behind it where a version of a
/// model (its number, and that of the version) is what the trial works with.
constexpr std::string_view used_checkpoint(std::string_view use_name) {
  return use_name.substr(0, use_name.find('/'));
}

/// The name of the first workspace and of its project, in which everything stands that names none.
/// Both always exist, and neither is a document.
inline constexpr const char* kUncategorized = "Uncategorized";

/// Returns the number that users see. Workspaces and projects count from 2, because the first of
/// each always exists and is no document.
constexpr std::uint32_t shown_id(DocumentKind kind, std::uint32_t id) {
  return kind == DocumentKind::kWorkspace || kind == DocumentKind::kProject ? id + 1 : id;
}

}  // namespace muster
