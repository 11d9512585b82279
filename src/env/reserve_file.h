// A file that reserves room on a disk so that nothing else uses it, and the disk under it.
#pragma once

#include <cstdint>

namespace muster {

class ReserveFile {
 public:
  virtual ~ReserveFile() = default;
  /// Returns its bytes; 0: it is not there, or cannot be looked at.
  virtual std::uint64_t size() const = 0;
  /// Returns how many bytes an ordinary process may still write to that disk.
  virtual std::uint64_t free_bytes() const = 0;
  /// Makes it that long, with room on the disk for all of it. False: there was none, and nothing is
  /// left of it.
  virtual bool lay_down(std::uint64_t bytes) = 0;
  virtual void remove() = 0;
};

}  // namespace muster
