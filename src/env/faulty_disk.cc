#include "env/faulty_disk.h"

namespace muster::testing {

FaultyDisk::FaultyDisk(std::uint64_t seed) : rng_(seed), salts_(seed) {
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

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(before_, 1);
}

void FaultyDisk::arm(Fault fault, std::uint64_t calls, bool is_lasting) {
  fault_ = fault;
  calls_left_ = calls;
  is_lasting_ = is_lasting;
  has_struck_ = false;
}

void FaultyDisk::lose_power() {
  CHECK(handles_.empty(), "a connection is still open");
  is_gone_ = false;
  calls_left_ = 0;
  for (auto& [name, file] : files_) {
    const double survival = rng_.chance(0.3) ? 0.0 : rng_.chance(0.3) ? 1.0 : rng_.unit();
    for (Change& change : file->unsynced) {
      if (!rng_.chance(survival)) continue;
      if (!change.is_truncation && rng_.chance(0.2))
        change.bytes.resize(rng_.below(change.bytes.size() + 1));
      change.apply(file->durable);
    }
    file->unsynced.clear();
    file->now = file->durable;
    file->shm.clear();
  }
}

void FaultyDisk::start_process() {
  CHECK(handles_.empty(), "a connection is still open");
  is_gone_ = false;
  calls_left_ = 0;
  for (auto& [name, file] : files_) file->shm.clear();
}

FaultyDisk::Image FaultyDisk::image() const {
  Image copy;
  for (const auto& [name, file] : files_) copy[name] = file->now;
  return copy;
}

void FaultyDisk::put_back(const Image& image) {
  CHECK(handles_.empty(), "a connection is still open");
  files_.clear();
  for (const auto& [name, bytes] : image) {
    auto& file = files_[name] = std::make_shared<File>();
    file->now = file->durable = bytes;
  }
}

void FaultyDisk::rot(const std::string& name, std::size_t offset, std::string_view bytes) {
  File& file = *files_.at(name);
  CHECK(offset + bytes.size() <= file.durable.size());
  file.durable.replace(offset, bytes.size(), bytes);
  file.now = file.durable;
}

bool FaultyDisk::strikes(std::initializer_list<Fault> here) {
  ++calls_;
  if (calls_left_ == 0 || std::ranges::find(here, fault_) == here.end()) return false;
  if (calls_left_ > 1) {
    --calls_left_;
    return false;
  }
  if (!is_lasting_) calls_left_ = 0;
  return has_struck_ = true;
}

void FaultyDisk::change(File& file, Change change) {
  change.apply(file.now);
  file.unsynced.push_back(std::move(change));
}

int FaultyDisk::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* raw, int flags,
                     int* out_flags) {
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

int FaultyDisk::remove(sqlite3_vfs* vfs, const char* name, int) {
  FaultyDisk& disk = of(vfs);
  if (disk.is_gone_) return SQLITE_IOERR_DELETE;
  if (disk.strikes({Fault::kAnyError, Fault::kPowerLoss})) {
    disk.is_gone_ = disk.fault_ == Fault::kPowerLoss;
    return SQLITE_IOERR_DELETE;
  }
  return disk.files_.erase(name) == 0 ? SQLITE_IOERR_DELETE_NOENT : SQLITE_OK;
}

int FaultyDisk::access(sqlite3_vfs* vfs, const char* name, int, int* result) {
  if (of(vfs).is_gone_) return SQLITE_IOERR_ACCESS;
  *result = of(vfs).files_.contains(name) ? 1 : 0;
  return SQLITE_OK;
}

int FaultyDisk::full_path(sqlite3_vfs*, const char* name, int size, char* out) {
  return sqlite3_snprintf(size, out, "%s", name), SQLITE_OK;
}

int FaultyDisk::randomness(sqlite3_vfs* vfs, int size, char* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(of(vfs).salts_.below(256));
  return size;
}

int FaultyDisk::close(sqlite3_file* raw) {
  Handle& handle = of(raw);
  unlock(raw, SQLITE_LOCK_NONE);
  handle.disk->handles_.erase(&handle);
  handle.~Handle();
  return SQLITE_OK;
}

int FaultyDisk::read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
  if (of(raw).disk->is_gone_) return SQLITE_IOERR_READ;
  const std::string& content = of(raw).file->now;
  const auto begin = std::min(static_cast<std::size_t>(offset), content.size());
  const auto found = std::min(static_cast<std::size_t>(size), content.size() - begin);
  std::memcpy(out, content.data() + begin, found);
  std::memset(static_cast<char*>(out) + found, 0, static_cast<std::size_t>(size) - found);
  return found == static_cast<std::size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int FaultyDisk::write(sqlite3_file* raw, const void* bytes, int size, sqlite3_int64 offset) {
  FaultyDisk& disk = *of(raw).disk;
  if (disk.is_gone_) return SQLITE_IOERR_WRITE;
  Change change{static_cast<std::size_t>(offset),
                std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)),
                false};
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

