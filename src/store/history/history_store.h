// What has ended: attempts and steps, for sacct. A file of its own with its own watermark, so that
// each record of the journal is projected exactly once, whatever crashes.
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

/// One open history file. Used by one thread at a time. Every row carries a digest; those written
/// before there were digests are believed as they are. Errors: kUnavailable when the disk refuses,
/// kCorruption.
class HistoryStore {
 public:
  static Result<std::unique_ptr<HistoryStore>> open(const std::string& path);
  /// To read beside the one who writes. Errors: also kNotFound where there is none.
  static Result<std::unique_ptr<HistoryStore>> open_to_read(const std::string& path);
  ~HistoryStore();

  /// Every batch up to it has been projected.
  Seq watermark() const { return watermark_; }
  /// Cost: a look-up.
  Result<HistoryMark> mark();
  /// From now on this controller writes to it. Durable with the next make_durable().
  Status take_over(Epoch epoch);
  /// Stores the objects and moves the watermark to `until`, in one transaction. What is there
  /// already is replaced. A power cut may take it back until make_durable(): the journal must keep
  /// its batches until then.
  Status append(const std::vector<HistoryObject>& objects, const BatchMark& until);
  /// Everything appended is on stable storage. Cost: a file sync and the copying of what was
  /// written since the last.
  Status make_durable();

  /// The next attempts of jobs below `until`, in rising order, that were in the system in the
  /// query's time and meet its filter's ids, uids and names; the caller looks at the rest of the
  /// filter. Moves the cursor on. Requires: `until` never falls from call to call. Shape: at most
  /// kRowsMax attempts and about kBytesMax bytes; may be none before the end. Cost: that of the
  /// attempts read, of a few thousand jobs looked at, and, once for each `until`, of the first few
  /// thousand numbers that an index finds.
  Result<HistoryPage> read(const Query& query, HistoryCursor& cursor, JobId until);
  static constexpr std::size_t kRowsMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{256} << 10;
  /// The next steps of an attempt that have ended, by number, also of one that goes on: those after
  /// `after`, at most `count_max`.
  Result<HistorySteps> steps_of(const HistoryKey& attempt, std::optional<std::uint32_t> after,
                                std::size_t count_max);
  Result<bool> has(JobId job, std::uint32_t attempt);
  Result<bool> has(const StepId& step);
  /// The newest attempt of a job. Nullopt inside: not known.
  Result<std::optional<JobView>> find(JobId job);
  /// What is wrong with the file: a line for each damaged row and each index that does not fit, and
  /// one that says how many more there are. Cost: all of it is read.
  Result<std::vector<std::string>> damage();

 private:
  struct Statements;
  struct Records;
  struct Row;
  struct RowReader;
  struct Look;
  Status look_up_keys(const Query& query, HistoryCursor& cursor, JobId until);
  Result<Records> read_listed(HistoryCursor& cursor);
  Result<Records> read_blocks(const Query& query, HistoryCursor& cursor, JobId until);
  explicit HistoryStore(std::unique_ptr<Statements> statements);
  std::unique_ptr<Statements> sql_;
  std::string path_;
  bool is_log_doubted_ = false;  ///< a sync of it has failed since it was written anew
  Seq watermark_;
};

}  // namespace muster
