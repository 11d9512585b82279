#include "controller/experiments/testing.h"

namespace muster::testing {

Lab::Lab(std::vector<EventBatchRef> stored) : rig(2, std::move(stored)) {
  role.load(rig.core.state());
  seen_ = rig.published.size();
  rig.connect_all();
  run_until_idle();
}

Lab::~Lab() = default;

ExperimentId Lab::create(const std::string& yaml, bool is_paused) {
  const Reply reply = ask(yaml, is_paused);
  EXPECT_FALSE(reply.error.has_value()) << reply.error->text();
  run_until_idle();
  return reply.experiment;
}

Reply Lab::ask(const std::string& yaml, bool is_paused) {
  CreateExperiment create;
  create.config = yaml;
  create.is_paused = is_paused;
  create.job = spec_of("base");
  LastBlob last;
  auto prepared =
      prepare_experiment(std::move(create), kAlice, CallerNames{"alice", "users"}, last);
  Reply reply;
  if (prepared.has_value()) return rig.done(std::move(prepared).value());
  reply.error = prepared.error();
  return reply;
}

void Lab::run_until_idle() {
  for (int i = 0; i < 100; ++i) {
    for (; seen_ < rig.published.size(); ++seen_) role.apply(*rig.published[seen_]);
    const auto decisions = role.decide(rig.now);
    for (const SearchDecision& decision : decisions) rig.done(decision, kRoot);
    rig.plan();
    rig.confirm_launches();
    if (decisions.empty() && seen_ == rig.published.size()) return;
  }
  ADD_FAILURE() << "it does not settle";
}

Reply Lab::report(std::uint32_t id, double metric, double epochs, std::uint32_t run, Identity who) {
  ReportTrial report;
  report.trial = TrialId(id);
  report.run = run != 0 ? run : job(id).attempt + 1;
  report.metrics = {{"loss", metric}, {"epochs", epochs}};
  Reply reply = rig.done(report, who);
  run_until_idle();
  return reply;
}

void Lab::exit(std::uint32_t id, ExitStatus status) {
  const Job& one = job(id);
  rig.step_done(one.run->allocation->nodes.front().node.value(), rig.batch_step(one.id), status);
  run_until_idle();
}

void Lab::control(ExperimentVerb verb, Identity who) {
  const Reply reply = rig.done(ControlExperiments{verb, {ExperimentId(1)}}, who);
  ASSERT_EQ(reply.experiments.size(), 1U);
  EXPECT_FALSE(reply.experiments[0].error.has_value()) << reply.experiments[0].error->text();
  run_until_idle();
}

std::uint64_t hash_after_restart(Lab& lab) {
  ClusterState again;
  for (const EventBatchRef& batch : lab.rig.stored()) {
    const auto decoded = records::decode_batch(records::encode_batch(*batch));
    again.apply(*decoded);
  }
  return again.hash();
}

std::string random_search(std::uint32_t trials, std::uint32_t at_once, std::uint32_t restarts) {
  return "{name: e, entrypoint: train, max_restarts: " + std::to_string(restarts) +
         ", hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}, searcher: {name: random, "
         "metric: loss, max_trials: " +
         std::to_string(trials) + ", max_concurrent_trials: " + std::to_string(at_once) + "}}";
}

std::string halving(bool stops_once) {
  return "{name: e, entrypoint: train, hyperparameters: {lr: {type: double, minval: 0, maxval: "
         "1}}, searcher: {name: async_halving, "
         "metric: loss, num_rungs: 2, max_trials: 4, divisor: 2, max_concurrent_trials: 4, "
         "time_metric: epochs, max_time: 8" +
         std::string(stops_once ? "" : ", stop_once: false") + "}}";
}

}  // namespace muster::testing
