// Only numbers are compared here, so that the rule "each job once" is tested without a cluster.
#include "gateway/job_listing.h"

#include <algorithm>

#include "base/check.h"

namespace muster {

bool JobListing::shows(JobId id, JobId array) const {
  if (id < end_) return true;
  return array.value() != 0 && array < end_ && !has_in_record(id, array);
}

bool JobListing::has_in_record(JobId id, JobId array) const {
  if (id < end_ || array.value() == 0 || array >= end_) return false;
  // The slice in which its array's record was shown: elements with numbers from then on had not
  // split off.
  const auto slice = std::ranges::upper_bound(passed_, array, {}, &Passed::until);
  return slice == passed_.end() || id >= slice->next_job;
}

void JobListing::pass(JobId position, JobId next_job) {
  CHECK(position >= position_ && position <= limit(), "a list of jobs goes from {} to {}",
        position_.value(), position.value());
  position_ = position;
  // Slices between which no job came in need no entry of their own.
  if (!passed_.empty() && passed_.back().next_job == next_job) {
    passed_.back().until = position;
  } else {
    passed_.push_back({position, next_job});
  }
  if (is_second_ || position_ < end_) return;
  is_second_ = true;
  // The second pass ends where numbers stood when the first ended: what is split off later was in
  // its record.
  last_ = std::max(end_, next_job);
}

}  // namespace muster
