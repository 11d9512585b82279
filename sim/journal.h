// The controller's journal in virtual time: the production role on a thread of its own that is
// slow, over storage that refuses, and that forgets at a crash what it had not acknowledged. The
// bytes are on a Disk, or, where a recipe wants speed, only in memory.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "engine/journal/journal_role.h"
#include "journal/testing.h"
#include "sim/disk.h"
#include "sim/options.h"
#include "sim/timeline.h"

namespace muster::sim {

/// What the role writes into: the disk's journal or one in memory, with a list of all that was
/// stored, which no checkpoint shortens.
class JournalStorage final : public muster::Journal {
 public:
  JournalStorage(const Timeline& timeline, Rng& rng, const Options& options, Disk* disk)
      : timeline_(timeline), rng_(rng), options_(options), disk_(disk) {}

  /// The next append is refused, as by a full disk.
  void fill() { is_full_ = true; }
  bool is_about_to_refuse() const { return is_full_; }
  void empty() { is_full_ = false; }
  const std::vector<EventBatchRef>& stored() const { return stored_; }
  /// A batch that was under way at a crash is there.
  void found(const EventBatchRef& batch) { record(batch); }
  /// What is on the disk is an older copy now.
  void was_put_back(std::vector<EventBatchRef> stored);

  // ---- muster::Journal ----
  Result<Epoch> acquire_leadership(Epoch beyond) override;
  Status append(const std::vector<EventBatchRef>& batches, const JournalClock& clock) override;
  Result<std::optional<JournalClock>> clock() override { return base().clock(); }
  Seq last() const override { return Seq(stored_.size()); }
  Status follow(Seq after, const std::function<Status(const EventBatch&)>& visit) override {
    return base().follow(after, visit);
  }
  Result<std::optional<BatchMark>> mark(Seq seq) override { return base().mark(seq); }
  Result<CheckpointSeal> read_checkpoint(const std::function<Status(records::Slice)>& visit,
                                         Seq newest) override {
    return base().read_checkpoint(visit, newest);
  }
  Result<std::string> read_blob(BlobId id) override;
  Result<std::vector<BlobId>> damaged_blobs() override { return base().damaged_blobs(); }
  Status record_damaged(BlobId id) override { return base().record_damaged(id); }
  Result<std::vector<BlobId>> recorded_damaged() override { return base().recorded_damaged(); }
  Status begin_checkpoint() override { return base().begin_checkpoint(); }
  Status add_slice(const std::string& record) override { return base().add_slice(record); }
  Status finish_checkpoint(const CheckpointSeal& seal) override {
    return base().finish_checkpoint(seal);
  }
  Result<bool> truncate(Seq slowest, std::uint32_t rows_max) override {
    return base().truncate(slowest, rows_max);
  }
  Status tidy() override { return base().tidy(); }
  std::function<Status()> tidy_beside() override { return nullptr; }

 private:
  muster::Journal& base() {
    return disk_ != nullptr ? disk_->journal() : static_cast<muster::Journal&>(memory_);
  }
  void record(const EventBatchRef& batch);

  const Timeline& timeline_;
  Rng& rng_;
  const Options& options_;
  Disk* disk_;
  testing::MemoryJournal memory_;
  std::vector<EventBatchRef> stored_;  ///< batch n at n - 1
  Epoch epoch_;
  bool is_full_ = false;
};

/// The reserve on the disk that an append found full: there is no room for it for a while.
class Reserve final : public ReserveFile {
 public:
  explicit Reserve(const Timeline& timeline) : timeline_(timeline) {}
  void fill_until(TimePoint time) { full_until_ = time; }
  std::uint64_t size() const override { return size_; }
  std::uint64_t free_bytes() const override {
    return timeline_.now() < full_until_ ? 0 : UINT64_MAX;
  }
  bool lay_down(std::uint64_t bytes) override {
    size_ = bytes;
    return true;
  }
  void remove() override { size_ = 0; }

 private:
  const Timeline& timeline_;
  TimePoint full_until_;
  std::uint64_t size_ = 0;
};

class Journal final : public JournalRolePort {
 public:
  /// `disk`: null for memory alone.
  Journal(Timeline& timeline, Rng& rng, const Options& options, Disk* disk)
      : timeline_(timeline),
        rng_(rng),
        options_(options),
        disk_(disk),
        storage_(timeline, rng, options, disk),
        file_(timeline) {}

  /// Who hears of it; replaced with every start of a controller.
  struct Listener {
    std::function<void(Seq)> on_durable;
    std::function<void()> on_over;  ///< this run of the controller is: a refusal, or no power
    std::function<void(BlobId, Result<std::string>)> on_blob;
    std::function<void(const std::optional<Error>&)> on_room;
  };
  void attach(Listener listener);
  /// Nobody does any more.
  void detach();
  void send(ToJournal message);
  /// The controller is gone: of what was under way a prefix may have reached the disk, the rest is
  /// lost.
  void crash();
  /// The disk is full from the next append on, for a while.
  void fill();

  JournalStorage& storage() { return storage_; }
  const JournalStorage& storage() const { return storage_; }
  /// Every batch above `after` that was ever stored, in order.
  void replay(Seq after, const std::function<void(const EventBatch&)>& visit) const;
  Seq last() const { return storage_.last(); }
  /// When the last batch was stored; unset: there is none.
  TimePoint last_time();

  // ---- JournalRolePort ----
  void on_durable(Seq seq) override { listener_.on_durable(seq); }
  void on_failure(const Error&) override;
  void on_blob(const FetchBlob& asked, Result<std::string> bytes) override {
    listener_.on_blob(asked.id, std::move(bytes));
  }
  void on_slice() override {}
  void on_room(const std::optional<Error>& refusal) override { listener_.on_room(refusal); }
  void tidy_beside() override {}

 private:
  void begin_turn();
  void end_turn(std::vector<ToJournal> messages);
  Duration steady() const { return timeline_.now() - TimePoint(); }

  Timeline& timeline_;
  Rng& rng_;
  const Options& options_;
  Disk* disk_;
  JournalStorage storage_;
  Reserve file_;
  DiskReserve reserve_{file_};
  std::optional<JournalRole> role_;
  Listener listener_;
  std::vector<ToJournal> waiting_;
  std::vector<EventBatchRef> under_way_;  ///< of the turn that goes on
  std::vector<EventBatchRef> refused_;    ///< may be there all the same
  std::uint64_t generation_ = 0;
  std::uint64_t turns_ = 0;
  bool is_in_turn_ = false;
};

}  // namespace muster::sim
