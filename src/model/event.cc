// Instantiates the variant of all events once for the whole program (base/variant.h), and turns a
// continued experiment into what its search hears.

#include "model/event.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<EventKinds>;

/// Trials that go on come first: without them the search might find itself over.
std::deque<SearchInput> continued_inputs(const ExperimentContinued& event) {
  std::deque<SearchInput> inputs;
  // A search that never began has no state to restore: it begins now.
  if (event.search_state == nullptr || event.search_state->empty())
    inputs.emplace_back(SearchBegun{});
  for (const TrialAgain& again : event.trials)
    inputs.emplace_back(AgainInput{again.trial, again.was});
  for (const TrialIndex trial : event.closed)
    inputs.emplace_back(ExitInput{trial, TrialExit::kCompleted, std::nullopt});
  return inputs;
}

}  // namespace muster
