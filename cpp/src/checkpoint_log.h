// checkpoints.jsonl: {"event", "uuid", "run", "time"}, announced also with the "storage" it was to
// go to. The Python package reads and writes the same.
//
// States by the last event of a uuid: announced -> completed -> deleted, or announced -> discarded.
// A crash between a rename and its event is made good at the next opening, as is one between the
// event and the removal of files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "run_folder.h"
#include "storage.h"

namespace muster::core {

/// A checkpoint as it was announced: by which run, and where it was to go.
struct Announced {
  std::string uuid;
  std::int64_t run = 0;
  Storage storage;
};

/// Hears of each event before it is kept: "announced", "completed", "discarded", "deleted". What it
/// throws keeps the event from being kept. A completed checkpoint is whole. An event that a crash
/// kept from being kept is heard again.
using CheckpointObserver =
    std::function<void(const std::string& event, const Announced& announced)>;

class CheckpointLog {
 public:
  /// Errors: StorageError, CorruptionError, and what the observer throws.
  CheckpointLog(RunFolder& folder, Storage storage, CheckpointObserver observer);
  void announce(const std::string& uuid);
  void complete(const std::string& uuid, std::int64_t steps_completed);
  void discard(const std::string& uuid);
  void remove(const std::string& uuid);
  /// The one completed last that is still there.
  std::optional<std::string> latest() const;

 private:
  void make_good(const std::string& uuid, const std::string& event);
  void append(const std::string& event, const std::string& uuid, Value::Map more = {});
  Announced of(const std::string& uuid) const;

  RunFolder& folder_;
  Storage storage_;
  CheckpointObserver observer_;
  AppendLog log_;
  std::map<std::string, Announced> announced_;
  std::vector<std::string> completed_;
};

/// As CheckpointLog::latest will be once rank 0 has opened the folder; changes nothing. For the
/// other ranks.
std::optional<std::string> latest_in(const Path& run_folder, const Storage& storage);

}  // namespace muster::core
