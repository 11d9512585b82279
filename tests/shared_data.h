// The data sets that tests read beside the source tree, in ../shared/data. A test whose file is not
// there says that it is skipped.
#pragma once

#include <zlib.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace muster::shared_data {

inline std::string data_path(const std::string& name) {
  const char* source = std::getenv("MUSTER_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/../shared/data/" + name;
}

/// All lines, of a compressed file too; none where there is no such file.
inline std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files too
  if (file == nullptr) return lines;
  char buffer[4096];
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    std::string line(buffer);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  gzclose(file);
  return lines;
}

inline std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

}  // namespace muster::shared_data
