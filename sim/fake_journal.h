// A journal in memory that is slow, refuses, and forgets at a crash what it had not acknowledged, as a disk does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "journal/journal_port.h"
#include "sim/options.h"
#include "sim/timeline.h"
#include "state/cluster_state.h"

namespace muster::sim {

class FakeJournal {
 public:
  FakeJournal(Timeline& timeline, Rng& rng, const Options& options) : timeline_(timeline), rng_(rng), options_(options) {}

  /// Who learns what became of appends; replaced with every start of a controller.
  struct Listener {
    std::function<void(Seq)> on_durable;
    std::function<void()> on_refused;
  };
  void attach(Listener listener) { listener_ = std::move(listener); }
  void append(EventBatchRef batch);
  /// The controller is gone: of what was under way a prefix may have reached the disk, the rest is lost.
  void crash();
  /// The next flush is refused, as by a full disk.
  void fill() { is_full_ = true; }

  Epoch take_lead() { return epoch_ = Epoch(epoch_.value() + 1); }
  /// Every stored batch above `after`, in order.
  void replay(Seq after, const std::function<void(const EventBatch&)>& visit) const;
  Bytes read_blob(BlobId id) const;
  Seq last() const { return Seq(stored_.size()); }

  /// One that is whole.
  struct Checkpoint {
    Seq seq;
    std::vector<std::string> slices;
  };
  void put_checkpoint(Checkpoint checkpoint) { checkpoints_.push_back(std::move(checkpoint)); }
  /// The newest that is not beyond `history`.
  const Checkpoint& checkpoint(Seq history) const;
  /// When the last batch was stored; unset: there is none.
  TimePoint last_time() const { return last_time_; }

 private:
  void flush();
  void store(const EventBatchRef& batch);

  Timeline& timeline_;
  Rng& rng_;
  const Options& options_;
  Listener listener_;
  std::vector<EventBatchRef> stored_;  ///< batch n at n - 1
  std::vector<EventBatchRef> flushing_;
  std::vector<EventBatchRef> waiting_;
  std::map<BlobId, Bytes> blobs_;
  std::vector<Checkpoint> checkpoints_ = std::vector<Checkpoint>(1);  ///< the first is that of nothing
  TimePoint last_time_;
  Epoch epoch_;
  std::uint64_t generation_ = 0;
  bool is_flushing_ = false;
  bool is_full_ = false;
};

}  // namespace muster::sim
