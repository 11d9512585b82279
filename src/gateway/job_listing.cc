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
  const auto slice = std::ranges::upper_bound(passed_, array, {}, &Passed::until);
  return slice == passed_.end() || id >= slice->next_job;
}

void JobListing::pass(JobId position, JobId next_job) {
  CHECK(position >= position_ && position <= limit(), "a list of jobs goes from {} to {}",
        position_.value(), position.value());
  position_ = position;
  if (!passed_.empty() && passed_.back().next_job == next_job) {
    passed_.back().until = position;
  } else {
    passed_.push_back({position, next_job});
  }
  if (is_second_ || position_ < end_) return;
  is_second_ = true;
  last_ = std::max(end_, next_job);
}

}  // namespace muster
