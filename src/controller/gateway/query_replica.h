// The replica that answers reads: follows the durable log, so that clients read what they wrote, and costs the core
// nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/gateway/user_index.h"
#include "controller/planning/planner_role.h"
#include "model/view.h"
#include "state/cluster_state.h"

namespace muster {

/// What the core knows of nodes beside the state; sent from time to time.
struct NodeFact {
  TimePoint last_contact;
  std::uint32_t load_hundredths = 0;
  std::uint64_t free_memory_mib = 0;
};

/// The encoded pages of an answer, shared by everybody who asks the same at the same sequence number.
using Pages = std::shared_ptr<const std::vector<std::string>>;

class QueryReplica {
 public:
  explicit QueryReplica(std::string host, std::string version, std::string http_address = {})
      : host_(std::move(host)), version_(std::move(version)), http_address_(std::move(http_address)) {}

  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// When the controller was started, for `scontrol show config`.
  void set_boot_time(TimePoint time) { boot_time_ = time; }
  void apply(const EventBatch& batch);
  void set_report(std::shared_ptr<const PlanReport> report);
  void set_node_facts(std::vector<NodeFact> facts);

  /// Answers every kind but kHistory and kBatchScript. Errors: kNotFound "Invalid job id specified" when exactly one job
  /// is named and it is not there. Cost: O(objects looked at); nothing when the same was asked since the last change.
  /// `reader`: keys in configurations are shown to their owners alone.
  Result<Pages> answer(const Identity& reader, const Query& query);
  /// True when steps of that attempt have left the state because history has them.
  bool has_forgotten_steps(JobId job, std::uint32_t attempt) const;
  /// The live part of a history answer: jobs not over, and those over that `is_stored` does not name.
  std::vector<std::pair<JobView, std::vector<StepView>>> live_history(
      const Query& query, const std::function<bool(JobId, std::uint32_t)>& is_stored);

  JobView job_view(const Job& job, QueryDetail detail) const;

 private:
  struct Cached {
    Pages pages;
    std::uint64_t change = 0;
  };
  Result<std::vector<const Job*>> select(const JobFilter& filter);
  Result<std::vector<std::string>> job_pages(const Query& query);
  Result<std::vector<std::string>> step_pages(const Query& query);
  std::vector<std::string> node_pages() const;
  Result<std::vector<std::string>> experiment_pages(const Identity& reader, const Query& query) const;
  Result<std::vector<std::string>> trial_pages(const Identity& reader, const Query& query) const;
  Result<std::vector<std::string>> checkpoint_pages(const Identity& reader, const Query& query) const;
  Result<std::vector<std::string>> document_pages(const Query& query) const;
  Result<std::vector<TrialId>> trials_of(const Query& query) const;
  std::string one_page(const Query& query) const;

  TimePoint boot_time_;
  std::string host_;
  std::string version_;
  std::string http_address_;
  ClusterState state_;
  UserIndex users_;
  std::shared_ptr<const PlanReport> report_;
  std::vector<NodeFact> node_facts_;
  std::map<std::string, Cached> cache_;
  std::uint64_t change_ = 1;        ///< rises with everything that can change an answer
  std::uint64_t facts_change_ = 1;  ///< rises with what only answers about nodes show
};

}  // namespace muster
