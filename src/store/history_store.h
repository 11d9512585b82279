// What has ended: attempts and steps, for sacct. A file of its own with its own watermark, so that each record of the
// journal is projected exactly once, whatever crashes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/view.h"

namespace muster {

/// One ended attempt or step to be kept.
using HistoryObject = std::variant<JobView, StepView>;

/// One open history file. Used by one thread at a time. Errors: kUnavailable when the disk refuses, kCorruption.
class HistoryStore {
 public:
  static Result<std::unique_ptr<HistoryStore>> open(const std::string& path);
  /// To read beside the one who writes. Errors: also kNotFound where there is none.
  static Result<std::unique_ptr<HistoryStore>> open_to_read(const std::string& path);
  ~HistoryStore();

  /// Every batch up to it has been projected.
  Seq watermark() const { return watermark_; }
  /// Stores the objects and moves the watermark, in one transaction. What is there already is replaced.
  /// A power cut may take it back until make_durable(): the journal must keep its batches until then.
  Status append(const std::vector<HistoryObject>& objects, Seq watermark);
  /// Everything appended is on stable storage. Cost: a file sync and the copying of what was written since the last.
  Status make_durable();

  /// Attempts that match and were in the system between `since` and `until`, with their steps, oldest first.
  /// Requires: the filter's host and license lists are empty. `visit` gets each job with its steps.
  Status select(const Query& query, const std::function<void(JobView, std::vector<StepView>)>& visit);
  /// The steps of an attempt that have ended, by number; also of one that goes on.
  Result<std::vector<StepView>> steps_of(JobId job, std::uint32_t attempt);
  Result<bool> has(JobId job, std::uint32_t attempt);
  Result<bool> has(const StepId& step);
  /// The newest attempt of a job. Nullopt inside: not known.
  Result<std::optional<JobView>> find(JobId job);

 private:
  struct Statements;
  explicit HistoryStore(std::unique_ptr<Statements> statements);
  std::unique_ptr<Statements> sql_;
  Seq watermark_;
};

}  // namespace muster
