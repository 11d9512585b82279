// Knows what to look for in trials' output, and what has been found. It follows what is durable and
// has no replica of the state. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/event.h"
#include "model/experiment_config.h"
#include "state/cluster_state.h"
#include "store/logs/log_pattern.h"

namespace muster {

/// True for batches that the book must see.
bool concerns_logs(const EventBatch& batch);

/// What an experiment's file asks to watch for.
struct WatchRules {
  struct Policy {
    LogPolicy policy;  ///< with its pattern for a name where it has none
    std::shared_ptr<const logs::LogPattern> pattern;
  };
  std::vector<Policy> policies;  ///< those that are on
  bool reads_metrics = true;     ///< rank 0's standard output
  std::string metric;            ///< the search's: with it a report is a validation
};
/// Returns the rules of a configuration. Policies that were refused when the experiment was made
/// are not among them.
WatchRules watch_rules_of(const ExperimentConfig& config);

class LogBook {
 public:
  /// Loads what a state has when the book begins to follow it.
  void load(const ClusterState& state);
  void apply(const EventBatch& batch);

  /// Returns a trial's rules; null: there is no such trial. Valid until the next call of any
  /// method. Cost: an experiment's configuration is read when first needed.
  const WatchRules* rules_of(TrialId trial);
  bool is_matched(TrialId trial, std::uint32_t run, const std::string& policy) const;
  /// Records a match that was found and is on its way to the journal.
  void record_match(TrialId trial, std::uint32_t run, const std::string& policy);
  /// True when the run reports by itself.
  bool has_session(TrialId trial, std::uint32_t run) const;

 private:
  struct Watched {
    ExperimentId experiment;
    JobId job;
    std::uint32_t run = 1;                                    ///< the present or the next one
    bool has_session = false;                                 ///< of that run
    std::set<std::pair<std::uint32_t, std::string>> matched;  ///< runs and policies
  };
  struct Follower;

  std::map<ExperimentId, ExperimentSpecRef> experiments_;
  std::map<ExperimentId, std::unique_ptr<const WatchRules>>
      rules_;  ///< of experiments that wrote something lately
  std::map<TrialId, Watched> trials_;
  std::map<JobId, TrialId> jobs_;  ///< of trials that have not ended
};

}  // namespace muster
