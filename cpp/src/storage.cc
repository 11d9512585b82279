#include "storage.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>

#include "json.h"

namespace muster::core {
namespace {

namespace fs = std::filesystem;
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kResources = "resources.json";

std::string generic(const Path& path, const Path& folder) {
  return path.lexically_relative(folder).generic_string();
}

/// What a folder holds. `is_foreign`: a checkpoint that this package did not write; its own names
/// are passed over.
Resources listed(const Path& folder, bool is_foreign) {
  Resources out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = generic(at->path(), folder);
    if (name == kMetadata || name == kResources) {
      if (is_foreign) continue;
      throw CheckpointError(at->path().string() + ": a checkpoint keeps the name " + name +
                            " for itself; rename the file or leave it out");
    }
    if (at->is_symlink() && !is_foreign)
      throw CheckpointError(
          at->path().string() +
          " is a link, and a checkpoint holds files themselves; copy what it points to");
    if (at->is_directory()) {
      out.emplace(name + "/", 0);
    } else if (at->is_regular_file()) {
      out.emplace(name, static_cast<std::int64_t>(at->file_size()));
    } else {
      throw CheckpointError(at->path().string() +
                            " is no file; a checkpoint holds files and folders");
    }
  }
  if (error) fail_on_disk("read files", folder, error.value());
  return out;
}

}  // namespace

bool is_uuid(const std::string& name) {
  if (name.size() != 36) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    const auto c = static_cast<unsigned char>(name[i]);
    if (is_dash ? c != '-' : std::isxdigit(c) == 0 || std::isupper(c) != 0) return false;
  }
  return true;
}

std::string new_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error("the system gives no random bytes");
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += text;
  }
  return out;
}

void Storage::check() const {
  std::error_code error;
  Path there = folder_;
  while (!fs::exists(there, error) && there != there.parent_path()) there = there.parent_path();
  const std::string begin = "checkpoints are to go to " + folder_.string() + ", but ";
  if (!fs::is_directory(there, error))
    throw StorageError(begin + there.string() + " is no folder; give another one");
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    throw StorageError(begin + "this user may not write to " + there.string() +
                       "; make it writable on every node, or give another folder");
  }
}

bool Storage::is_whole(const std::string& uuid) const {
  std::error_code error;
  return is_uuid(uuid) && fs::is_regular_file(folder_ / uuid / kMetadata, error);
}

bool Storage::has_partial(const std::string& uuid) const {
  std::error_code error;
  return is_uuid(uuid) && fs::is_directory(partial(uuid), error);
}

Path Storage::find(const std::string& uuid_or_path) const {
  if (is_uuid(uuid_or_path)) {
    if (is_whole(uuid_or_path)) return folder_ / uuid_or_path;
    const char* state = has_partial(uuid_or_path) ? " was never finished in " : " is not there in ";
    throw CheckpointNotFoundError("checkpoint " + uuid_or_path + state + folder_.string());
  }
  const Path path(uuid_or_path);
  if (path.extension() == ".partial")
    throw CheckpointNotFoundError("checkpoint " + uuid_or_path + " was never finished");
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw CheckpointNotFoundError("checkpoint '" + uuid_or_path +
                                  "' is neither a uuid nor a folder");
  return fs::absolute(path);
}

Value Storage::metadata(const std::string& uuid_or_path) const {
  const Path folder = find(uuid_or_path);
  std::error_code error;
  if (!fs::is_regular_file(folder / kMetadata, error))
    throw CheckpointNotFoundError(folder.string() +
                                  " has no metadata.json: it is no checkpoint of this package");
  return decoded(read_document(folder / kMetadata));
}

Resources Storage::resources(const std::string& uuid_or_path) const {
  const Path folder = find(uuid_or_path);
  std::error_code error;
  if (!fs::is_regular_file(folder / kResources, error)) return listed(folder, true);
  Resources out;
  const Value document = read_document(folder / kResources);
  for (const auto& [path, size] : document.as_map()) out.emplace(path, size.as_int());
  return out;
}

Path Storage::begin(const std::string& uuid) {
  make_folder(folder_);
  if (::mkdir(partial(uuid).c_str(), 0777) != 0) fail_on_disk("begin checkpoint " + uuid, folder_);
  sync_path(folder_);
  return partial(uuid);
}

void Storage::finish(const std::string& uuid, const Value& metadata) {
  const Path from = partial(uuid);
  const Resources resources = listed(from, false);
  Value::Map sizes;
  for (const auto& [path, size] : resources) sizes.emplace(path, size);
  for (const auto& [path, size] : resources) {
    if (path.back() != '/') sync_path(from / path);
  }
  replace_document(from / kResources, sizes);
  replace_document(from / kMetadata, metadata);
  for (const auto& [path, size] : resources) {
    if (path.back() == '/') sync_path(from / path.substr(0, path.size() - 1));
  }
  sync_path(from);
  if (::rename(from.c_str(), (folder_ / uuid).c_str()) != 0)
    fail_on_disk("finish checkpoint " + uuid, folder_);
  sync_path(folder_);
}

void Storage::discard(const std::string& uuid) {
  std::error_code error;
  if (has_partial(uuid)) fs::remove_all(partial(uuid), error);
  if (error) fail_on_disk("remove checkpoint " + uuid, folder_, error.value());
}

void Storage::unmake(const std::string& uuid) {
  const Path whole = find(uuid);
  if (::rename(whole.c_str(), partial(uuid).c_str()) != 0)
    fail_on_disk("delete checkpoint " + uuid, folder_);
  sync_path(folder_);
}

}  // namespace muster::core
