// The searcher with events in order of virtual time instead of jobs. A unit of training takes a
// unit of time, and nothing waits for nodes.

#include "search/virtual_search.h"

#include <queue>

namespace muster::search {
namespace {

class VirtualRun {
 public:
  VirtualRun(Searcher& searcher, double trial_length, const LearningCurve& curve)
      : searcher_(searcher), trial_length_(trial_length), curve_(curve) {}

  VirtualResult run() {
    perform(searcher_.begin());
    while (!due_.empty()) {
      const Due due = due_.top();
      due_.pop();
      now_ = due.time;
      // What was stopped meanwhile has ended where it was.
      if (!at(due.trial).stop) arrive(due.trial);
    }
    result_.makespan = now_;
    return std::move(result_);
  }

 private:
  /// When a trial comes to its next validation.
  struct Due {
    double time = 0;
    TrialIndex trial;
    friend auto operator<=>(const Due&, const Due&) = default;
  };

  VirtualTrial& at(TrialIndex trial) { return result_.trials[trial.value()]; }

  double next_stop(TrialIndex trial) const {
    // Only the instants at which the search wants to hear of a trial: reports between change
    // nothing.
    const auto awaited = searcher_.awaits(trial);
    return awaited && *awaited < trial_length_ ? *awaited : trial_length_;
  }
  void train(TrialIndex trial) { due_.push({now_ + (next_stop(trial) - at(trial).units), trial}); }

  void arrive(TrialIndex trial) {
    VirtualTrial& here = at(trial);
    here.units = next_stop(trial);
    here.metric = curve_(trial, here.hparams, here.units);
    perform(searcher_.reported(trial, {here.metric, here.units}));
    if (at(trial).stop || has_target_[trial.value()])
      return;  // one with a target trains on when it is taken further
    if (at(trial).units >= trial_length_) {
      perform(searcher_.exited(trial, TrialExit::kCompleted, at(trial).metric));
    } else {
      train(trial);
    }
  }
  void perform(const std::vector<SearchAction>& actions) {
    for (const SearchAction& action : actions)
      std::visit([this](const auto& one) { perform_one(one); }, action);
  }
  void perform_one(const CreateTrial& create) {
    result_.trials.push_back({create.hparams, 0, 0, std::nullopt});
    has_target_.push_back(create.target.has_value());
    train(create.trial);
  }
  void perform_one(const ContinueTrial& go_on) { train(go_on.trial); }
  void perform_one(const StopTrial& stop) {
    at(stop.trial).stop = stop.reason;
    // Ends at once: in virtual time there is nothing to save.
    perform(searcher_.exited(stop.trial, TrialExit::kCompleted, at(stop.trial).metric));
  }
  void perform_one(const FinishSearch& finish) { result_.outcome = finish.outcome; }

  Searcher& searcher_;
  double trial_length_;
  const LearningCurve& curve_;
  VirtualResult result_;
  std::vector<bool> has_target_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  double now_ = 0;
};

}  // namespace

double VirtualResult::total_units() const {
  double sum = 0;
  for (const VirtualTrial& trial : trials) sum += trial.units;
  return sum;
}

VirtualResult run_virtually(Searcher& searcher, double trial_length, const LearningCurve& curve) {
  return VirtualRun(searcher, trial_length, curve).run();
}

}  // namespace muster::search
