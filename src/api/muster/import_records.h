// Turns the records of another cluster's history into requests of our own.
// python/muster/moving/README.md says what a record is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/json.h"
#include "model/metric.h"
#include "model/request.h"

namespace muster::api {

/// Somebody's account on this machine, or the operator's where the machine does not know him.
struct ImportOwner {
  UserId user;
  GroupId group;
  std::string name;  ///< as he was called there
  std::string home = "/";
};

/// What earlier records have said.
struct ImportContext {
  std::string source;                          ///< the cluster's id there
  std::map<std::int64_t, ImportOwner> owners;  ///< by the user's id there
  ImportOwner unknown;                         ///< of what names no user: the operator
  std::map<std::int64_t, std::string> workspaces;
  struct Project {
    std::int64_t workspace = 0;
    std::string name;
  };
  std::map<std::int64_t, Project> projects;
  TimePoint now;

  const ImportOwner& owner_of(const Json& record) const;
  /// Returns "source/12": the name under which what has that id there is known here.
  std::string origin(std::int64_t id) const;
};

/// Reads an experiment. Errors, here and below: kInvalidArgument names the member that is wrong.
Result<ImportExperiment> experiment_of(const Json& record, const ImportContext& context);
/// Reads a trial, under an experiment of ours.
Result<ImportTrial> trial_of(const Json& record, ExperimentId experiment);
Result<ImportCheckpoint> checkpoint_of(const Json& record, TrialId trial);
/// Reads a report. Reports of all runs count as one run's: the other cluster decided which of them
/// is valid.
Result<MetricReport> report_of(const Json& record, TrialId trial);
Result<Document> workspace_of(const Json& record, const ImportContext& context);
/// Reads a project. `parent`: our workspace.
Result<Document> project_of(const Json& record, const ImportContext& context, std::uint32_t parent);
Result<Document> model_of(const Json& record, const ImportContext& context);
/// Reads a version of a model. `parent`: our model.
Result<Document> version_of(const Json& record, const ImportContext& context, std::uint32_t parent);

/// Returns the origin that a document of ours was imported under; empty: it was not.
std::string origin_of(const Document& document);

/// Returns a whole number from 1 under that name. Errors: kInvalidArgument.
Result<std::uint32_t> record_id(const Json& record, const char* name);

}  // namespace muster::api
