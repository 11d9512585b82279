// Says which module answers which kind of request, and whose each timer is. A kind that stands in
// no list does not compile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/command.h"
#include "engine/job_timers.h"

namespace muster {

enum class ModuleName : std::uint8_t { kWorkload = 0, kPlatform = 1 };
inline constexpr std::size_t kModuleCount = 2;

/// The requests about jobs, steps, nodes and partitions.
struct WorkloadRequests
    : TypeList<PreparedSubmit, PreparedStep, CancelJobs, ControlJobs, PreparedUpdate,
               ReleaseAllocation, RenewLease, CancelStep, Reconfigure> {};
/// The requests about experiments, trials, checkpoints and the catalog.
struct PlatformRequests
    : TypeList<PreparedExperiment, ControlExperiments, UpdateExperiment, ReportTrial, FlagTrial,
               SearchDecision, RecordRun, RecordCheckpoint, StoreDocument, DeleteDocument,
               PreparedContinuation, DeleteCheckpoints, CollectCheckpoints, SetLogRetention,
               RecordLogMatch, OperateSearch, ImportExperiment, ImportTrial, ImportCheckpoint> {};

template <class Kind>
concept WorkloadRequest = (WorkloadRequests::template kIndexOf<Kind> < WorkloadRequests::kSize);
template <class Kind>
concept PlatformRequest = (PlatformRequests::template kIndexOf<Kind> < PlatformRequests::kSize);

ModuleName module_of(const PreparedRequest& request);
ModuleName module_of(TimerKind kind);

/// True when the request asks for work that was not there before: it is refused while the disk is
/// full.
bool is_new_work(const PreparedRequest& request);
/// True when the request is not to be drafted together with others: two about one experiment might
/// contradict each other, a filter may mean any number of jobs, and a step may wait for its job's
/// CPUs.
bool must_stand_alone(const PreparedRequest& request);
/// Returns the job from inside which the request ends or signals something; 0: none.
JobId asking_job(const PreparedRequest& request);

}  // namespace muster
