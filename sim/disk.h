// The production stores of the controller, journal and history, on a disk that refuses, tears and
// forgets.
#pragma once

#include <memory>

#include "base/rng.h"
#include "env/faulty_disk.h"
#include "journal/journal.h"
#include "store/history/history_store.h"

namespace muster::sim {

class Disk {
 public:
  explicit Disk(std::uint64_t seed) : rng_(seed), disk_(seed) { open(); }

  muster::Journal& journal() { return *journal_; }
  HistoryStore& history() { return *history_; }

  /// One of the next calls fails in some way: a write, a sync, whatever comes, or the machine loses
  /// its power.
  void strike_soon();
  /// One of the next writes finds no room.
  void fill() { disk_.arm(testing::Fault::kFull, rng_.below(20) + 1); }
  /// Nothing is about to fail any more.
  void heal() { disk_.heal(); }
  /// The machine is gone: nothing is written any more until restart().
  bool is_gone() const { return disk_.is_gone(); }
  /// The controller is gone, its machine perhaps with it, and the stores are opened anew: also when
  /// the disk refuses that for a while.
  void restart();

  using Image = testing::FaultyDisk::Image;
  Image image() const { return disk_.image(); }
  /// The stores as they were when the copy was taken; of an empty one, none.
  void put_back(const Image& image);

 private:
  void open();
  Status open_once();
  void close();

  Rng rng_;
  testing::FaultyDisk disk_;
  std::unique_ptr<muster::Journal> journal_;
  std::unique_ptr<HistoryStore> history_;
};

}  // namespace muster::sim
