#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "json.h"

namespace muster::core {
namespace {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Where the last line feed ends.
std::int64_t whole_bytes(int file, std::int64_t size) {
  char block[4096];
  while (size > 0) {
    const std::int64_t begin =
        std::max<std::int64_t>(0, size - static_cast<std::int64_t>(sizeof block));
    const ssize_t got = ::pread(file, block, static_cast<std::size_t>(size - begin), begin);
    for (ssize_t i = got; i > 0; --i) {
      if (block[i - 1] == '\n') return begin + i;
    }
    size = begin;
  }
  return 0;
}

Value object_of(const Path& path, std::size_t number, const std::string& line) {
  try {
    Value row = parse_json("the line", line);
    if (std::holds_alternative<Value::Map>(row.data())) return row;
  } catch (const std::invalid_argument&) {
  }
  throw CorruptionError(path.string() + ":" + std::to_string(number) + ": not a JSON object");
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = std::exchange(other.number_, -1);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

void fail_on_disk(const std::string& attempt, const Path& folder, int error) {
  throw StorageError("cannot " + attempt + " in " + folder.string() + ": " + std::strerror(error) +
                     "; make room there or choose another folder");
}

void fail_on_disk(const std::string& attempt, const Path& folder) {
  fail_on_disk(attempt, folder, errno);
}

void sync_path(const Path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0)
    fail_on_disk("sync " + path.filename().string(), path.parent_path());
}

void make_folder(const Path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return;
  if (path.has_parent_path() && path.parent_path() != path) make_folder(path.parent_path());
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    fail_on_disk("make the folder " + path.filename().string(), path.parent_path());
  sync_path(path.parent_path());
}

void replace_document(const Path& path, const Value& document) {
  Path temporary = path;
  temporary += ".new";
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0 || !write_all(file.get(), json_of(document) + "\n") ||
        ::fsync(file.get()) != 0) {
      const int error = errno;
      ::unlink(temporary.c_str());
      fail_on_disk("write " + path.filename().string(), path.parent_path(), error);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    fail_on_disk("write " + path.filename().string(), path.parent_path());
  sync_path(path.parent_path());
}

Value read_document(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Value::Map{};
  std::ostringstream text;
  text << file.rdbuf();
  try {
    Value document = parse_json(path.string(), text.str());
    if (std::holds_alternative<Value::Map>(document.data())) return document;
  } catch (const std::invalid_argument& error) {
    throw CorruptionError(error.what());
  }
  throw CorruptionError(path.string() + " is not a JSON object");
}

std::vector<Value> read_lines(const Path& path) {
  std::vector<Value> out;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (file.eof()) break;  // torn: it has no line feed
    out.push_back(object_of(path, number, line));
  }
  return out;
}

AppendLog::AppendLog(Path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  struct stat status {};
  const std::string attempt = "open " + path_.filename().string();
  if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0)
    fail_on_disk(attempt, path_.parent_path());
  size_bytes_ = whole_bytes(file_.get(), status.st_size);
  if (::ftruncate(file_.get(), size_bytes_) != 0) fail_on_disk(attempt, path_.parent_path());
  sync_path(path_.parent_path());
}

void AppendLog::append(const std::vector<Value>& rows) {
  std::string block;
  for (const Value& row : rows) block += json_of(row) + "\n";
  if (block.empty()) return;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0)
    fail_on_disk("write " + path_.filename().string(), path_.parent_path());
  if (status.st_size != size_bytes_)
    throw StorageError(path_.string() +
                       " was changed by another process while this one held its lock");
  if (!write_all(file_.get(), block) || ::fsync(file_.get()) != 0) {
    const int error = errno;
    const int cut = ::ftruncate(
        file_.get(), size_bytes_);  // a torn line that stays is cut off by the next writer
    static_cast<void>(cut);
    fail_on_disk("write " + path_.filename().string(), path_.parent_path(), error);
  }
  size_bytes_ += static_cast<std::int64_t>(block.size());
}

}  // namespace muster::core
