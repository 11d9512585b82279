// Files that survive a crash: whole replacement, and append-only logs of JSON lines. Nothing here
// knows what they mean.
//
// A log's line counts once its line feed is on disk. Whoever opens a log to write cuts off a torn
// last line; readers pass over it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muster/core.hpp"

namespace muster::core {

using Path = std::filesystem::path;

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

/// Of errno. `attempt` is "write x" and the like.
[[noreturn]] void fail_on_disk(const std::string& attempt, const Path& folder);
[[noreturn]] void fail_on_disk(const std::string& attempt, const Path& folder, int error);

/// Errors of all below: StorageError.
void sync_path(const Path& path);
/// Makes it and what is missing above it, durably.
void make_folder(const Path& path);
/// So that a reader sees the old or the new one whole.
void replace_document(const Path& path, const Value& document);
/// An empty map when there is none. Errors: also CorruptionError.
Value read_document(const Path& path);
/// The objects of a log, in the order written; none when there is no file. Errors: also
/// CorruptionError.
std::vector<Value> read_lines(const Path& path);

/// A log open for writing. One writer, one thread at a time.
class AppendLog {
 public:
  explicit AppendLog(Path path);
  /// All rows durable, or none of them there.
  void append(const std::vector<Value>& rows);
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  Path path_;
  Descriptor file_;
  std::int64_t size_bytes_ = 0;
};

}  // namespace muster::core
