// Room on the controller's disk that is held back for the ends of jobs. It is given up when an
// append is refused, and reserved again when there is room. While it is not there no new work is
// accepted.
#pragma once

#include <cstdint>

#include "env/reserve_file.h"

namespace muster {

class DiskReserve {
 public:
  static constexpr std::uint64_t kBytes = 16 << 20;
  /// What must be left beside the reserve before it is made again: else the next batch would be
  /// refused at once.
  static constexpr std::uint64_t kRoomBeside = 2 << 20;

  explicit DiskReserve(ReserveFile& file) : file_(file) {}

  /// Reserves the room where it is not reserved. False: there is none. Cost: a look at the file.
  bool ensure();
  void give_up() { file_.remove(); }

 private:
  ReserveFile& file_;
};

}  // namespace muster
