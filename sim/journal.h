// The controller's journal in virtual time: slow, refusing, and forgetting at a crash what it had
// not acknowledged. Its bytes are on a Disk, or, where a recipe wants speed, only in memory.
#pragma once

#include <functional>
#include <vector>

#include "base/rng.h"
#include "journal/journal_port.h"
#include "sim/disk.h"
#include "sim/options.h"
#include "sim/timeline.h"
#include "state/cluster_state.h"

namespace muster::sim {

class Journal {
 public:
  /// `disk`: null for memory alone.
  Journal(Timeline& timeline, Rng& rng, const Options& options, Disk* disk)
      : timeline_(timeline), rng_(rng), options_(options), disk_(disk) {}

  /// Who learns what became of appends; replaced with every start of a controller.
  struct Listener {
    std::function<void(Seq)> on_durable;
    std::function<void()> on_refused;
  };
  void attach(Listener listener) { listener_ = std::move(listener); }
  void append(EventBatchRef batch);
  /// The controller is gone: of what was under way a prefix may have reached the disk, the rest is
  /// lost.
  void crash();
  /// The next flush is refused, as by a full disk.
  void fill() { is_full_ = true; }

  /// An epoch above every one that is stored, and above `beyond`.
  Epoch take_lead(Epoch beyond);
  /// Every batch above `after` that is stored, in order, also those that a checkpoint has replaced.
  void replay(Seq after, const std::function<void(const EventBatch&)>& visit) const;
  Result<Bytes> read_blob(BlobId id);
  Seq last() const { return Seq(stored_.size()); }
  const std::vector<EventBatchRef>& stored() const { return stored_; }
  /// The cluster's machine keeps its disk, and what is on it is an older copy now.
  void was_put_back(std::vector<EventBatchRef> stored);

  /// One that is whole, of a state in memory.
  struct Checkpoint {
    Seq seq;
    CheckpointSeal seal;
    std::vector<std::string> slices;
  };
  void put_checkpoint(Checkpoint checkpoint) { checkpoints_.push_back(std::move(checkpoint)); }
  /// The newest that is not beyond `history`.
  const Checkpoint& checkpoint(Seq history) const;
  /// When the last batch was stored; unset: there is none.
  TimePoint last_time() const;

 private:
  void flush();
  Status store_all(const std::vector<EventBatchRef>& batches);
  void store(const EventBatchRef& batch);
  void keep(const EventBatchRef& batch);

  Timeline& timeline_;
  Rng& rng_;
  const Options& options_;
  Disk* disk_;
  Listener listener_;
  std::vector<EventBatchRef> stored_;  ///< batch n at n - 1
  std::vector<EventBatchRef> flushing_;
  std::vector<EventBatchRef> waiting_;
  std::vector<EventBatchRef> refused_;  ///< may be there all the same
  std::map<BlobId, Bytes> blobs_;       ///< in memory
  std::vector<Checkpoint> checkpoints_ =
      std::vector<Checkpoint>(1);  ///< the first is that of nothing
  TimePoint last_time_;
  Epoch epoch_;
  std::uint64_t generation_ = 0;
  bool is_flushing_ = false;
  bool is_full_ = false;
};

}  // namespace muster::sim
