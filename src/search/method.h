// The interface of search methods. A method hears what trials reach and answers what to train next.
// It owns neither trials nor time; the Searcher (searcher.h) does what all methods have in common
// and turns answers into actions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/experiment.h"
#include "model/hyperparameter.h"
#include "model/search_action.h"
#include "model/search_config.h"
#include "search/archive.h"

namespace muster::search {

/// Training that a method wants, of a new trial or of one that waits.
struct WantedRun {
  std::optional<TrialIndex> trial;  ///< waits; nothing: a new one
  std::uint32_t bracket = 0;
  Json hparams;                         ///< of a new trial
  std::optional<std::uint64_t> target;  ///< units of training; nothing: to its own end
  std::optional<TrialIndex> clone_of;   ///< of a new trial
  std::string
      source;  ///< of a new trial: the checkpoint that it begins with; empty: none of its own
};

/// What a method may use when it is asked.
struct SearchView {
  const HyperSpace& space;
  Rng& rng;
  TrialIndex next_trial;             ///< the number that a new trial will have
  std::uint32_t max_concurrent = 0;  ///< 0: no limit was set
  std::span<const std::uint32_t>
      training;  ///< trials that train now, per bracket; brackets beyond have none
  std::uint32_t training_in(std::uint32_t bracket) const {
    return bracket < training.size() ? training[bracket] : 0;
  }
};

/// A search method. The metrics that it sees are signed so that less is better, and never NaN: that
/// is the worst.
class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  /// Returns the next training that is wanted. Nothing: none until a trial reports or ends.
  /// Requires: less trains than may.
  virtual std::optional<WantedRun> next_run(SearchView& view) = 0;
  /// A trial that trains reported a validation; one with a target has reached it and now waits.
  /// Appends the trials to stop.
  virtual void reported(TrialIndex trial, const TrialReport& report,
                        std::vector<StopTrial>& stops) = 0;
  /// A trial ended that the method had not stopped. `metric`: its last, if it had any. Appends the
  /// trials to stop.
  virtual void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
                      std::vector<StopTrial>& stops) = 0;

  /// The client of a custom search asks for operations, with the hyperparameters of each. Appends
  /// the trials to stop.
  virtual void operate(const OperationsInput&, std::span<const Json>, std::vector<StopTrial>&) {}
  /// True when the method sees metrics as they were reported.
  virtual bool sees_raw_metrics() const { return false; }
  /// True when more may be wanted although nothing trains.
  virtual bool is_open() const { return false; }
  /// Returns how the search ended when that is not for its trials to say.
  virtual std::optional<SearchOutcome> verdict() const { return std::nullopt; }

  /// Returns how many trials train at once when the file sets no limit.
  virtual std::uint32_t natural_concurrency() const = 0;
  /// Returns the units of training at which a report decides something about a trial without a
  /// target.
  virtual std::optional<double> awaits(TrialIndex) const { return std::nullopt; }
  /// Returns the progress, 0..1. `trials`: the sum of the trials' own, each 0..1, with 1 for those
  /// that have ended.
  virtual double progress(double trials) const = 0;
  /// Archives all that the method must remember.
  virtual void archive(Archive& archive) = 0;
};

/// Makes the method that a configuration names, at its beginning. Lifetime: the space outlives it.
std::unique_ptr<SearchMethod> make_method(const SearchConfig& config, const HyperSpace& space);

}  // namespace muster::search
