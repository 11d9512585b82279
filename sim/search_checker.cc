#include "sim/search_checker.h"

#include <map>
#include <set>

#include "base/check.h"
#include "platform/search/search_role.h"

namespace muster::sim {

namespace {

/// What trials begin with is the core's to say, not the search's.
bool is_same_search(const std::vector<TrialPlan>& a, std::vector<TrialPlan> b) {
  for (TrialPlan& plan : b) {
    plan.source.clear();
    plan.awaits_source = false;
  }
  return a == b;
}

}  // namespace

struct SearchChecker::Searches {
  std::map<ExperimentId, search::Searcher> by_id;
  std::map<JobId, Collection> collections;
};

SearchChecker::SearchChecker() : searches_(std::make_unique<Searches>()) {}
SearchChecker::~SearchChecker() = default;

void SearchChecker::follow(const ClusterState& state, const EventBatch& batch) {
  std::set<ExperimentId> seen;
  for (const Event& event : batch.events) {
    if (holds_alternative<ExperimentContinued>(event.body)) ++tally_.continued;
    if (holds_alternative<SearchOperated>(event.body)) ++tally_.operated;
    if (holds_alternative<TrialResized>(event.body)) ++tally_.resized;
    if (holds_alternative<TrialSourced>(event.body)) ++tally_.copies;
    if (const auto* begun = get_if<CollectionBegun>(&event.body))
      searches_->collections[begun->collection.job] = begun->collection;
    if (const auto* ended = get_if<CollectionEnded>(&event.body)) {
      const Collection collection = searches_->collections.at(ended->job);
      if (!ended->is_done)
        tally_.broken_off.insert(collection.uuids.begin(), collection.uuids.end());
      tally_.collections += ended->is_done ? 1 : 0;
    }
    if (holds_alternative<ExperimentDeleted>(event.body)) ++tally_.deleted;
    const auto* decided = get_if<SearchDecided>(&event.body);
    if (decided == nullptr) continue;
    const ExperimentId id = decided->experiment;
    CHECK(seen.insert(id).second, "experiment {} decides twice in a batch", id.value());
    const Experiment* experiment = state.experiments().find(id);
    CHECK(experiment != nullptr, "experiment {} decides before it is there", id.value());
    auto found = searches_->by_id.find(id);
    if (found == searches_->by_id.end())
      found = searches_->by_id.emplace(id, searcher_of(*experiment->spec, nullptr).value()).first;
    const std::size_t count = decided->covered - experiment->covered;
    CHECK(count <= experiment->inputs.size(), "experiment {} decides upon what it was not sent",
          id.value());
    const std::vector<SearchInput> inputs(
        experiment->inputs.begin(),
        experiment->inputs.begin() + static_cast<std::ptrdiff_t>(count));
    const SearchDecided again = ask(found->second, inputs);
    CHECK(*again.state == *decided->state,
          "the search of experiment {} would remember something else", id.value());
    CHECK(is_same_search(again.created, decided->created) && again.stops == decided->stops &&
              again.continued == decided->continued && again.awaits == decided->awaits &&
              again.outcome == decided->outcome,
          "the search of experiment {} would decide something else", id.value());
    ++tally_.decisions;
  }
}

SearchTally SearchChecker::finish(const ClusterState& state) const {
  SearchTally tally = tally_;
  std::map<JobId, TrialId> jobs;
  for (const auto& [id, trial] : state.experiments().trials()) {
    CHECK(trial.is_over(), "trial {} has not ended", id.value());
    CHECK(jobs.emplace(trial.job, id).second, "job {} is that of two trials", trial.job.value());
    const Experiment& experiment = *state.experiments().find(trial.experiment);
    CHECK(trial.restarts <= experiment.spec->max_restarts, "trial {} was tried again {} times",
          id.value(), trial.restarts);
    CHECK(experiment.trials.at(trial.index.value()) == id);
    ++tally.trials;
  }
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    CHECK(is_final(experiment.state) && experiment.open_trials == 0, "experiment {} has not ended",
          id.value());
    CHECK(experiment.state != ExperimentState::kCompleted || experiment.outcome.has_value(),
          "experiment {} is complete and its search is not", id.value());
    ++tally.experiments;
  }
  return tally;
}

}  // namespace muster::sim
