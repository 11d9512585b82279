// A trial's folder on disk: who may write to it, and which run of the trial this is. The same files
// as the Python package's:
//
//     lock               flock of the one process that writes; its pid and host inside
//     runs.jsonl         {"run", "job_id", "pid", "host", "time"}: one line per run that began
//     metrics.jsonl, checkpoints.jsonl, checkpoints/, status.json, metadata.json
#pragma once

#include "environment.h"
#include "files.h"

namespace muster::core {

/// A job's requeues find the same folder; elsewhere every start gets a new one.
Path default_run_folder(const Environment& environment);
/// MUSTER_RUN_ID as it is; else the restart count + 1, or the next number if that one has been
/// used. Errors: StaleRunError when MUSTER_RUN_ID lies below a run that has begun.
std::int64_t run_number(const Environment& environment, std::int64_t newest);

/// An open and locked folder, of rank 0.
class RunFolder {
 public:
  /// Errors: RunFolderInUseError, StaleRunError, StorageError, CorruptionError.
  RunFolder(const Path& path, const Environment& environment);
  const Path& path() const { return path_; }
  std::int64_t run() const { return run_; }
  bool is_new_run() const { return is_new_run_; }
  /// Errors: StaleRunError when a newer run began although this one has the lock, as a broken
  /// network disk allows.
  void check_current();

 private:
  Path path_;
  Descriptor lock_;
  std::int64_t run_ = 0;
  bool is_new_run_ = false;
  std::uintmax_t runs_size_bytes_ = 0;
};

}  // namespace muster::core
