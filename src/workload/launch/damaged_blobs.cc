#include "workload/launch/damaged_blobs.h"

#include <fmt/format.h>

#include <vector>

namespace muster {

std::string blob_finding(const ClusterState& state, BlobId blob) {
  // The finding is one line of a log.
  constexpr std::size_t kNamedMax = 16;
  std::vector<std::string> jobs;
  state.jobs().for_each([&](const Job& job) {
    if (job.is_over() || (job.spec->script != blob && job.spec->environment != blob)) return;
    if (jobs.size() < kNamedMax)
      jobs.push_back(fmt::format("{}{}", job.id.value(),
                                 job.spec->script == blob ? "" : " (its environment)"));
    else if (jobs.size() == kNamedMax)
      jobs.emplace_back("...");
  });
  return fmt::format(
      "blob {} is damaged; jobs that need it: {}", blob.value(),
      jobs.empty() ? "none that is not over" : fmt::format("{}", fmt::join(jobs, ", ")));
}

}  // namespace muster
