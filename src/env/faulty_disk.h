// A disk for tests of what SQLite stores: in memory, refusing at a chosen call, and forgetting at a crash what was not synced.
// It is SQLite's default VFS while it lives. For one thread.
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

/// What a disk does wrong. The call that is struck counts as one of the calls that change something.
enum class Fault {
  kWriteError,  ///< a write fails and leaves nothing
  kFull,        ///< a write finds no room and leaves a part of itself
  kSyncError,   ///< a sync fails, and what was written before may never reach the disk, whatever a later sync says
  kAnyError,    ///< the next call, whatever it is, fails
  kPowerLoss,   ///< the machine is gone in the middle of the call
};

class FaultyDisk {
 public:
  explicit FaultyDisk(std::uint64_t seed) : rng_(seed), salts_(seed) {
    vfs_.iVersion = 1;
    vfs_.szOsFile = sizeof(Handle);
    vfs_.mxPathname = 512;
    vfs_.zName = "faulty-disk";
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    vfs_.xAccess = access;
    vfs_.xFullPathname = full_path;
    vfs_.xRandomness = randomness;
    vfs_.xSleep = [](sqlite3_vfs*, int us) { return us; };
    vfs_.xCurrentTime = [](sqlite3_vfs*, double* day) { return *day = 2460000.5, SQLITE_OK; };
    CHECK(sqlite3_initialize() == SQLITE_OK);
    before_ = sqlite3_vfs_find(nullptr);
    CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
    sqlite3_randomness(0, nullptr);  // SQLite's own chance begins again, from ours
  }
  ~FaultyDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(before_, 1);
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  /// The fault strikes the `calls`-th call from now that it can strike, and if it is lasting every one after it.
  /// Requires: calls > 0.
  void arm(Fault fault, std::uint64_t calls, bool is_lasting = false) {
    fault_ = fault;
    calls_left_ = calls;
    is_lasting_ = is_lasting;
    has_struck_ = false;
  }
  /// No fault is under way any more.
  void heal() { calls_left_ = 0; }
  /// Whether the fault armed last has struck.
  bool has_struck() const { return has_struck_; }
  /// Writes, syncs, truncations and deletions so far.
  std::uint64_t calls() const { return calls_; }

