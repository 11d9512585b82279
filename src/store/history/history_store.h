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

/// One ended attempt or step to be stored.
using HistoryObject = std::variant<JobView, StepView>;

/// The key by which history is ordered.
struct HistoryKey {
  JobId job;
  std::uint32_t attempt = 0;
  friend constexpr auto operator<=>(const HistoryKey&, const HistoryKey&) = default;
};

/// The position of a reader that reads history page by page. It is a value; what is stored
/// meanwhile is read if it lies further on.
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

/// What history knows of its last writer: a journal that knows less was restored from a copy, or is
/// a new one.
struct HistoryMark {
  BatchMark until;    ///< every batch up to it has been projected. Epoch 0: which one it was is not
                      ///< recorded
  Epoch epoch;        ///< of the last controller that wrote to it
  JobId highest_job;  ///< of those that have ended; 0: none
};

/// The store into which the journal is projected. Used by one thread at a time. Errors:
/// kUnavailable when storage refuses, kCorruption.
class HistoryProjection {
 public:
  virtual ~HistoryProjection() = default;

  /// Returns the number of the batch up to which every batch has been projected.
  virtual Seq watermark() const = 0;
  /// Returns the mark of the last writer. Cost: a look-up.
  virtual Result<HistoryMark> mark() = 0;
  /// Lets this controller write to it from now on. Durable with the next make_durable().
  virtual Status acquire(Epoch epoch) = 0;
  /// Stores the objects and moves the watermark to `until`, in one transaction. It replaces what is
  /// there already. A power cut may undo it until make_durable(): the journal must keep its batches
  /// until then.
  virtual Status append(const std::vector<HistoryObject>& objects, const BatchMark& until) = 0;
  /// Brings everything appended to stable storage. Cost: a file sync and the copying of what was
  /// written since the last.
  virtual Status make_durable() = 0;
};

/// A projection that can be queried.
class HistoryStore : public HistoryProjection {
 public:
  /// Returns the next attempts of jobs below `until`, in rising order, that were in the system in
  /// the query's time and meet its filter's ids, uids and names; the caller looks at the rest of
  /// the filter. It moves the cursor on. Requires: `until` never falls from call to call. Shape: at
  /// most kRowsMax attempts and about kBytesMax bytes; may be none before the end. Cost: that of
  /// the attempts read, of a few thousand jobs looked at, and, once for each `until`, of the first
  /// few thousand numbers that an index finds.
  virtual Result<HistoryPage> read(const Query& query, HistoryCursor& cursor, JobId until) = 0;
  static constexpr std::size_t kRowsMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{256} << 10;
  /// Returns the next steps of an attempt that have ended, by number, also of one that goes on:
  /// those after `after`, at most `count_max`.
  virtual Result<HistorySteps> steps_of(const HistoryKey& attempt,
                                        std::optional<std::uint32_t> after,
                                        std::size_t count_max) = 0;
  virtual Result<bool> has(JobId job, std::uint32_t attempt) = 0;
  virtual Result<bool> has(const StepId& step) = 0;
  /// Returns the newest attempt of a job. Nullopt inside: not known.
  virtual Result<std::optional<JobView>> find(JobId job) = 0;
  /// Returns what is wrong with the file: a line for each damaged row and each index that does not
  /// fit, and one that says how many more there are. Cost: all of it is read.
  virtual Result<std::vector<std::string>> damage() = 0;
};

}  // namespace muster
