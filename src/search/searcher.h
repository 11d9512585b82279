// One experiment's search: a method, and what all methods have in common. Which trials train, wait
// or have ended, how many may train at once, where chance stands, and when it is over.
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

/// Trials at once, whatever is asked for: what one decision leads to is done in one turn of the
/// controller.
inline constexpr std::uint32_t kConcurrentMax = 2'048;

class Searcher {
 public:
  /// A search at its beginning. Requires: a configuration that was checked. `seed`: of all chance
  /// in it.
  Searcher(const SearchConfig& config, HyperSpace space, std::uint64_t seed);

  /// Takes up what save() gave. Errors: kCorruption, also for the state of another configuration.
  static Result<Searcher> load(const SearchConfig& config, HyperSpace space,
                               std::string_view bytes);
  std::string save();

  /// The first trials. Requires: called once, before anything else.
  std::vector<SearchAction> begin();
  /// A validation of a trial. Of a trial with a target, the first at or past it counts.
  std::vector<SearchAction> reported(TrialIndex trial, const TrialReport& report);
  /// A trial's last run has ended. `metric`: the searcher metric that it reported last.
  std::vector<SearchAction> exited(TrialIndex trial, TrialExit exit, std::optional<double> metric);
  /// A trial that had ended is tried again; one of which the search had not heard that trains on.
  /// `was`: how it had ended. Requires: a method by whose decisions nothing hangs upon how a trial
  /// ended: random or grid search.
  std::vector<SearchAction> again(TrialIndex trial, TrialExit was);
  /// What the client of a custom search wants done; any other search passes it over. Shape:
  /// `hparams` as the operations.
  std::vector<SearchAction> operate(const OperationsInput& input, std::span<const Json> hparams);
  /// A changed limit of trials that train at once (0: none): more begin now, or none until fewer
  /// train.
  std::vector<SearchAction> set_max_concurrent(std::uint32_t limit);
  /// A trial's own progress, 0..1. Changes no decision.
  void set_progress(TrialIndex trial, double progress);

  /// The units of training at which the trial's next report decides something: the others need not
  /// be told of.
  std::optional<double> awaits(TrialIndex trial) const;
  /// 0..1.
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
