#include "engine/journal/disk_reserve.h"

namespace muster {

bool DiskReserve::ensure() {
  if (file_.size() == kBytes) return true;
  if (file_.free_bytes() < kBytes + kRoomBeside) return false;
  return file_.lay_down(kBytes);
}

}  // namespace muster
