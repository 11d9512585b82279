// Records on whose behalf a process died: the handler of the fatal signal writes a small file, the
// next run reads it. While all goes well a record costs a store in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// There is one for a process at a time. Only the death of a watched thread counts, with the job
/// that this thread works on: what ends the process from outside, or in another thread, says
/// nothing about a job.
class CrashRecord {
 public:
  /// Opens or makes the file, reads what the last run left, and begins anew. From now on a fatal
  /// signal is recorded. A run that went on for `well` before it died begins the row anew: what did
  /// not kill it then is no reason to hold a job now. Errors: kUnavailable.
  static Result<std::unique_ptr<CrashRecord>> open(const std::string& path,
                                                   Duration well = Duration::minutes(10));
  ~CrashRecord();
  CrashRecord(const CrashRecord&) = delete;
  CrashRecord& operator=(const CrashRecord&) = delete;

  /// Returns the job that the last run died of, and how many runs in a row did. Zero: it did not
  /// die of one.
  JobId last_job() const { return last_job_; }
  std::uint32_t deaths() const { return deaths_; }

  /// Makes the calling thread's death count from now on.
  void watch_this_thread();
  /// Says that what the calling thread does is done for this job; 0: for none.
  void works_on(JobId job);
  /// Returns where that is stored for the calling thread. Lifetime: the thread's.
  JobId& work_of_this_thread();

 private:
  CrashRecord() = default;
  JobId last_job_;
  std::uint32_t deaths_ = 0;
};

}  // namespace muster
