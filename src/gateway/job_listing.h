// The progress of a list of jobs that is made slice by slice, in rising order of ids, while the
// cluster goes on. It decides which jobs the list shows, so that each is on it once. It knows
// numbers alone; query_replica.h looks at the jobs.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace muster {

/// The list shows the jobs that were there when it began, each as it is when its slice is made. An
/// array's record stands for the elements that have not split off: what splits off before the
/// record's slice, with a number of its own, is shown too; what splits off later is on the list
/// already, within the record. Such numbers may lie beyond those that were given when the list
/// began, so there is a second pass:
///
///   first pass: ids below `end`, the next job's when the list began ──▶ second pass: ids from
///   there to what was next when the first pass ended, elements of listed arrays alone ──▶ done
///
/// A listing is a value. Size: that of `named`, and 8 bytes for each slice between which jobs came
/// in.
class JobListing {
 public:
  /// Begins at the first job. `end`: the number that the next job would get now. `named`: only
  /// these are looked at, rising; nullopt: all.
  explicit JobListing(JobId end, std::optional<std::vector<JobId>> named = std::nullopt)
      : end_(end), last_(end), named_(std::move(named)) {}
  /// Makes an empty listing, which shows no job.
  JobListing() : JobListing(JobId(0)) {}

  /// Returns the number below which every job has been looked at.
  JobId position() const { return position_; }
  /// Returns the number before which the jobs to be looked at end, as far as is known now.
  JobId limit() const { return is_second_ ? last_ : end_; }
  bool is_done() const { return is_second_ && position_ >= last_; }
  /// Returns the numbers that were asked for by name. In the second pass there may be more of them
  /// than before.
  const std::optional<std::vector<JobId>>& named() const { return named_; }
  void set_named(std::vector<JobId> named) { named_ = std::move(named); }
  bool is_second_pass() const { return is_second_; }

  /// True when the list shows a job in memory of this number, `array` being that of its array or
  /// zero. Requires: what lies before it has been looked at.
  bool shows(JobId id, JobId array) const;
  /// True when an element is on the list within its array's record, from which it has split off
  /// since. Requires: as above.
  bool has_in_record(JobId id, JobId array) const;
  /// Records that the jobs from the position up to this one, exclusive, have been looked at, when
  /// the next job's number was `next_job`. Requires: position() < `position` <= limit(), or nothing
  /// is left.
  void pass(JobId position, JobId next_job);

 private:
  struct Passed {
    JobId until;     ///< exclusive
    JobId next_job;  ///< at that time
  };
  JobId end_;
  JobId last_;  ///< of the second pass
  JobId position_;
  bool is_second_ = false;
  std::optional<std::vector<JobId>> named_;
  std::vector<Passed> passed_;  ///< rising
};

}  // namespace muster
