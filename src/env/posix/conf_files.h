// Reads the files of a configuration: its own, and those that it includes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "slurm/conf/conf_lines.h"

namespace muster {

/// Returns the whole file. Errors: with the path, kNotFound and the system's reason;
/// kInvalidArgument: it is a folder, a pipe or the like.
Result<std::string> read_conf_file(const std::string& path);

/// Returns a reader of what a configuration includes, in the folder of its own file unless the path
/// is absolute.
IncludeReader include_reader(
    const std::string& conf_path,
    std::function<Result<std::string>(const std::string& path)> read = read_conf_file);

/// Texts of files, by path.
using ConfTexts = std::map<std::string, std::string>;
std::string conf_texts_bytes(const ConfTexts& texts);
/// Reads what conf_texts_bytes wrote; empty where the bytes are no such.
ConfTexts parse_conf_texts(std::string_view bytes);

/// Reads files and stores their texts; a text that is there already is returned, whatever became of
/// the file.
class ConfFiles {
 public:
  using Check = std::function<Status(const std::string& path)>;
  /// Begins with texts. `check`, where given, is asked about each file before it is read.
  explicit ConfFiles(Check check = nullptr, ConfTexts texts = {});
  /// Returns the file's text. Errors: the check's own; as read_conf_file.
  Result<std::string> read(const std::string& path);
  const ConfTexts& texts() const { return texts_; }

 private:
  Check check_;
  ConfTexts texts_;
};

}  // namespace muster
