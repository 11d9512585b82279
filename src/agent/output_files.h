// The files in which supervisors store what trials' tasks write (stepd/output_capture.h), as the
// shipper reads, shortens and removes them.
#pragma once

#include <string>
#include <vector>

#include "agent/output_shipper.h"

namespace muster {

/// Each call opens the file anew and holds nothing afterwards. A supervisor may append meanwhile.
/// Thread: any; every call does I/O on the spool's disk and may block as long as that does.
class OutputFiles {
 public:
  /// `folder` is the spool's output_folder(); it need not exist yet.
  explicit OutputFiles(std::string folder) : folder_(std::move(folder)) {}
  /// Returns all output files with their sizes in bytes, given-up parts included, in no particular
  /// order. Empty when the folder cannot be read; files of other names are passed over.
  std::vector<OutputFile> list() const;
  /// Returns at most `bytes_max` bytes from `offset` on, or from the first that was not given up
  /// behind it: the piece says which. No bytes: the file is gone, has no more, or the disk refuses.
  OutputPiece read(const OutputFileName& name, std::uint64_t offset, std::size_t bytes_max) const;
  /// Frees the room of the whole blocks before `offset`, by a hole; offsets and size stay. On a
  /// file system without holes nothing happens.
  void give_up(const OutputFileName& name, std::uint64_t offset) const;
  /// Deletes the file, if it is there.
  void remove(const OutputFileName& name) const;

 private:
  std::string path_of(const OutputFileName& name) const {
    return folder_ + "/" + output_file_text(name);
  }
  std::string folder_;
};

}  // namespace muster
