// The files in which supervisors keep what trials' tasks write (stepd/output_capture.h), as the
// shipper uses them.
#pragma once

#include <string>
#include <vector>

#include "agent/output_shipper.h"

namespace muster {

class OutputFiles {
 public:
  /// `folder` need not be there yet.
  explicit OutputFiles(std::string folder) : folder_(std::move(folder)) {}
  std::vector<OutputFile> list() const;
  /// As OutputWorld::read_output; no bytes when the disk refuses.
  OutputPiece read(const OutputFileName& name, std::uint64_t offset, std::size_t bytes_max) const;
  /// Punches a hole; a file system that knows none keeps the bytes.
  void give_up(const OutputFileName& name, std::uint64_t offset) const;
  void remove(const OutputFileName& name) const;

 private:
  std::string path_of(const OutputFileName& name) const {
    return folder_ + "/" + output_file_text(name);
  }
  std::string folder_;
};

}  // namespace muster
