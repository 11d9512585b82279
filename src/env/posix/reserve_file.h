// A reserve file on this machine's disk.
#pragma once

#include <string>

#include "env/reserve_file.h"

namespace muster {

class PosixReserveFile final : public ReserveFile {
 public:
  /// Names the file. Requires: `path` has a folder, which is there.
  explicit PosixReserveFile(std::string path) : path_(std::move(path)) {}
  std::uint64_t size() const override;
  std::uint64_t free_bytes() const override;
  bool lay_down(std::uint64_t bytes) override;
  void remove() override;

 private:
  std::string path_;
};

}  // namespace muster
