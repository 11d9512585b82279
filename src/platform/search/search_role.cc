// A follower on a thread of its own, because methods may take long. Its searchers are caches: each
// is made from the last decision's saved state, and what was asked since is asked again in the same
// order, which makes the same decision.
#include "platform/search/search_role.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "platform/config/prepare_experiment.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster {
namespace {

struct Concerns {
  template <class Body>
  bool operator()(const Body&) const {
    return std::is_same_v<Body, ExperimentCreated> || std::is_same_v<Body, ExperimentChanged> ||
           std::is_same_v<Body, ExperimentContinued> || std::is_same_v<Body, SearchAsked> ||
           std::is_same_v<Body, SearchDecided>;
  }
};

/// All trials of a search have as many slots, so that a limit of slots is one of trials.
void limit_slots(ExperimentConfig& config) {
  if (!config.resources.max_slots) return;
  const std::uint32_t trials =
      // At least one trial, whatever the limit.
      std::max(*config.resources.max_slots / std::max(config.resources.slots_per_trial, 1U), 1U);
  std::uint32_t& limit = config.search.max_concurrent_trials;
  limit = limit == 0 ? trials : std::min(limit, trials);
}

struct Ask {
  search::Searcher& searcher;
  std::set<TrialIndex>& touched;
  std::vector<SearchAction> operator()(const SearchBegun&) { return searcher.begin(); }
  std::vector<SearchAction> operator()(const ReportInput& input) {
    touched.insert(input.trial);
    return searcher.reported(input.trial, input.report);
  }
  std::vector<SearchAction> operator()(const ExitInput& input) {
    return searcher.exited(input.trial, input.exit, input.metric);
  }
  std::vector<SearchAction> operator()(const AgainInput& input) {
    return searcher.again(input.trial, input.was);
  }
  std::vector<SearchAction> operator()(const OperationsInput& input) {
    std::vector<Json> hparams;
    for (const SearchOperation& one : input.operations) {
      // check_operations has read it: a failure here cannot be the client's.
      auto parsed =
          one.verb == SearchVerb::kCreate ? parse_json(one.hparams) : Result<Json>(Json());
      hparams.push_back(parsed.has_value() ? std::move(parsed).value() : Json(Json::Object{}));
    }
    return searcher.operate(input, hparams);
  }
  std::vector<SearchAction> operator()(const LimitInput& input) {
    return searcher.set_max_concurrent(input.max_concurrent);
  }
};

/// Sorts a search's actions into a decision.
struct Sort {
  SearchDecided& decided;
  std::set<TrialIndex>& touched;
  void operator()(CreateTrial& action) {
    touched.insert(action.trial);
    decided.created.push_back({action.trial, action.seed, action.bracket, json_text(action.hparams),
                               action.target, action.clone_of, std::move(action.source)});
  }
  void operator()(ContinueTrial& action) {
    touched.insert(action.trial);
    decided.continued.push_back(action);
  }
  void operator()(StopTrial& action) { decided.stops.push_back(action); }
  void operator()(FinishSearch& action) { decided.outcome = action.outcome; }
};

}  // namespace

Result<search::Searcher> searcher_of(const ExperimentSpec& spec, const std::string* saved) {
  ExperimentConfig config = TRY(config_of(spec));
  limit_slots(config);
  if (saved == nullptr)
    return search::Searcher(config.search, std::move(config.hyperparameters), spec.seed);
  return search::Searcher::load(config.search, std::move(config.hyperparameters), *saved);
}

SearchDecided ask(search::Searcher& searcher, std::span<const SearchInput> inputs) {
  SearchDecided decided;
  std::set<TrialIndex> touched;
  for (const SearchInput& input : inputs) {
    for (SearchAction& action : std::visit(Ask{searcher, touched}, input))
      std::visit(Sort{decided, touched}, action);
  }
  // Only of trials whose target may have changed.
  for (const TrialIndex trial : touched) decided.awaits.push_back({trial, searcher.awaits(trial)});
  decided.progress = searcher.progress();
  // Saved after all inputs: with it a restart needs none of them.
  decided.state = std::make_shared<const std::string>(searcher.save());
  return decided;
}

