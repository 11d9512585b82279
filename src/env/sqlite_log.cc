#include "env/sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <vector>

// Through SQLite's VFS rather than by plain files, so that the tests' faulty disk sees these
// writes, too.
namespace muster {
namespace {

/// The names of a database's files in the form that a VFS expects.
class FileNames {
 public:
  explicit FileNames(const std::string& database)
      : names_(sqlite3_create_filename(database.c_str(), "", (database + "-wal").c_str(), 0,
                                       nullptr)) {}
  ~FileNames() { sqlite3_free_filename(names_); }
  FileNames(const FileNames&) = delete;
  FileNames& operator=(const FileNames&) = delete;
  const char* log() const { return names_ == nullptr ? nullptr : sqlite3_filename_wal(names_); }

 private:
  sqlite3_filename names_;
};

/// A file that is closed with this object.
class LogFile {
 public:
  explicit LogFile(sqlite3_vfs* vfs)
      : memory_(static_cast<std::size_t>(vfs->szOsFile)),
        file_(reinterpret_cast<sqlite3_file*>(memory_.data())) {}
  ~LogFile() {
    if (file_->pMethods != nullptr) file_->pMethods->xClose(file_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  sqlite3_file* get() { return file_; }

  int write_anew() {
    const sqlite3_io_methods& io = *file_->pMethods;
    sqlite3_int64 size = 0;
    if (const int code = io.xFileSize(file_, &size); code != SQLITE_OK) return code;
    std::vector<char> piece(1 << 16);  // SQLite's own VFS takes no more than 128 KiB at once
    for (sqlite3_int64 place = 0; place < size;) {
      const auto whole = static_cast<sqlite3_int64>(piece.size());
      const auto count = static_cast<int>(std::min(whole, size - place));
      int code = io.xRead(file_, piece.data(), count, place);
      if (code == SQLITE_OK) code = io.xWrite(file_, piece.data(), count, place);
      if (code != SQLITE_OK) return code;
      place += count;
    }
    // Everything in one sync: what the log has is on the disk afterwards, or an error is returned.
    return size == 0 ? SQLITE_OK : io.xSync(file_, SQLITE_SYNC_FULL);
  }

 private:
  std::vector<char> memory_;
  sqlite3_file* file_;
};

}  // namespace

Status rewrite_log(const std::string& database) {
  const auto refused = [&](int code) {
    return fail(ErrorCode::kUnavailable, "database refused",
                database + "-wal: " + sqlite3_errstr(code));
  };
  int code = sqlite3_initialize();
  if (code != SQLITE_OK) return refused(code);
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  std::vector<char> path(static_cast<std::size_t>(vfs->mxPathname) + 1);
  code = vfs->xFullPathname(vfs, database.c_str(), static_cast<int>(path.size()), path.data());
  // The upper bits are of the extended code; a path with a link is no error.
  if ((code & 0xff) != SQLITE_OK) return refused(code);
  const FileNames names(path.data());
  if (names.log() == nullptr) return refused(SQLITE_NOMEM);
  int is_there = 0;
  code = vfs->xAccess(vfs, names.log(), SQLITE_ACCESS_EXISTS, &is_there);
  if (code != SQLITE_OK) return refused(code);
  // No log: the database was closed in good order.
  if (is_there == 0) return {};
  LogFile log(vfs);
  code = vfs->xOpen(vfs, names.log(), log.get(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, nullptr);
  if (code == SQLITE_OK) code = log.write_anew();
  return code == SQLITE_OK ? Status() : refused(code);
}

}  // namespace muster
