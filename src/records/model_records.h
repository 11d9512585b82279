// Model values as Cap'n Proto structs: declarations. write() fills a new builder. read() fills a
// fresh value, because what is absent leaves its member alone; a malformed message, or an
// enumerator of a newer version, raises a kj::Exception, which callers at the level of codecs
// (batch_codec, page_codec, wire/) turn into an Error.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/agent_message.h"
#include "model/event.h"
#include "model/view.h"
#include "schema/model.capnp.h"

namespace muster::records {

// NOLINTBEGIN(bugprone-macro-parentheses): they are names of types.
#define DECLARE_RECORD(Type, Schema)                      \
  void write(Schema::Builder builder, const Type& value); \
  void read(Schema::Reader reader, Type& value);
// NOLINTEND(bugprone-macro-parentheses)

DECLARE_RECORD(Error, schema::Error)
DECLARE_RECORD(StepId, schema::StepId)
DECLARE_RECORD(GresGrant, schema::GresGrant)
DECLARE_RECORD(NodeGrant, schema::NodeGrant)
DECLARE_RECORD(Usage, schema::Usage)
DECLARE_RECORD(StepPart, schema::StepPart)
DECLARE_RECORD(GresAmount, schema::GresAmount)
DECLARE_RECORD(std::vector<std::string>, schema::FeatureAlternative)
/// Declares the record of the lists of a request alone: its numbers are recorded with its job.
DECLARE_RECORD(ResourceRequest, schema::ParsedRequest)
DECLARE_RECORD(JobSpec, schema::JobSpec)
/// Writes the value with those of its texts alone whose bits (of JobText) are in `texts`.
void write(schema::JobSpec::Builder builder, const JobSpec& value, std::uint64_t texts);
DECLARE_RECORD(StepSpec, schema::StepSpec)
DECLARE_RECORD(GresPool, schema::GresPool)
DECLARE_RECORD(NodeConfig, schema::NodeConfig)
DECLARE_RECORD(NodeStatus, schema::NodeStatus)
DECLARE_RECORD(PartitionConfig, schema::PartitionConfig)
DECLARE_RECORD(ClusterSettings, schema::ClusterSettings)
DECLARE_RECORD(ClusterConfig, schema::ClusterConfig)
DECLARE_RECORD(ReasonDetail, schema::ReasonDetail)
DECLARE_RECORD(Reasons, schema::Reasons)
DECLARE_RECORD(ArraySpec, schema::ArraySpec)
DECLARE_RECORD(ArrayRange, schema::ArrayRange)
DECLARE_RECORD(DependencyTerm, schema::DependencyTerm)
DECLARE_RECORD(DependencySet, schema::DependencySet)
DECLARE_RECORD(JobSelector, schema::JobSelector)
DECLARE_RECORD(JobOutcome, schema::JobOutcome)

DECLARE_RECORD(ExperimentOutcome, schema::ExperimentOutcome)
DECLARE_RECORD(CheckpointRetention, schema::CheckpointRetention)
DECLARE_RECORD(ExperimentShare, schema::ExperimentShare)
DECLARE_RECORD(ExperimentBudget, schema::ExperimentBudget)
DECLARE_RECORD(Collection, schema::Collection)
DECLARE_RECORD(ExperimentSpec, schema::ExperimentSpec)
DECLARE_RECORD(ExperimentLabels, schema::ExperimentLabels)
DECLARE_RECORD(Checkpoint, schema::Checkpoint)
DECLARE_RECORD(Document, schema::Document)
DECLARE_RECORD(StopReason, schema::StopReason)
DECLARE_RECORD(StopOrder, schema::StopOrder)
DECLARE_RECORD(TrialReport, schema::TrialReport)
DECLARE_RECORD(LogMatch, schema::LogMatch)
DECLARE_RECORD(SearchOperation, schema::SearchOperation)
DECLARE_RECORD(OperationsInput, schema::OperationsInput)
DECLARE_RECORD(ImportedTrial, schema::ImportedTrial)
DECLARE_RECORD(ImportedExperiment, schema::ImportedExperiment)
DECLARE_RECORD(Reply, schema::Reply)

using TextPair = std::pair<std::string, std::string>;
DECLARE_RECORD(TextPair, schema::KeyValue)

}  // namespace muster::records