Result<search::Searcher> searcher_now(const Experiment& experiment) {
  search::Searcher searcher = TRY(searcher_of(*experiment.spec, experiment.search_state.get()));
  const std::vector<SearchInput> inputs(experiment.inputs.begin(), experiment.inputs.end());
  // Brought up to the present, without telling anybody.
  ask(searcher, inputs);
  return searcher;
}

bool concerns_search(const EventBatch& batch) {
  return std::ranges::any_of(batch.events,
                             [](const Event& event) { return visit(Concerns{}, event.body); });
}

struct SearchRole::Follower {
  SearchRole& role;
  template <class Body>
  void operator()(const Body&) {}
  void operator()(const ExperimentCreated& event) {
    role.searches_[event.experiment].spec = event.spec;
  }
  void operator()(const ExperimentChanged& event) {
    // Nobody decides for it any more; what was in flight the core drops by its state.
    if (event.state && !is_searching(*event.state)) role.searches_.erase(event.experiment);
  }
  void operator()(const ExperimentContinued& event) {
    Search& search = role.searches_[event.experiment];
    // The searcher, too: it is of another configuration.
    search = {};
    search.spec = event.spec;
    search.covered = event.covered;
    if (event.search_state != nullptr && !event.search_state->empty())
      search.saved = event.search_state;
  }
  void operator()(const SearchAsked& event) {
    Search* search = role.find(event.experiment);
    if (search != nullptr)
      search->inputs.insert(search->inputs.end(), event.inputs.begin(), event.inputs.end());
  }
  void operator()(const SearchDecided& event) {
    Search* search = role.find(event.experiment);
    if (search == nullptr) return;
    // A decision covers what was asked before it, in order.
    CHECK(event.covered - search->covered <= search->inputs.size());
    search->inputs.erase(
        search->inputs.begin(),
        search->inputs.begin() + static_cast<std::ptrdiff_t>(event.covered - search->covered));
    // From here on the basis of the next one.
    search->covered = event.covered;
    search->saved = event.state;
    search->in_flight.reset();
    if (event.outcome) role.searches_.erase(event.experiment);
  }
};

SearchRole::Search* SearchRole::find(ExperimentId id) {
  const auto found = searches_.find(id);
  return found == searches_.end() ? nullptr : &found->second;
}

void SearchRole::load(const ClusterState& state) {
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (!is_searching(experiment.state) || experiment.outcome) continue;
    Search& search = searches_[id];
    search.spec = experiment.spec;
    search.saved = experiment.search_state;
    search.covered = experiment.covered;
    search.inputs.assign(experiment.inputs.begin(), experiment.inputs.end());
  }
}

void SearchRole::apply(const EventBatch& batch) {
  for (const Event& event : batch.events) visit(Follower{*this}, event.body);
}

Result<SearchDecision> SearchRole::decide_upon(ExperimentId id, Search& search) {
  if (!search.searcher) search.searcher = TRY(searcher_of(*search.spec, search.saved.get()));
  SearchDecision decision;
  decision.basis = search.covered;
  decision.decided = ask(*search.searcher, search.inputs);
  decision.decided.experiment = id;
  decision.decided.covered = search.covered + search.inputs.size();
  return decision;
}

std::vector<SearchDecision> SearchRole::decide(TimePoint now) {
  std::vector<SearchDecision> decisions;
  for (auto& [id, search] : searches_) {
    // The searcher has moved on with these inputs, so that a decision is kept until it is an event,
    // and sent again as it is. One that comes twice does no harm: the core takes it by its basis.
    if (search.in_flight && now - search.sent < kRetry) continue;
    if (!search.in_flight) {
      if (search.inputs.empty()) continue;
      auto decided = decide_upon(id, search);
      if (decided.has_value()) {
        search.in_flight = std::move(decided).value();
        // The failure is sent as a decision, and repeated as one: the core ends the experiment by
        // it.
      } else {
        search.in_flight.emplace();
        search.in_flight->decided.experiment = id;
        search.in_flight->basis = search.covered;
        search.in_flight->failure = decided.error();
      }
    }
    search.sent = now;
    decisions.push_back(*search.in_flight);
  }
  return decisions;
}

}  // namespace muster
