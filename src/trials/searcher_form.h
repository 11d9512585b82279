// Reads the `searcher` section of an experiment file: Determined 0.38's, the spellings of 0.37 and
// before, and our own methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/hyperparameter.h"
#include "model/search_config.h"
#include "trials/form_reader.h"

namespace muster {

struct SearcherSection {
  SearchConfig search;
  /// The units of training of a trial of a method without rungs (`max_length`); 0: the script
  /// decides.
  std::uint64_t trial_length = 0;
  std::optional<std::uint64_t> source_trial_id;  ///< warm start from that trial's best checkpoint
  std::string source_checkpoint_uuid;            ///< warm start from that checkpoint; empty: none
};

/// Reads the section and checks it against the hyperparameters. What is wrong is recorded in the
/// reader's context. Legacy: `max_length: {epochs: 64}` stands for `time_metric: epochs, max_time:
/// 64`, `stop_once: false` for promotion at rungs.
SearcherSection read_searcher(FormReader& section, const HyperSpace& space,
                              FormReader& hyperparameters);

}  // namespace muster
