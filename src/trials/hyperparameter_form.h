// Reads the `hyperparameters` section of an experiment file. Source: Determined 0.38,
// "Hyperparameters".
#pragma once

#include "model/hyperparameter.h"
#include "trials/form_reader.h"

namespace muster {

/// Returns every value below `section`: a map with a `type` is a domain, any other map is searched
/// through, all else is constant. What is wrong is recorded and left out. Shape: rising by path.
HyperSpace read_hyperparameters(FormReader& section);

/// Returns how many points the dimension has on a grid. Requires: it has a count if it needs one.
double points_of(const HyperDomain& domain);

/// Records each hyperparameter that has no `count` and needs one to be put on a grid.
void check_grid(const HyperSpace& space, FormReader& section);

}  // namespace muster
