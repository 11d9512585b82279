// A disk for tests of what SQLite stores: it is in memory, refuses at a chosen call, and forgets at
// a crash what was not synced. It is SQLite's default VFS while it lives. For one thread.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace muster::testing {

/// The kinds of faults. The call that a fault strikes counts as one of the calls that change
/// something.
enum class Fault {
  kWriteError,  ///< a write fails and leaves nothing
  kFull,        ///< a write finds no room and leaves a part of itself
  kSyncError,   ///< a sync fails, and what was written before may never reach the disk, whatever a
                ///< later sync says
  kAnyError,    ///< the next call, whatever it is, fails
  kPowerLoss,   ///< the machine is gone in the middle of the call
};

class FaultyDisk {
 public:
  explicit FaultyDisk(std::uint64_t seed);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  /// The fault strikes the `calls`-th call from now that it can strike, and if it is lasting every
  /// one after it. Requires: calls > 0.
  void arm(Fault fault, std::uint64_t calls, bool is_lasting = false);
  /// Ends the fault.
  void heal() { calls_left_ = 0; }
  /// True when the fault armed last has struck.
  bool has_struck() const { return has_struck_; }
  /// Returns how many writes, syncs, truncations and deletions there were.
  std::uint64_t calls() const { return calls_; }

  /// Leaves every file as a disk may have it that lost its power now. Requires: no connection is
  /// open.
  void lose_power();
  /// True between a kPowerLoss that has struck, or kill_process(), and what is called next of
  /// lose_power() and start_process().
  bool is_gone() const { return is_gone_; }
  /// Ends the process that uses the disk without warning: open connections can only be dropped.
  void kill_process() { is_gone_ = true; }
  /// Starts a process after kill_process(): the files are as they were written, and what was not
  /// synced is still not. Requires: no connection is open.
  void start_process();
  /// The files as a reader sees them at this moment.
  using Image = std::map<std::string, std::string>;
  Image image() const;
  /// Restores a copy, whole and synced, in place of all that is there. Requires: no connection is
  /// open.
  void put_back(const Image& image);
  bool contains(const std::string& name) const { return files_.contains(name); }
  /// Overwrites bytes of a file, as a disk that rots does.
  void rot(const std::string& name, std::size_t offset, std::string_view bytes);

 private:
  struct Change {
    std::size_t offset = 0;
    std::string bytes;
    bool is_truncation = false;
    void apply(std::string& content) const {
      if (is_truncation) {
        content.resize(std::min(offset, content.size()));
        return;
      }
      if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
      content.replace(offset, bytes.size(), bytes);
    }
  };
  struct Handle;
  struct File {
    std::string now;      ///< what readers see
    std::string durable;  ///< what is left after a loss of power
    std::vector<Change> unsynced;
    std::map<Handle*, int> locks;
    std::vector<std::unique_ptr<std::array<char, 32768>>> shm;
    /// Who holds each slot, and whether alone.
    std::array<std::map<Handle*, bool>, SQLITE_SHM_NLOCK> shm_locks;
  };
  struct Handle : sqlite3_file {
    FaultyDisk* disk = nullptr;
    std::shared_ptr<File> file;
  };

  /// True when the armed fault strikes this call.
  bool strikes(std::initializer_list<Fault> here);
  void change(File& file, Change change);

  static FaultyDisk& of(sqlite3_vfs* vfs) { return *static_cast<FaultyDisk*>(vfs->pAppData); }
  static Handle& of(sqlite3_file* file) { return *static_cast<Handle*>(file); }

  // ---- sqlite3_vfs ----
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* raw, int flags, int* out_flags);
  static int remove(sqlite3_vfs* vfs, const char* name, int);
  static int access(sqlite3_vfs* vfs, const char* name, int, int* result);
  static int full_path(sqlite3_vfs*, const char* name, int size, char* out);
  static int randomness(sqlite3_vfs* vfs, int size, char* out);

  // ---- sqlite3_io_methods ----
  static int close(sqlite3_file* raw);
  static int read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset);
  static int write(sqlite3_file* raw, const void* bytes, int size, sqlite3_int64 offset);
  static int truncate(sqlite3_file* raw, sqlite3_int64 size);
  static int sync(sqlite3_file* raw, int);
  static int file_size(sqlite3_file* raw, sqlite3_int64* size);
  static int lock(sqlite3_file* raw, int level);
  static int unlock(sqlite3_file* raw, int level);
  static int check_reserved(sqlite3_file* raw, int* result);
  static int shm_map(sqlite3_file* raw, int region, int size, int is_extend, void volatile** out);
  static int shm_lock(sqlite3_file* raw, int first, int count, int flags);
  static void shm_barrier(sqlite3_file*) {}
  static int shm_unmap(sqlite3_file* raw, int is_delete);
  static const sqlite3_io_methods& methods();

  Rng rng_;
  Rng salts_;
  sqlite3_vfs vfs_{};
  sqlite3_vfs* before_ = nullptr;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::set<Handle*> handles_;
  Fault fault_ = Fault::kAnyError;
  std::uint64_t calls_left_ = 0;
  std::uint64_t calls_ = 0;
  bool is_lasting_ = false;
  bool has_struck_ = false;
  bool is_gone_ = false;
};

}  // namespace muster::testing
