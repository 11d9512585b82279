// The module of experiments: trials and their runs, the inputs of searches, checkpoints, the
// catalog. It decides what an event means for them and emits the events that follow. Requests are
// drafted by requests/, rules without effects are in rules/, searches run on a thread beside the
// core (search/) and send their decisions as requests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/feasibility.h"
#include "engine/module.h"
#include "engine/run_policy.h"
#include "platform/http_endpoint.h"
#include "trials/trial_text.h"

namespace muster {

/// To the workload a trial's run is a job like any other; where it differs, the workload asks this
/// class as its RunPolicy. Thread: the core's alone.
class Platform final : public Module, public RunPolicy {
 public:
  /// Holds references: both outlive it.
  Platform(Engine& engine, const Feasibility& feasibility);
  ~Platform() override;

  /// Gives the runs of trials that are launched from now on this address and tokens for it.
  void serve_http(HttpEndpoint endpoint) { http_ = std::move(endpoint); }
  /// Gives the trial of an elastic experiment other slots, as the planner wishes. A job that is
  /// pending has them at once. One that runs is asked to save and stop, and has them in its next
  /// run; a controller that dies in between forgets the wish. Ignored when the job has no trial,
  /// the experiment is not active, the slots are the same, or the run is not running or stops
  /// already.
  void resize(JobId job, std::uint32_t slots);

  // ---- Module ----
  void load() override {}
  void begin(const CoreStart& start) override;
  bool accept(Command&) override { return false; }
  Reply handle(Draft& draft, const PreparedRequest& request, const Identity& identity) override;
  void before_apply(const Draft&) override {}
  void after_event(const Event& event) override;
  void on_timer(const Timer& timer, const Job& job) override;
  void on_tick() override {}
  void before_end() override {}
  bool settle() override;
  bool has_open_ends() const override { return false; }
  void before_flush(Seq) override {}
  bool has_work() const override { return !carried_on_.empty(); }
  void on_work() override;

  // ---- RunPolicy ----
  void refine_ending(const Job& job, bool is_own_fault, JobEnding& ending) const override;
  bool after_run(const Job& job) override;
  std::size_t launch_bytes(const Job& job) const override;
  Status add_to_launch(const Job& job, LaunchStep& launch) override;
  bool has_own_parts(const Job& job) const override;
  void add_to_part(const Job& job, LaunchStep& part) const override;

 private:
  struct Follower;
  struct Handler;
  /// An experiment whose state has changed, and of whose trials some may not know it yet.
  struct CarriedOn {
    std::size_t next = 0;  ///< trial to look at, by its index in the experiment's list
    Identity by;
  };

  TimePoint now() const { return engine_.now(); }
  Reply continue_experiment(Draft& draft, const PreparedContinuation& continued,
                            const Identity& identity);
  Reply record_log_match(Draft& draft, const RecordLogMatch& note) const;
  Status check_trials(const ExperimentSpec& spec) const;
  Status check_run(const JobSpec& job, const std::vector<PartitionIndex>& partitions) const;
  void notify_search(const Event& event);
  void queue_trial(JobId job);
  void end_trials();
  void carry_on_experiments();
  void recover_retentions();
  void source_copies(const Job& job);
  void end_collection(const Job& job);
  void arm(JobId job);
  void arm_budget(const Job& job);
  void enforce_budget(const Job& job);
  void stop_before_limit(const Job& job, const Trial& trial);
  const TrialSettings& settings_of(const Experiment& experiment);
  void connect_service(LaunchStep& message, const Job& job) const;

  Engine& engine_;
  const ClusterState& state_;
  const Feasibility& feasibility_;
  HttpEndpoint http_;
  std::vector<JobId> trial_jobs_;  ///< of trials, whose runs came to an end in this turn
  std::map<ExperimentId, CarriedOn> carried_on_;
  /// The numbers of slots for which elastic trials are asked to stop.
  std::map<JobId, std::uint32_t> wished_slots_;
  std::map<ExperimentId, std::pair<ExperimentSpecRef, TrialSettings>> trial_settings_;
};

}  // namespace muster
