// What has ended: attempts and steps, for sacct, in a store of its own with its own watermark, so
// that each record of the journal is projected exactly once, whatever crashes. SQLite stands behind
// it (sqlite_history.h).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/batch_mark.h"
#include "model/view.h"

namespace muster {

/// One ended attempt or step to be kept.
using HistoryObject = std::variant<JobView, StepView>;

/// What history is ordered by.
struct HistoryKey {
  JobId job;
  std::uint32_t attempt = 0;
  friend constexpr auto operator<=>(const HistoryKey&, const HistoryKey&) = default;
};

/// Where somebody stands who reads history page by page. A value; what is stored meanwhile is read
/// if it lies further on.
struct HistoryCursor {
  HistoryKey after;              ///< everything up to it has been read
  JobId until;                   ///< how far `keys` goes, exclusive; zero: not looked up yet
  bool is_listed = false;        ///< few attempts match, and `keys` names them
  std::vector<HistoryKey> keys;  ///< those that are left, falling
};

struct HistoryPage {
  std::vector<JobView> jobs;  ///< rising
  std::vector<HistoryKey>
      damaged;          ///< of rows that belong here, perhaps, and cannot be trusted: passed over
  bool is_end = false;  ///< everything has been read
};

struct HistorySteps {
  std::vector<StepView> steps;    ///< by number
  std::size_t damaged_count = 0;  ///< rows passed over, as in HistoryPage
  std::optional<std::uint32_t>
      last;  ///< number of the last that was read; nullopt: there are no more
  std::size_t row_count() const { return steps.size() + damaged_count; }
};

/// What history knows of whoever wrote it: a journal that knows less has been put back, or is a new
/// one.
struct HistoryMark {
  BatchMark until;    ///< every batch up to it has been projected. Epoch 0: which one it was is not
                      ///< recorded
  Epoch epoch;        ///< of the last controller that wrote to it
  JobId highest_job;  ///< of those that have ended; 0: none
};

/// What the journal is projected into. Used by one thread at a time. Errors: kUnavailable when
/// storage refuses, kCorruption.
class HistoryProjection {
 public:
  virtual ~HistoryProjection() = default;

  /// Every batch up to it has been projected.
  virtual Seq watermark() const = 0;
  /// Cost: a look-up.
  virtual Result<HistoryMark> mark() = 0;
  /// From now on this controller writes to it. Durable with the next make_durable().
  virtual Status acquire(Epoch epoch) = 0;
  /// Stores the objects and moves the watermark to `until`, in one transaction. What is there
  /// already is replaced. A power cut may take it back until make_durable(): the journal must keep
  /// its batches until then.
  virtual Status append(const std::vector<HistoryObject>& objects, const BatchMark& until) = 0;
  /// Everything appended is on stable storage. Cost: a file sync and the copying of what was
  /// written since the last.
  virtual Status make_durable() = 0;
};

/// The same with what is asked of it.
class HistoryStore : public HistoryProjection {
 public:
  /// The next attempts of jobs below `until`, in rising order, that were in the system in the
  /// query's time and meet its filter's ids, uids and names; the caller looks at the rest of the
  /// filter. Moves the cursor on. Requires: `until` never falls from call to call. Shape: at most
  /// kRowsMax attempts and about kBytesMax bytes; may be none before the end. Cost: that of the
  /// attempts read, of a few thousand jobs looked at, and, once for each `until`, of the first few
  /// thousand numbers that an index finds.
  virtual Result<HistoryPage> read(const Query& query, HistoryCursor& cursor, JobId until) = 0;
  static constexpr std::size_t kRowsMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{256} << 10;
  /// The next steps of an attempt that have ended, by number, also of one that goes on: those after
  /// `after`, at most `count_max`.
  virtual Result<HistorySteps> steps_of(const HistoryKey& attempt,
                                        std::optional<std::uint32_t> after,
                                        std::size_t count_max) = 0;
  virtual Result<bool> has(JobId job, std::uint32_t attempt) = 0;
  virtual Result<bool> has(const StepId& step) = 0;
  /// The newest attempt of a job. Nullopt inside: not known.
  virtual Result<std::optional<JobView>> find(JobId job) = 0;
  /// What is wrong with the file: a line for each damaged row and each index that does not fit, and
  /// one that says how many more there are. Cost: all of it is read.
  virtual Result<std::vector<std::string>> damage() = 0;
};

}  // namespace muster
