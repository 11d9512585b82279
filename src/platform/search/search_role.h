// The search as a follower: it reads the inputs of experiments' searches from events and answers
// with their decisions. It has one searcher per experiment and no replica of the state.
//
//   durable batches ──▶ inputs beyond those covered ──▶ Searcher ──▶ SearchDecision ──▶ core ──▶
//   SearchDecided (durable) ──▶ …
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/command.h"
#include "model/event.h"
#include "search/searcher.h"
#include "state/cluster_state.h"

namespace muster {

/// True for batches that the role must see.
bool concerns_search(const EventBatch& batch);

/// Returns the search of an experiment, at its beginning or as it was saved. Errors: what is stored
/// of it cannot be read, by this version at least.
Result<search::Searcher> searcher_of(const ExperimentSpec& spec, const std::string* saved);
/// Returns what a search decides upon inputs, in their order: all of the event but the numbers of
/// experiment, inputs and trials.
SearchDecided ask(search::Searcher& searcher, std::span<const SearchInput> inputs);

/// Returns the search of an experiment with all its inputs, also those that are not decided upon
/// yet: what comes of them is certain.
Result<search::Searcher> searcher_now(const Experiment& experiment);

class SearchRole {
 public:
  /// Loads the experiments that a state has when the role begins to follow it.
  void load(const ClusterState& state);
  void apply(const EventBatch& batch);
  /// Returns decisions upon all inputs that wait. One is in flight for each experiment; it is given
  /// again when the core has not accepted it by `now` + kRetry. Cost: the search's.
  std::vector<SearchDecision> decide(TimePoint now);

  static constexpr Duration kRetry = Duration::seconds(1);

 private:
  struct Search {
    ExperimentSpecRef spec;
    std::optional<search::Searcher> searcher;  ///< null until it is first needed
    std::shared_ptr<const std::string> saved;  ///< its state at `covered`
    std::uint64_t covered = 0;
    std::vector<SearchInput> inputs;  ///< after `covered`
    std::optional<SearchDecision> in_flight;
    TimePoint sent;
  };
  struct Follower;
  static Result<SearchDecision> decide_upon(ExperimentId id, Search& search);
  Search* find(ExperimentId id);

  std::map<ExperimentId, Search> searches_;
};

}  // namespace muster
