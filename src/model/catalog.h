// What people keep beside experiments: models and their versions, workspaces and projects,
// templates, notes of runs, and which trials work with which checkpoints. The controller stores and
// numbers them; what their bodies hold is the business of those who write and read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// Numbers are part of journal and wire.
enum class DocumentKind : std::uint8_t {
  kModel = 0,
  kModelVersion = 1,  ///< parent: its model; number: its version, from 1
  kWorkspace = 2,
  kProject = 3,        ///< parent: its workspace
  kTemplate = 4,       ///< of experiments' configurations
  kRunMetadata = 5,    ///< id: its trial's
  kCheckpointUse = 6,  ///< parent: the trial that works with a checkpoint which it need not have
                       ///< trained; name: catalog_names.h
};

/// Immutable: a change is another value under the same kind and id.
struct Document {
  DocumentKind kind = DocumentKind::kModel;
  std::uint32_t id = 0;      ///< within its kind, from 1
  std::uint32_t parent = 0;  ///< 0: none
  std::uint32_t number = 0;  ///< within its parent
  std::string name;
  UserId user;  ///< who made it
  std::string user_name;
  TimePoint create_time;
  TimePoint change_time;
  bool is_archived = false;
  std::string body;  ///< a JSON object
  std::vector<std::string> checkpoints =
      {};  ///< uuids that it names: they are kept while it is there
  friend bool operator==(const Document&, const Document&) = default;
};
using DocumentRef = std::shared_ptr<const Document>;

}  // namespace muster
