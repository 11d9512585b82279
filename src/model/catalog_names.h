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

/// Of the first workspace and its project, where stands what names none. It always is, and is no
/// document.
inline constexpr const char* kUncategorized = "Uncategorized";

/// The number that users see: workspaces and projects count from after the first of each, which
/// always is.
constexpr std::uint32_t shown_id(DocumentKind kind, std::uint32_t id) {
  return kind == DocumentKind::kWorkspace || kind == DocumentKind::kProject ? id + 1 : id;
}

}  // namespace muster