int FaultyDisk::truncate(sqlite3_file* raw, sqlite3_int64 size) {
  FaultyDisk& disk = *of(raw).disk;
  if (disk.is_gone_) return SQLITE_IOERR_TRUNCATE;
  if (disk.strikes({Fault::kAnyError, Fault::kPowerLoss})) {
    disk.is_gone_ = disk.fault_ == Fault::kPowerLoss;
    return SQLITE_IOERR_TRUNCATE;
  }
  disk.change(*of(raw).file, Change{static_cast<std::size_t>(size), {}, true});
  return SQLITE_OK;
}

int FaultyDisk::sync(sqlite3_file* raw, int) {
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

int FaultyDisk::file_size(sqlite3_file* raw, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(raw).file->now.size());
  return of(raw).disk->is_gone_ ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

int FaultyDisk::lock(sqlite3_file* raw, int level) {
  auto& locks = of(raw).file->locks;
  const bool is_alone = level >= SQLITE_LOCK_RESERVED;
  for (const auto& [other, held] : locks) {
    if (other == &of(raw)) continue;
    if (held >= SQLITE_LOCK_PENDING || (is_alone && held >= SQLITE_LOCK_RESERVED))
      return SQLITE_BUSY;
    if (level == SQLITE_LOCK_EXCLUSIVE && held >= SQLITE_LOCK_SHARED) return SQLITE_BUSY;
  }
  locks[&of(raw)] = std::max(locks[&of(raw)], level);
  return SQLITE_OK;
}

int FaultyDisk::unlock(sqlite3_file* raw, int level) {
  auto& locks = of(raw).file->locks;
  if (level == SQLITE_LOCK_NONE) {
    locks.erase(&of(raw));
  } else if (const auto found = locks.find(&of(raw)); found != locks.end()) {
    found->second = std::min(found->second, level);
  }
  return SQLITE_OK;
}

int FaultyDisk::check_reserved(sqlite3_file* raw, int* result) {
  *result = std::ranges::any_of(
      of(raw).file->locks, [](const auto& held) { return held.second >= SQLITE_LOCK_RESERVED; });
  return SQLITE_OK;
}

int FaultyDisk::shm_map(sqlite3_file* raw, int region, int size, int is_extend,
                        void volatile** out) {
  auto& shm = of(raw).file->shm;
  *out = nullptr;
  CHECK(size == 32768, "SQLite asks for {} bytes of shared memory", size);
  if (shm.size() <= static_cast<std::size_t>(region) && is_extend == 0) return SQLITE_OK;
  while (shm.size() <= static_cast<std::size_t>(region))
    shm.push_back(std::make_unique<std::array<char, 32768>>());
  *out = shm[static_cast<std::size_t>(region)]->data();
  return SQLITE_OK;
}

int FaultyDisk::shm_lock(sqlite3_file* raw, int first, int count, int flags) {
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
  for (int i = first; i < first + count; ++i)
    slots[static_cast<std::size_t>(i)][&of(raw)] = is_alone;
  return SQLITE_OK;
}

int FaultyDisk::shm_unmap(sqlite3_file* raw, int is_delete) {
  for (auto& holders : of(raw).file->shm_locks) holders.erase(&of(raw));
  if (is_delete != 0) of(raw).file->shm.clear();
  return SQLITE_OK;
}

const sqlite3_io_methods& FaultyDisk::methods() {
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

}  // namespace muster::testing
