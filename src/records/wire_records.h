// Requests, queries, views and agent messages as Cap'n Proto structs.
#pragma once

#include <type_traits>

#include "records/model_records.h"
#include "schema/wire.capnp.h"

namespace muster::records {

/// True for requests that people and runs make over HTTP alone, in the forms of Determined's REST:
/// the wire has no such request.
template <class Kind>
inline constexpr bool kIsAskedOverHttpAlone =
    std::is_same_v<Kind, RecordRun> || std::is_same_v<Kind, RecordCheckpoint> ||
    std::is_same_v<Kind, OperateSearch> || std::is_same_v<Kind, ImportExperiment> ||
    std::is_same_v<Kind, ImportTrial> || std::is_same_v<Kind, ImportCheckpoint>;

DECLARE_RECORD(JobFilter, schema::JobFilter)
DECLARE_RECORD(Request, schema::Request)
DECLARE_RECORD(Query, schema::Query)
DECLARE_RECORD(JobView, schema::JobView)
/// Writes the value with those of its specification's texts alone whose bits (of JobText) are in
/// `texts`.
void write(schema::JobView::Builder builder, const JobView& value, std::uint64_t texts);
/// Writes what QueryDetail::kRow asks for. Requires: `value.spec` is not null.
void write(schema::JobRow::Builder builder, const JobView& value);
void read(schema::JobRow::Reader reader, JobView& value);
DECLARE_RECORD(StepView, schema::StepView)
DECLARE_RECORD(NodeView, schema::NodeView)
DECLARE_RECORD(PartitionView, schema::PartitionView)
DECLARE_RECORD(PingView, schema::PingView)
DECLARE_RECORD(ExperimentView, schema::ExperimentView)
DECLARE_RECORD(TrialView, schema::TrialView)
DECLARE_RECORD(LogQuery, schema::LogQuery)
DECLARE_RECORD(LogPage, schema::LogPage)
DECLARE_RECORD(ToAgent, schema::AgentMessage)
DECLARE_RECORD(FromAgent, schema::AgentMessage)

}  // namespace muster::records
