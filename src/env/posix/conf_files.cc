// What a configuration consists of is read once (ConfFiles) and handed on as "LENGTH:path
// LENGTH:text", so that a run which replaces itself goes on with the very texts that it was started
// with.
#include "env/posix/conf_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace muster {
namespace {

/// Takes "LENGTH:" and so many bytes from the front.
std::optional<std::string> consume_text(std::string_view& bytes) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), length);
  const auto digits = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || digits == bytes.size() || *end != ':') return std::nullopt;
  bytes.remove_prefix(digits + 1);
  if (length > bytes.size()) return std::nullopt;
  std::string text(bytes.substr(0, length));
  bytes.remove_prefix(length);
  return text;
}

/// False with errno.
bool append_whole(int fd, std::string& text) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return got == 0;
  }
}

}  // namespace

Result<std::string> read_conf_file(const std::string& path) {
  // O_NONBLOCK: a FIFO or a device in place of the file must not hold up the start.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  std::string text;
  struct stat known {};
  const bool is_known = fd >= 0 && ::fstat(fd, &known) == 0;
  const bool is_file = is_known && S_ISREG(known.st_mode);
  const bool is_read = is_file && append_whole(fd, text);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (is_read) return text;
  if (is_known && !is_file)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read {}", path),
                "it is no regular file");
  return fail(ErrorCode::kNotFound, fmt::format("cannot read {}", path), std::strerror(error));
}

IncludeReader include_reader(const std::string& conf_path,
                             std::function<Result<std::string>(const std::string&)> read) {
  const std::size_t slash = conf_path.rfind('/');
  // Source: slurm.conf(5), Include: relative to the file's own folder.
  const std::string folder = slash == std::string::npos ? "." : conf_path.substr(0, slash);
  return [folder, read = std::move(read)](std::string_view path) {
    return read(path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", folder, path));
  };
}

std::string conf_texts_bytes(const ConfTexts& texts) {
  std::string bytes;
  for (const auto& [path, text] : texts)
    bytes += fmt::format("{}:{}{}:{}", path.size(), path, text.size(), text);
  return bytes;
}

ConfTexts parse_conf_texts(std::string_view bytes) {
  ConfTexts texts;
  while (!bytes.empty()) {
    const auto path = consume_text(bytes);
    const auto text = path ? consume_text(bytes) : std::nullopt;
    // Half of it is none: the files are read again.
    if (!text) return {};
    texts[*path] = *text;
  }
  return texts;
}

ConfFiles::ConfFiles(Check check, ConfTexts texts)
    : check_(std::move(check)), texts_(std::move(texts)) {}

Result<std::string> ConfFiles::read(const std::string& path) {
  // As it was read first, also when the file has changed since.
  if (const auto known = texts_.find(path); known != texts_.end()) return known->second;
  if (check_ != nullptr) TRY(check_(path));
  return texts_[path] = TRY(read_conf_file(path));
}

}  // namespace muster
