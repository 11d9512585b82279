// One experiment's search: a method, and what all methods have in common. It knows which trials
// train, wait or have ended, how many may train at once, the state of chance, and when the search
// is over.
//
//   trial:   created ──▶ training ──▶ waiting (at its target) ──▶ training …
//                           │            │
//                           ▼            ▼
//                        stopping ───▶ ended        (by itself, by a stop, by a user)
//
// A search gives up when 100 trials in a row find their hyperparameters invalid: what comes next
// would be no better. Pure: the same inputs in the same order give the same actions, also from
// bytes saved in between. What is repeated or comes too late changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "model/search_action.h"
#include "model/search_config.h"
#include "search/method.h"

namespace muster::search {

/// The most trials at once, whatever is asked for: what one decision leads to is done in one turn
/// of the controller.
inline constexpr std::uint32_t kConcurrentMax = 2'048;

class Searcher {
 public:
  /// Makes a search at its beginning. Requires: a configuration that was checked. `seed`: of all
  /// chance in it.
  Searcher(const SearchConfig& config, HyperSpace space, std::uint64_t seed);

  /// Restores what save() returned. Errors: kCorruption, also for the state of another
  /// configuration.
  static Result<Searcher> load(const SearchConfig& config, HyperSpace space,
                               std::string_view bytes);
  std::string save();

  /// Returns the first trials. Requires: called once, before anything else.
  std::vector<SearchAction> begin();
  /// A trial reported a validation. Of a trial with a target, the first at or past it counts.
  std::vector<SearchAction> reported(TrialIndex trial, const TrialReport& report);
  /// A trial's last run has ended. `metric`: the searcher metric that it reported last.
  std::vector<SearchAction> exited(TrialIndex trial, TrialExit exit, std::optional<double> metric);
  /// A trial that had ended is tried again; one of which the search had not heard that trains on.
  /// `was`: how it had ended. Requires: a method by whose decisions nothing hangs upon how a trial
  /// ended: random or grid search.
  std::vector<SearchAction> again(TrialIndex trial, TrialExit was);
  /// The client of a custom search asks for operations; any other search ignores them. Shape:
  /// `hparams` as the operations.
  std::vector<SearchAction> operate(const OperationsInput& input, std::span<const Json> hparams);
  /// Changes the limit of trials that train at once (0: none): more begin now, or none until fewer
  /// train.
  std::vector<SearchAction> set_max_concurrent(std::uint32_t limit);
  /// Sets a trial's own progress, 0..1. It changes no decision.
  void set_progress(TrialIndex trial, double progress);

  /// Returns the units of training at which the trial's next report decides something: the search
  /// need not hear of others.
  std::optional<double> awaits(TrialIndex trial) const;
  /// Returns the progress, 0..1.
  double progress() const;
  const SearchMethod& method() const { return *method_; }
  bool is_finished() const { return is_finished_; }
  std::uint32_t training_count() const;

 private:
  enum class Phase : std::uint8_t { kTraining = 0, kWaiting = 1, kStopping = 2, kEnded = 3 };
  struct Trial {
    Phase phase = Phase::kTraining;
    std::uint32_t bracket = 0;
    std::optional<std::uint64_t> target;
    double progress = 0;
    void archive(Archive& archive) { archive.fields(phase, bracket, target, progress); }
  };
  Trial* find(TrialIndex trial);
  double signed_metric(double metric) const;
  void set_phase(Trial& trial, Phase phase);
  void stop(const std::vector<StopTrial>& stops, std::vector<SearchAction>& actions);
  void fill(std::vector<SearchAction>& actions);
  void launch(WantedRun run, std::vector<SearchAction>& actions);
  void close(std::vector<SearchAction>& actions);
  void give_up(std::vector<SearchAction>& actions);
  std::uint32_t limit() const;
  void archive(Archive& archive);

  SearchConfig config_;
  std::unique_ptr<const HyperSpace>
      space_;  ///< in one place although the searcher moves: the method refers to it
  std::unique_ptr<SearchMethod> method_;
  Rng rng_;
  std::vector<Trial> trials_;
  std::vector<std::uint32_t> training_;  ///< per bracket
  std::uint32_t ended_ = 0;
  std::uint32_t errored_ = 0;
  std::uint32_t canceled_ = 0;
  std::uint32_t senseless_ = 0;  ///< trials in a row that found their hyperparameters invalid
  bool is_given_up_ = false;
  bool is_finished_ = false;
};

}  // namespace muster::search
