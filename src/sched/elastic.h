// Decides for jobs that may run on more or fewer slots on how many each should run next. Slots
// change only between runs, and nobody else's start is delayed by it: the decision becomes a
// request that queues like any other.
//
//   waits, and would not start as it is        ──▶ the most slots on which it would start now
//   runs, settled, and nobody waits for room   ──▶ the most slots on which it would start again at
//   once runs, settled, and somebody waits for room ──▶ the most slots that leave room for the
//   first who waits
// Moulding waiting jobs follows Cirne and Berman, When the herd is smart: aggregate behavior in the
// selection of job request, IEEE TPDS 14(2), 2003 (moldable jobs adapt to what is free); changing
// running ones by checkpoint and restart is as in Vadhiyar and Dongarra, SRS: a framework for
// malleable parallel jobs, CCPE 17, 2005.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/time.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

struct ElasticJob {
  PendingJob job;           ///< as it waits, or as it would if it went back to the queue
  std::uint32_t slots = 1;  ///< that it has or asks for
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  bool is_running = false;
  bool is_steady = false;  ///< of one that runs: it has run long enough to be interrupted
};

struct Resize {
  JobId job;
  std::uint32_t slots = 0;
  friend bool operator==(const Resize&, const Resize&) = default;
};

/// Returns the request of a job on so many slots.
using RequestOf =
    std::function<std::shared_ptr<const ResourceRequest>(JobId job, std::uint32_t slots)>;

/// Returns what should become of one elastic job, if anything should change. Requires: `plan` was
/// made from the snapshot and starts nothing; `all` are the elastic jobs there are. Cost: a copy of
/// the snapshot and O(log(max)) looks of fast_path.h. Determinism: the arguments decide.
std::optional<Resize> resize_of(const ElasticJob& job, const ClusterSnapshot& snapshot,
                                const Plan& plan, std::span<const ElasticJob> all, TimePoint now,
                                const RequestOf& request_of);

}  // namespace muster::sched
