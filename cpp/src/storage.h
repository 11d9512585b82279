// One folder of checkpoints that all nodes see, in the Python package's layout, which is
// Determined's:
//
//     <uuid>/           a whole checkpoint: the script's files, metadata.json, resources.json
//     ({path: bytes}) <uuid>.partial/   one being written or removed
//
// A checkpoint becomes whole by one rename, after every file and folder of it is on disk. Which
// there are is checkpoint_log's.
#pragma once

#include <map>
#include <string>

#include "files.h"

namespace muster::core {

using Resources =
    std::map<std::string, std::int64_t>;  ///< bytes by path; a subfolder is "name/" with 0

bool is_uuid(const std::string& name);
std::string new_uuid();

/// Errors of every call: StorageError.
class Storage {
 public:
  explicit Storage(const Path& folder)
      : folder_(std::filesystem::absolute(folder).lexically_normal()) {}
  const Path& folder() const { return folder_; }
  /// Throws when checkpoints cannot be written there. Makes nothing: only what is there is looked
  /// at.
  void check() const;
  Path partial(const std::string& uuid) const { return folder_ / (uuid + ".partial"); }
  bool is_whole(const std::string& uuid) const;
  bool has_partial(const std::string& uuid) const;
  /// The folder of a whole checkpoint here, or of any given by its path. Errors:
  /// CheckpointNotFoundError.
  Path find(const std::string& uuid_or_path) const;
  /// Errors: CheckpointNotFoundError, CorruptionError.
  Value metadata(const std::string& uuid_or_path) const;
  Resources resources(const std::string& uuid_or_path) const;

  /// Makes the partial checkpoint, and answers its folder.
  Path begin(const std::string& uuid);
  /// Makes it whole. Errors: CheckpointError for what a checkpoint cannot hold.
  void finish(const std::string& uuid, const Value& metadata);
  /// Removes what is not whole; nothing if it is not there.
  void discard(const std::string& uuid);
  /// From now on it is not whole, whatever happens. Errors: CheckpointNotFoundError.
  void unmake(const std::string& uuid);

 private:
  Path folder_;
};

}  // namespace muster::core
