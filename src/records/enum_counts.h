// The number of enumerators of each recorded enum: a larger value in a record was written by a
// newer version, or is damaged. Internal to records/.
#pragma once

#include "model/agent_message.h"
#include "model/event.h"
#include "model/view.h"

namespace muster::records {

/// One more than the highest enumerator that this version knows; enumerators count from 0 (those of
/// `ErrorCode` from 1, and a recorded 0 passes). Specialised for each enum that is recorded;
/// reading one without a specialisation does not compile.
template <class Enum>
inline constexpr unsigned kEnumCount = 0;

template <>
inline constexpr unsigned kEnumCount<ErrorCode> = 13;
template <>
inline constexpr unsigned kEnumCount<ErrorCause> = 12;
template <>
inline constexpr unsigned kEnumCount<JobKind> = 3;
template <>
inline constexpr unsigned kEnumCount<JobState> = kJobStateCount;
template <>
inline constexpr unsigned kEnumCount<JobVerb> = 8;
template <>
inline constexpr unsigned kEnumCount<UpdateKind> = 4;
template <>
inline constexpr unsigned kEnumCount<MemoryScope> = 4;
template <>
inline constexpr unsigned kEnumCount<Sharing> = 4;
template <>
inline constexpr unsigned kEnumCount<PartitionState> = 4;
template <>
inline constexpr unsigned kEnumCount<PendingReason> = 31;
template <>
inline constexpr unsigned kEnumCount<DependencyKind> = 6;
template <>
inline constexpr unsigned kEnumCount<DependencyState> = 3;
template <>
inline constexpr unsigned kEnumCount<QueryKind> = 14;
template <>
inline constexpr unsigned kEnumCount<QueryDetail> = 4;
template <>
inline constexpr unsigned kEnumCount<StepPhase> = 4;
template <>
inline constexpr unsigned kEnumCount<ExperimentState> = 10;
template <>
inline constexpr unsigned kEnumCount<ExperimentVerb> = 7;
template <>
inline constexpr unsigned kEnumCount<TrialState> = 4;
template <>
inline constexpr unsigned kEnumCount<Visibility> = 3;
template <>
inline constexpr unsigned kEnumCount<TrialExit> = 4;
template <>
inline constexpr unsigned kEnumCount<SearchOutcome> = 3;
template <>
inline constexpr unsigned kEnumCount<StopCause> = 5;
template <>
inline constexpr unsigned kEnumCount<SearchVerb> = 5;
template <>
inline constexpr unsigned kEnumCount<StopCall> = 5;
template <>
inline constexpr unsigned kEnumCount<RunSignal> = 2;
template <>
inline constexpr unsigned kEnumCount<LogAction> = 3;
template <>
inline constexpr unsigned kEnumCount<CheckpointState> = 5;
template <>
inline constexpr unsigned kEnumCount<DocumentKind> = 7;
template <>
inline constexpr unsigned kEnumCount<LogOwnerKind> = 2;
template <>
inline constexpr unsigned kEnumCount<LogStream> = 2;
template <>
inline constexpr unsigned kEnumCount<LogLevel> = 7;

}  // namespace muster::records