  /// Every file is as a disk may have it that lost its power now. Requires: no connection is open.
  void lose_power() {
    CHECK(handles_.empty(), "a connection is still open");
    is_gone_ = false;
    calls_left_ = 0;
    for (auto& [name, file] : files_) {
      const double survival = rng_.chance(0.3) ? 0.0 : rng_.chance(0.3) ? 1.0 : rng_.unit();
      for (Change& change : file->unsynced) {
        if (!rng_.chance(survival)) continue;
        if (!change.is_truncation && rng_.chance(0.2)) change.bytes.resize(rng_.below(change.bytes.size() + 1));
        change.apply(file->durable);
      }
      file->unsynced.clear();
      file->now = file->durable;
      file->shm.clear();
    }
  }
  /// True between a kPowerLoss that has struck, or kill_process(), and what is called next of lose_power() and start_process().
  bool is_gone() const { return is_gone_; }
  /// Whoever uses the disk is gone without a word: open connections can only be dropped.
  void kill_process() { is_gone_ = true; }
  /// After kill_process(): the files are as they were written, and what was not synced is still not. Requires: no connection is open.
  void start_process() {
    CHECK(handles_.empty(), "a connection is still open");
    is_gone_ = false;
    calls_left_ = 0;
    for (auto& [name, file] : files_) file->shm.clear();
  }
  /// The files as a reader sees them at this moment.
  using Image = std::map<std::string, std::string>;
  Image image() const {
    Image copy;
    for (const auto& [name, file] : files_) copy[name] = file->now;
    return copy;
  }
  /// A copy is put back, whole and synced, in place of all that is there. Requires: no connection is open.
  void put_back(const Image& image) {
    CHECK(handles_.empty(), "a connection is still open");
    files_.clear();
    for (const auto& [name, bytes] : image) {
      auto& file = files_[name] = std::make_shared<File>();
      file->now = file->durable = bytes;
    }
  }
  bool contains(const std::string& name) const { return files_.contains(name); }
  /// Overwrites bytes of a file, as a disk that rots.
  void rot(const std::string& name, std::size_t offset, std::string_view bytes) {
    File& file = *files_.at(name);
    CHECK(offset + bytes.size() <= file.durable.size());
    file.durable.replace(offset, bytes.size(), bytes);
    file.now = file.durable;
  }

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
    std::string now;       ///< what readers see
    std::string durable;   ///< what is left after a loss of power
    std::vector<Change> unsynced;
    std::map<Handle*, int> locks;
    std::vector<std::unique_ptr<std::array<char, 32768>>> shm;
    std::array<std::map<Handle*, bool>, SQLITE_SHM_NLOCK> shm_locks;  ///< by slot: who holds it, and whether alone
  };
  struct Handle : sqlite3_file {
    FaultyDisk* disk = nullptr;
    std::shared_ptr<File> file;
  };

  /// True when the armed fault strikes this call.
  bool strikes(std::initializer_list<Fault> here) {
    ++calls_;
    if (calls_left_ == 0 || std::ranges::find(here, fault_) == here.end()) return false;
    if (calls_left_ > 1) {
      --calls_left_;
      return false;
    }
    if (!is_lasting_) calls_left_ = 0;
    return has_struck_ = true;
  }
  void change(File& file, Change change) {
    change.apply(file.now);
    file.unsynced.push_back(std::move(change));
  }

  static FaultyDisk& of(sqlite3_vfs* vfs) { return *static_cast<FaultyDisk*>(vfs->pAppData); }
  static Handle& of(sqlite3_file* file) { return *static_cast<Handle*>(file); }

  // ---- sqlite3_vfs ----
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* raw, int flags, int* out_flags) {
    FaultyDisk& disk = of(vfs);
    raw->pMethods = nullptr;
    if (disk.is_gone_) return SQLITE_IOERR;
    std::shared_ptr<File> file;
    if (name == nullptr) {
      file = std::make_shared<File>();
    } else {
      auto& known = disk.files_[name];
      if (known == nullptr) {
        if ((flags & SQLITE_OPEN_CREATE) == 0) {
          disk.files_.erase(name);
          return SQLITE_CANTOPEN;
        }
        known = std::make_shared<File>();
      }
      file = known;
    }
    Handle* handle = new (raw) Handle;
    handle->pMethods = &methods();
    handle->disk = &disk;
    handle->file = std::move(file);
    disk.handles_.insert(handle);
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int) {
    FaultyDisk& disk = of(vfs);
    if (disk.is_gone_) return SQLITE_IOERR_DELETE;
    if (disk.strikes({Fault::kAnyError, Fault::kPowerLoss})) {
      disk.is_gone_ = disk.fault_ == Fault::kPowerLoss;
      return SQLITE_IOERR_DELETE;
    }
    return disk.files_.erase(name) == 0 ? SQLITE_IOERR_DELETE_NOENT : SQLITE_OK;
  }
  static int access(sqlite3_vfs* vfs, const char* name, int, int* result) {
    if (of(vfs).is_gone_) return SQLITE_IOERR_ACCESS;
    *result = of(vfs).files_.contains(name) ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
    return sqlite3_snprintf(size, out, "%s", name), SQLITE_OK;
  }
  static int randomness(sqlite3_vfs* vfs, int size, char* out) {
    for (int i = 0; i < size; ++i) out[i] = static_cast<char>(of(vfs).salts_.below(256));
    return size;
  }

  // ---- sqlite3_io_methods ----
  static int close(sqlite3_file* raw) {
    Handle& handle = of(raw);
    unlock(raw, SQLITE_LOCK_NONE);
    handle.disk->handles_.erase(&handle);
    handle.~Handle();
    return SQLITE_OK;
  }
  static int read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
    if (of(raw).disk->is_gone_) return SQLITE_IOERR_READ;
    const std::string& content = of(raw).file->now;
    const auto begin = std::min(static_cast<std::size_t>(offset), content.size());
    const auto found = std::min(static_cast<std::size_t>(size), content.size() - begin);
    std::memcpy(out, content.data() + begin, found);
    std::memset(static_cast<char*>(out) + found, 0, static_cast<std::size_t>(size) - found);
    return found == static_cast<std::size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }
  static int write(sqlite3_file* raw, const void* bytes, int size, sqlite3_int64 offset) {
    FaultyDisk& disk = *of(raw).disk;
    if (disk.is_gone_) return SQLITE_IOERR_WRITE;
    Change change{static_cast<std::size_t>(offset), std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)), false};
    if (!disk.strikes({Fault::kWriteError, Fault::kFull, Fault::kAnyError, Fault::kPowerLoss})) {
      disk.change(*of(raw).file, std::move(change));
      return SQLITE_OK;
    }
    if (disk.fault_ == Fault::kPowerLoss) {
      disk.is_gone_ = true;
      disk.change(*of(raw).file, std::move(change));
    } else if (disk.fault_ == Fault::kFull) {
      change.bytes.resize(disk.rng_.below(change.bytes.size() + 1));
      disk.change(*of(raw).file, std::move(change));
      return SQLITE_FULL;
    }
    return SQLITE_IOERR_WRITE;
  }
  static int truncate(sqlite3_file* raw, sqlite3_int64 size) {
    FaultyDisk& disk = *of(raw).disk;
    if (disk.is_gone_) return SQLITE_IOERR_TRUNCATE;
    if (disk.strikes({Fault::kAnyError, Fault::kPowerLoss})) {
      disk.is_gone_ = disk.fault_ == Fault::kPowerLoss;
      return SQLITE_IOERR_TRUNCATE;
    }
    disk.change(*of(raw).file, Change{static_cast<std::size_t>(size), {}, true});
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* raw, int) {
    FaultyDisk& disk = *of(raw).disk;
    if (disk.is_gone_) return SQLITE_IOERR_FSYNC;
    File& file = *of(raw).file;
    const bool is_struck = disk.strikes({Fault::kSyncError, Fault::kAnyError, Fault::kPowerLoss});
    if (is_struck && disk.fault_ == Fault::kPowerLoss) {
      disk.is_gone_ = true;
      return SQLITE_IOERR_FSYNC;
    }
    for (const Change& change : file.unsynced) {
      if (!is_struck || disk.rng_.chance(0.5)) change.apply(file.durable);
    }
    file.unsynced.clear();
    return is_struck ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  }
  static int file_size(sqlite3_file* raw, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(of(raw).file->now.size());
    return of(raw).disk->is_gone_ ? SQLITE_IOERR_FSTAT : SQLITE_OK;
  }
  static int lock(sqlite3_file* raw, int level) {
    auto& locks = of(raw).file->locks;
    const bool is_alone = level >= SQLITE_LOCK_RESERVED;
    for (const auto& [other, held] : locks) {
      if (other == &of(raw)) continue;
      if (held >= SQLITE_LOCK_PENDING || (is_alone && held >= SQLITE_LOCK_RESERVED)) return SQLITE_BUSY;
      if (level == SQLITE_LOCK_EXCLUSIVE && held >= SQLITE_LOCK_SHARED) return SQLITE_BUSY;
    }
    locks[&of(raw)] = std::max(locks[&of(raw)], level);
    return SQLITE_OK;
  }
  static int unlock(sqlite3_file* raw, int level) {
    auto& locks = of(raw).file->locks;
    if (level == SQLITE_LOCK_NONE) {
      locks.erase(&of(raw));
    } else if (const auto found = locks.find(&of(raw)); found != locks.end()) {
      found->second = std::min(found->second, level);
    }
    return SQLITE_OK;
  }
  static int check_reserved(sqlite3_file* raw, int* result) {
    *result = std::ranges::any_of(of(raw).file->locks, [](const auto& held) { return held.second >= SQLITE_LOCK_RESERVED; });
    return SQLITE_OK;
  }
  static int shm_map(sqlite3_file* raw, int region, int size, int is_extend, void volatile** out) {
    auto& shm = of(raw).file->shm;
    *out = nullptr;
    CHECK(size == 32768, "SQLite asks for {} bytes of shared memory", size);
    if (shm.size() <= static_cast<std::size_t>(region) && is_extend == 0) return SQLITE_OK;
    while (shm.size() <= static_cast<std::size_t>(region)) shm.push_back(std::make_unique<std::array<char, 32768>>());
    *out = shm[static_cast<std::size_t>(region)]->data();
    return SQLITE_OK;
  }
  static int shm_lock(sqlite3_file* raw, int first, int count, int flags) {
    auto& slots = of(raw).file->shm_locks;
    const bool is_alone = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    for (int i = first; i < first + count; ++i) {
      auto& holders = slots[static_cast<std::size_t>(i)];
      if ((flags & SQLITE_SHM_UNLOCK) != 0) {
        holders.erase(&of(raw));
        continue;
      }
      for (const auto& [other, alone] : holders) {
        if (other != &of(raw) && (alone || is_alone)) return SQLITE_BUSY;
      }
    }
    if ((flags & SQLITE_SHM_LOCK) == 0) return SQLITE_OK;
    for (int i = first; i < first + count; ++i) slots[static_cast<std::size_t>(i)][&of(raw)] = is_alone;
    return SQLITE_OK;
  }
  static void shm_barrier(sqlite3_file*) {}
  static int shm_unmap(sqlite3_file* raw, int is_delete) {
    for (auto& holders : of(raw).file->shm_locks) holders.erase(&of(raw));
    if (is_delete != 0) of(raw).file->shm.clear();
    return SQLITE_OK;
  }
  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods kMethods = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;
      m.xClose = close;
      m.xRead = read;
      m.xWrite = write;
      m.xTruncate = truncate;
      m.xSync = sync;
      m.xFileSize = file_size;
      m.xLock = lock;
      m.xUnlock = unlock;
      m.xCheckReservedLock = check_reserved;
      m.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
      m.xSectorSize = [](sqlite3_file*) { return 4096; };
      m.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; };
      m.xShmMap = shm_map;
      m.xShmLock = shm_lock;
      m.xShmBarrier = shm_barrier;
      m.xShmUnmap = shm_unmap;
      return m;
    }();
    return kMethods;
  }

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
