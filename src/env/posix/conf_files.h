// The files of a configuration: its own, and what that includes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "slurm/conf/conf_lines.h"

namespace muster {

/// The whole file. Errors: with the path, kNotFound and the system's reason; kInvalidArgument: it
/// is a folder, a pipe or the like.
Result<std::string> read_conf_file(const std::string& path);

/// Reads what a configuration includes: where its own file lies, unless the path is absolute.
IncludeReader include_reader(
    const std::string& conf_path,
    std::function<Result<std::string>(const std::string& path)> read = read_conf_file);

/// Texts of files, by path.
using ConfTexts = std::map<std::string, std::string>;
std::string conf_texts_bytes(const ConfTexts& texts);
/// Of conf_texts_bytes; empty where they are no such.
ConfTexts parse_conf_texts(std::string_view bytes);

/// Reads files and keeps their texts; for a file whose text is there already, that stands, whatever
/// became of the file.
class ConfFiles {
 public:
  using Check = std::function<Status(const std::string& path)>;
  /// `check`, where given, is asked about each file before it is read.
  explicit ConfFiles(Check check = nullptr, ConfTexts texts = {});
  /// Errors: the check's own; as read_conf_file.
  Result<std::string> read(const std::string& path);
  const ConfTexts& texts() const { return texts_; }

 private:
  Check check_;
  ConfTexts texts_;
};

}  // namespace muster
