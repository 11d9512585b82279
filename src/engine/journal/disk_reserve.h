// Room on the controller's disk that is held back for the ends of jobs: given up when an append is
// refused, laid down again when there is room. While it is not there no new work is taken.
#pragma once

#include <cstdint>

#include "env/reserve_file.h"

namespace muster {

class DiskReserve {
 public:
  static constexpr std::uint64_t kBytes = 16 << 20;
  /// What must be left beside it before it is laid down again: else the next batch would be refused
  /// at once.
  static constexpr std::uint64_t kRoomBeside = 2 << 20;

  explicit DiskReserve(ReserveFile& file) : file_(file) {}

  /// True: it is there, or was laid down now. Cost: a look at the file.
  bool ensure();
  void give_up() { file_.remove(); }

 private:
  ReserveFile& file_;
};

}  // namespace muster
