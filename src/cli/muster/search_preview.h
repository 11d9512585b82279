// Shows what a search will do before anything trains: how many trials train how far.
#pragma once

#include <cstdint>
#include <string>

#include "model/hyperparameter.h"
#include "trials/searcher_form.h"

namespace muster::cli {

/// Runs the search in virtual time, on trials that differ at random and never change order, and
/// returns what happened as text. Determinism: the seed decides.
std::string preview_text(const SearcherSection& searcher, const HyperSpace& space,
                         const std::string& method_name, std::uint64_t seed);

}  // namespace muster::cli
