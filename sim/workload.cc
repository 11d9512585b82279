#include "sim/workload.h"

#include <algorithm>
#include <csignal>
#include <limits>

#include "gateway/prepare.h"
#include "platform/config/prepare_experiment.h"
#include "platform/search/search_role.h"
#include "sim/controller.h"
#include "sim/world.h"
#include "slurm/dependency_text.h"
#include "trials/experiment_text.h"

namespace muster::sim {
namespace {

constexpr std::uint32_t kUser = 1000;

std::shared_ptr<const std::string> bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

bool is_refused(const Reply& reply) {
  if (reply.error) return true;
  for (const JobOutcome& outcome : reply.outcomes) {
    if (outcome.error) return true;
  }
  return false;
}

JobSelector all_of(JobId job) {
  JobSelector selector;
  selector.job = job;
  return selector;
}

}  // namespace

void Workload::start() { next(); }

void Workload::next() {
  if (asked_ >= world_.options.requests) return;
  ++asked_;
  const bool is_plain = world_.options.is_only_batch || jobs_.empty();
  const bool is_search = world_.options.has_experiments && world_.rng.chance(0.1);
  const std::uint64_t what = is_plain ? 0 : world_.rng.below(100);
  if (is_search) {
    operate_searches();
    world_.rng.chance(0.4) ? create_experiment() : touch_experiment();
  } else if (what < 60) {
    submit();
  } else if (what < 95) {
    touch_job();
  } else {
    touch_node();
  }
  const std::int64_t gap = world_.options.request_gap.microseconds();
  world_.timeline.after(Duration::microseconds(world_.rng.between(0, 2 * gap)), [this] { next(); });
}

bool Workload::is_all_asked() const {
  if (asked_ < world_.options.requests) return false;
  return std::ranges::all_of(calls_, [](const auto& entry) { return entry.second->is_patient; });
}

void Workload::rewind(const Jobs& then) {
  std::erase_if(jobs_, [&](const auto& entry) { return !then.contains(entry.first); });
  for (auto& [id, client_job] : jobs_) client_job.is_cancelled = then.at(id).is_cancelled;
  for (const auto& [id, call] : calls_) call->first.reset();
}

// ---- calls ----

void Workload::call(Request request, bool is_operator, Done done) {
  auto call = std::make_shared<Call>();
  call->id = RequestId{world_.rng.next(), world_.rng.next()};
  call->identity = Identity{UserId(is_operator ? 0 : kUser), GroupId(100), is_operator};
  call->is_patient = holds_alternative<CreateStep>(request);
  call->request = std::move(request);
  call->done = std::move(done);
  calls_[call->id.low] = call;
  send(call);
}

/// Sends it, and sends it again under the same number until somebody answers, or for as long as a
/// repeat is known for one.
void Workload::send(const std::shared_ptr<Call>& call) {
  constexpr Duration kRepeats = Duration::minutes(9);
  if (call->first && world_.timeline.now() - call->first_time > kRepeats)
    return accept_answer(call);
  const std::uint64_t token = next_token_++;
  tokens_[token] = call;
  const bool is_lost = world_.rng.chance(world_.options.client_loss);
  if (!is_lost) {
    world_.timeline.after(world_.latency(), [this, token, call] {
      if (world_.controller == nullptr) return;
      const auto* more = get_if<ContinueExperiment>(&call->request);
      auto prepared = more != nullptr
                          ? prepare_continuation(*more, world_.controller->replica().state())
                          : prepare(call->request, call->identity, CallerNames{"u", "g"},
                                    world_.config->settings, environments_);
      if (!prepared.has_value() && more != nullptr) {  // it may be gone by now
        Reply refused;
        refused.error = prepared.error();
        return on_reply(token, {refused});
      }
      CHECK(prepared.has_value(), "{}", prepared.error().text());
      Command command{token, call->identity, call->id, {}};
      command.requests.push_back(std::move(prepared).value());
      world_.controller->command(std::move(command));
    });
  }
  const Duration timeout =
      Duration::milliseconds(call->is_patient ? 20'000 : world_.rng.between(500, 10'000));
  const std::weak_ptr<Call> weak = call;
  world_.timeline.after(timeout, [this, weak] {
    if (const auto open = weak.lock(); open != nullptr && calls_.contains(open->id.low)) send(open);
  });
}

void Workload::on_reply(std::uint64_t token, std::vector<Reply> replies) {
  const auto found = tokens_.find(token);
  CHECK(found != tokens_.end(), "an answer to nobody");
  const auto call = found->second.lock();
  tokens_.erase(found);
  if (call == nullptr) return;
  for (const Reply& reply : replies) {
    if (reply.error || reply.job.value() == 0 || world_.controller == nullptr) continue;
    const auto* job = world_.controller->replica().state().jobs().find(reply.job);
    CHECK(job != nullptr || world_.checker.has_ended(reply.job),
          "job {} is answered before it can be read", reply.job.value());
  }
  const bool is_accepted = !replies.front().error;
  if (call->first && !call->first->front().error && is_accepted) {
    CHECK(call->first->front().job == replies.front().job &&
              call->first->front().step == replies.front().step,
          "a repeat is answered with job {} where the first answer was job {}",
          replies.front().job.value(), call->first->front().job.value());
  }
  const bool is_repeat = call->first.has_value();
  if (!is_repeat) call->first_time = world_.timeline.now();
  call->first = std::move(replies);
  if (world_.rng.chance(world_.options.client_loss))
    return;  // the answer is lost: the client asks again
  if (!calls_.contains(call->id.low) && !is_repeat) return;
  accept_answer(call);
}

void Workload::accept_answer(const std::shared_ptr<Call>& call) {
  calls_.erase(call->id.low);
  if (auto done = std::exchange(call->done, nullptr)) done(call->first->front());
}

// ---- jobs ----

JobSpec Workload::draw_spec(ClientJob& client_job) {
  Rng& rng = world_.rng;
  const Options& options = world_.options;
  JobSpec spec;
  spec.text.set(JobText::kName, "job" + std::to_string(rng.below(20)));
  spec.text.set(JobText::kWorkDir, "/tmp");
  spec.time_limit = Duration::seconds(3600);
  if (options.is_only_batch) return spec;
  if (rng.chance(0.3)) spec.time_limit = options.run_time + Duration::seconds(rng.between(0, 5));
  spec.request.edit()->task_count = static_cast<std::uint32_t>(rng.between(1, 4));
  spec.request.edit()->cpus_per_task = static_cast<std::uint32_t>(rng.between(1, 2));
  if (rng.chance(0.2)) {
    spec.request.edit()->min_nodes = static_cast<std::uint32_t>(rng.between(1, options.nodes));
    spec.request.edit()->task_count = std::max(spec.request->task_count, spec.request->min_nodes);
    spec.request.edit()->cpus_per_task = 1;
  }
  if (spec.request->task_count * spec.request->cpus_per_task > options.cpus) {
    auto least = spec.request.edit();
    least->task_count = least->cpus_per_task = least->min_nodes = 1;
  }
  if (options.gpus > 0 && rng.chance(0.3)) {
    spec.text.set(JobText::kGresPerNode, "gpu:" + std::to_string(rng.between(1, options.gpus)));
  }
  if (rng.chance(0.2)) {
    spec.request.edit()->memory_scope = MemoryScope::kPerNode;
    spec.request.edit()->memory_mib = static_cast<std::uint64_t>(rng.between(1, 4096));
  }
  spec.is_requeue = rng.chance(0.8);
  spec.is_held = rng.chance(0.05);
  if (rng.chance(0.1)) spec.nice = static_cast<std::int32_t>(rng.below(100));
  if (rng.chance(0.1))
    spec.begin_time = world_.timeline.now() + Duration::seconds(rng.between(1, 30));
  if (rng.chance(0.02))
    spec.deadline = world_.timeline.now() + Duration::seconds(rng.between(30, 300));
  if (rng.chance(0.1)) spec.sharing = Sharing::kExclusive;
  if (rng.chance(0.05))
    spec.signal_number = SIGUSR1,
    spec.signal_seconds = static_cast<std::uint32_t>(rng.between(1, 30));
  const std::uint64_t kind = rng.below(10);
  client_job.kind = spec.kind = kind < 7   ? JobKind::kBatch
                                : kind < 8 ? JobKind::kInteractive
                                           : JobKind::kRun;
  if (client_job.kind == JobKind::kBatch && rng.chance(0.2)) {
    client_job.array_size = static_cast<std::uint32_t>(rng.between(1, 12));
    std::string text = "0-" + std::to_string(client_job.array_size - 1);
    if (rng.chance(0.5)) text += "%" + std::to_string(rng.between(1, 4));
    spec.text.set(JobText::kArray, text);
  }
  if (!jobs_.empty() && rng.chance(0.2)) {
    constexpr const char* kKinds[] = {"afterany", "afterok",   "afternotok",
                                      "after",    "singleton", "aftercorr"};
    const std::string word = kKinds[rng.below(6)];
    std::string text = word;
    if (word != "singleton") text += ":" + std::to_string(any_job().value());
    if (rng.chance(0.2))
      text += (rng.chance(0.5) ? ",afterany:" : "?afterany:") + std::to_string(any_job().value());
    spec.text.set(JobText::kDependency, text);
    spec.kill_on_invalid_dependency = rng.chance(0.5);
  }
  return spec;
}

std::shared_ptr<StepSpec> Workload::draw_step(std::uint32_t tasks) {
  Rng& rng = world_.rng;
  auto step = std::make_shared<StepSpec>();
  step->text.set(StepText::kName, "step");
  step->text.set(StepText::kWorkDir, "/tmp");
  step->task_count = static_cast<std::uint32_t>(rng.between(1, tasks));
  step->cpus_per_task = 1;
  step->is_exact = rng.chance(0.7);
  step->is_overlap = rng.chance(0.1);
  return step;
}

void Workload::submit() {
  ClientJob client_job;
  SubmitJob request;
  auto spec = std::make_shared<JobSpec>(draw_spec(client_job));
  if (client_job.kind == JobKind::kRun) {
    auto step = draw_step(spec->request->task_count);
    step->task_count = spec->request->task_count;
    step->cpus_per_task = spec->request->cpus_per_task;
    step->is_overlap = false;
    request.first_step = std::move(step);
  }
  if (client_job.kind == JobKind::kBatch)
    request.script = bytes("#!/bin/sh\n# " + std::to_string(world_.rng.below(20)));
  request.environment = bytes("A=" + std::to_string(world_.rng.below(5)));
  request.spec = std::move(spec);
  call(std::move(request), false, [this, client_job](const Reply& reply) {
    if (reply.error) {
      ++refused_;
      return;
    }
    submitted(reply.job, client_job);
  });
}

void Workload::submitted(JobId job, const ClientJob& client_job) {
  ++submitted_;
  if (world_.options.is_only_batch && !world_.options.is_checked_deeply) {
    if (jobs_.size() < 1000 || job.value() % 64 == 0) jobs_.emplace(job, client_job);
    return;
  }
  CHECK(jobs_.emplace(job, client_job).second, "job id {} is given to two clients", job.value());
  if (client_job.kind == JobKind::kInteractive) {
    world_.timeline.after(Duration::seconds(world_.rng.between(1, 20)),
                          [this, job] { run_allocation(job); });
  } else if (client_job.kind == JobKind::kBatch && client_job.array_size == 0 &&
             world_.rng.chance(0.2)) {
    world_.timeline.after(Duration::seconds(world_.rng.between(0, 20)),
                          [this, job] { create_step(job); });
  }
}

void Workload::create_step(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  ClientJob& client_job = found->second;
  if (client_job.is_cancelled || ++client_job.steps_asked > 6) return;
  CreateStep request;
  request.job = job;
  request.spec = draw_step(2);
  request.environment = bytes("STEP=" + std::to_string(world_.rng.below(3)));
  call(std::move(request), false, [this, job](const Reply& reply) {
    if (reply.step && world_.rng.chance(0.3)) cancel_step_later(*reply.step);
    if (!reply.error && world_.rng.chance(0.6)) create_step(job);
  });
}

void Workload::cancel_step_later(const StepId& step) {
  const std::uint16_t signal = world_.rng.chance(0.7) ? SIGKILL : SIGUSR1;
  world_.timeline.after(Duration::seconds(world_.rng.between(0, 20)), [this, step, signal] {
    if (signal == SIGKILL) world_.checker.asked_to_kill(step);
    call(CancelStep{step, signal}, false, [](const Reply&) {});
  });
}

/// salloc: some steps, leases now and then, and the allocation is given back, or its client dies.
void Workload::run_allocation(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.is_cancelled || world_.rng.chance(0.05))
    return;  // nobody renews the lease any more
  if (world_.rng.chance(0.6)) create_step(job);
  if (world_.rng.chance(0.4)) {
    ReleaseAllocation release;
    release.job = job;
    call(release, false, [](const Reply&) {});
    return;
  }
  call(RenewLease{job}, false, [](const Reply&) {});
  world_.timeline.after(Duration::seconds(world_.rng.between(5, 30)),
                        [this, job] { run_allocation(job); });
}

JobId Workload::any_job() {
  auto next = jobs_.lower_bound(
      JobId(static_cast<std::uint32_t>(world_.rng.below(jobs_.rbegin()->first.value() + 1))));
  // Recent ones are more interesting.
  if (world_.rng.chance(0.6)) {
    const std::uint32_t last = jobs_.rbegin()->first.value();
    next = jobs_.lower_bound(
        JobId(last - static_cast<std::uint32_t>(world_.rng.below(std::min(last, 20U)))));
  }
  return next == jobs_.end() ? jobs_.rbegin()->first : next->first;
}

/// One thing at a time is done to a job, so that what was acknowledged last is what must hold.
void Workload::touch_job() {
  const JobId job = any_job();
  ClientJob& client_job = jobs_[job];
  if (client_job.is_busy || client_job.is_cancelled) return;
  client_job.is_busy = true;
  const auto done = [this, job](const Reply&) {
    if (const auto found = jobs_.find(job); found != jobs_.end()) found->second.is_busy = false;
  };
  JobSelector selector = all_of(job);
  if (client_job.array_size > 0 && world_.rng.chance(0.5)) {
    selector.is_element = true;
    for (std::uint32_t i = 0; i < client_job.array_size; ++i) {
      if (world_.rng.chance(0.3)) selector.indices.set(i);
    }
    if (selector.indices.empty()) selector.indices.set(0);
  }
  std::vector<JobSelector> selectors = {selector};
  if (world_.rng.chance(0.1)) selectors.push_back(world_.rng.chance(0.5) ? selector : all_of(job));
  const std::uint64_t what = world_.rng.below(100);
  if (what < 25) {
    CancelJobs cancel;
    cancel.filter.jobs = selectors;
    cancel.is_lenient = world_.rng.chance(0.5);
    const bool is_whole = selectors.size() == 1 && !selector.is_element;
    call(std::move(cancel), false, [this, job, is_whole](const Reply& reply) {
      const auto found = jobs_.find(job);
      if (found == jobs_.end()) return;
      ClientJob& touched = found->second;
      touched.is_busy = false;
      if (!is_whole || is_refused(reply)) return;
      touched.is_cancelled = true;
      if (touched.array_size == 0) world_.checker.cancelled(job);
    });
  } else if (what < 35) {
    CancelJobs signal;
    signal.filter.jobs = selectors;
    signal.signal = world_.rng.chance(0.5) ? SIGUSR1 : SIGTERM;
    signal.full = world_.rng.chance(0.5);
    call(std::move(signal), false, done);
  } else if (what < 45) {
    UpdateObject update;
    update.kind = UpdateKind::kJob;
    update.name = std::to_string(job.value());
    const std::uint64_t which = world_.rng.below(5);
    if (which == 0)
      update.values.emplace_back("TimeLimit", std::to_string(world_.rng.between(1, 120)));
    if (which == 1)
      update.values.emplace_back("Priority", std::to_string(world_.rng.between(1, 1000)));
    if (which == 2)
      update.values.emplace_back("ArrayTaskThrottle", std::to_string(world_.rng.below(5)));
    if (which == 3) update.values.emplace_back("Comment", "changed");
    if (which == 4)
      update.values.emplace_back("Dependency", "afterany:" + std::to_string(any_job().value()));
    call(std::move(update), true, done);
  } else {
    constexpr JobVerb kVerbs[] = {
        JobVerb::kHold,    JobVerb::kUserHold, JobVerb::kRelease,     JobVerb::kRelease,
        JobVerb::kRequeue, JobVerb::kRequeue,  JobVerb::kRequeueHold, JobVerb::kRequeueSpecialExit,
        JobVerb::kSuspend, JobVerb::kSuspend,  JobVerb::kResume,      JobVerb::kResume};
    ControlJobs control;
    control.verb = kVerbs[world_.rng.below(12)];
    control.jobs = selectors;
    call(std::move(control), true, done);
  }
}

void Workload::touch_node() {
  UpdateObject update;
  update.kind = UpdateKind::kNode;
  update.name = world_.config->nodes[world_.rng.below(world_.config->nodes.size())].name;
  constexpr const char* kStates[] = {"drain", "resume", "resume", "undrain", "down", "fail"};
  update.values.emplace_back("State", kStates[world_.rng.below(6)]);
  update.values.emplace_back("Reason", "by the simulation");
  call(std::move(update), true, [](const Reply&) {});
}

// ---- experiments ----

void Workload::create_experiment() {
  Rng& rng = world_.rng;
  constexpr const char* kMethods[] = {
      "name: random, max_trials: {}",
      "name: grid",
      "name: tpe, max_trials: {}, startup_trials: 3",
      "name: async_halving, num_rungs: 3, max_trials: {}, divisor: 2, time_metric: epochs, "
      "max_time: 8",
      "name: adaptive_asha, max_trials: {}, divisor: 2, time_metric: epochs, max_time: 8",
      "name: adaptive_asha, max_trials: {}, divisor: 2, time_metric: epochs, max_time: 8, "
      "stop_once: false",
      "name: sync_halving, num_rungs: 3, max_trials: {}, divisor: 2, time_metric: epochs, "
      "max_time: 8",
      "name: hyperband, divisor: 2, time_metric: epochs, max_time: 8",
      "name: pbt, population_size: 4, num_rounds: 3, length_per_round: 3, time_metric: epochs, "
      "replace_function: "
      "{truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: "
      "0.2}",
      "name: custom, time_metric: epochs"};
  std::string method = kMethods[rng.below(std::size(kMethods))];
  if (const auto mark = method.find("{}"); mark != method.npos)
    method.replace(mark, 2, std::to_string(rng.between(4, 20)));
  const std::string slots = rng.chance(0.3) ? fmt::format("{{min: 1, max: {}}}", rng.between(2, 4))
                                            : std::to_string(rng.below(2));
  CreateExperiment create;
  create.config = fmt::format(
      "{{name: s, entrypoint: train, max_restarts: {}, preemption_timeout: {}, resources: "
      "{{slots_per_trial: {}}}, "
      "hyperparameters: {{lr: {{type: double, minval: 0, maxval: 1, count: 5}}}}, searcher: "
      "{{metric: loss, "
      "max_concurrent_trials: {}, {}}}}}",
      rng.below(4), rng.between(1, 30), slots, rng.between(1, 6), method);
  auto job = std::make_shared<JobSpec>();
  job->text.set(JobText::kWorkDir, "/tmp");
  create.job = std::move(job);
  create.environment = bytes("A=1");
  create.is_paused = rng.chance(0.2);
  call(std::move(create), false,
       [this](const Reply& reply) { reply.error ? ++refused_ : ++submitted_; });
}

/// Clients of custom searches answer what they are asked. They remember what they have answered, as
/// those of the Python package do.
void Workload::operate_searches() {
  if (world_.controller == nullptr) return;
  for (const auto& [id, experiment] :
       world_.controller->replica().state().experiments().experiments()) {
    if (experiment.spec->searcher != "custom" || !is_searching(experiment.state) ||
        experiment.outcome)
      continue;
    SearchClient& client = clients_[id];
    if (!client.is_busy) operate_search(experiment, client);
  }
}

void Workload::operate_search(const Experiment& experiment, SearchClient& client) {
  const search::Searcher searcher = searcher_now(experiment).value();
  const auto& events = dynamic_cast<const search::CustomMethod&>(searcher.method()).events();
  const auto next = std::ranges::find_if(
      events, [&](const search::CustomEvent& event) { return event.id > client.answered; });
  if (next == events.end()) return;
  OperateSearch operate{experiment.id, {next->id, client.decide(*next, world_.rng)}};
  client.answered = next->id;
  client.is_busy = true;
  call(std::move(operate), false,
       [this, id = experiment.id](const Reply&) { clients_[id].is_busy = false; });
}

std::vector<SearchOperation> Workload::SearchClient::decide(const search::CustomEvent& event,
                                                            Rng& rng) {
  std::vector<SearchOperation> operations;
  const auto train = [&](const std::string& trial, std::uint64_t length) {
    operations.push_back(
        {SearchVerb::kValidateAfter, trial, "", "", length, SearchOutcome::kCompleted, 0});
  };
  const auto close = [&](const std::string& trial) {
    operations.push_back({SearchVerb::kClose, trial, "", "", 0, SearchOutcome::kCompleted, 0});
  };
  switch (event.kind) {
    case search::CustomEventKind::kInitialOperations:
      created = static_cast<std::uint32_t>(rng.between(1, 6));
      for (std::uint32_t i = 0; i < created; ++i) {
        const std::string trial = fmt::format("t{}", i);
        operations.push_back(
            {SearchVerb::kCreate, trial, R"({"lr": 0.5})", "", 0, SearchOutcome::kCompleted, 0});
        train(trial, static_cast<std::uint64_t>(rng.between(1, 4)));
      }
      break;
    case search::CustomEventKind::kValidationCompleted:
      event.length < 8 && rng.chance(0.6) ? train(event.request, event.length + 2)
                                          : close(event.request);
      break;
    case search::CustomEventKind::kTrialClosed:
      if (++closed == created)
        operations.push_back({SearchVerb::kShutDown, "", "", "", 0, SearchOutcome::kCompleted, 0});
      break;
    default: break;
  }
  return operations;
}

/// A verb for some experiment, or something done to one of its trials' jobs.
void Workload::touch_experiment() {
  if (world_.controller == nullptr) return;
  Rng& rng = world_.rng;
  const ExperimentTable& table = world_.controller->replica().state().experiments();
  if (table.trials().empty()) return create_experiment();
  auto trial = table.trials().begin();
  std::advance(trial, static_cast<std::ptrdiff_t>(rng.below(table.trials().size())));
  const auto ignore = [](const Reply&) {};
  const bool has_ended = is_final(table.find(trial->second.experiment)->state);
  const std::uint64_t what = has_ended && rng.chance(0.7) ? rng.between(55, 64) : rng.below(100);
  if (what < 15) {
    CancelJobs cancel;
    cancel.filter.jobs.push_back(all_of(trial->second.job));
    call(std::move(cancel), false, ignore);
  } else if (what < 40) {
    constexpr JobVerb kVerbs[] = {JobVerb::kRequeue, JobVerb::kHold, JobVerb::kRelease,
                                  JobVerb::kSuspend, JobVerb::kResume};
    call(ControlJobs{kVerbs[rng.below(5)], {all_of(trial->second.job)}}, true, ignore);
  } else if (what < 55) {
    UpdateExperiment update;
    update.experiment = trial->second.experiment;
    if (rng.chance(0.5)) update.max_concurrent = static_cast<std::uint32_t>(rng.below(7));
    if (rng.chance(0.3)) update.priority = static_cast<std::uint32_t>(rng.between(1, 99));
    if (rng.chance(0.3)) update.weight = 0.5 + rng.unit();
    if (rng.chance(0.2)) update.retention = CheckpointRetention{0, 1, 2};
    call(std::move(update), false, ignore);
  } else if (what < 60) {
    call(ContinueExperiment{trial->second.experiment, rng.chance(0.5) ? "max_restarts: 3" : ""},
         false, ignore);
  } else if (what < 65) {
    delete_some(trial->second);
  } else {
    constexpr ExperimentVerb kVerbs[] = {ExperimentVerb::kPause,    ExperimentVerb::kPause,
                                         ExperimentVerb::kActivate, ExperimentVerb::kActivate,
                                         ExperimentVerb::kCancel,   ExperimentVerb::kKill};
    call(ControlExperiments{kVerbs[rng.below(6)], {trial->second.experiment}}, false, ignore);
  }
}

/// An experiment, some checkpoints of a trial, or those that nothing keeps.
void Workload::delete_some(const Trial& trial) {
  Rng& rng = world_.rng;
  const auto ignore = [](const Reply&) {};
  if (rng.chance(0.4))
    return call(ControlExperiments{ExperimentVerb::kDelete, {trial.experiment}}, false, ignore);
  DeleteCheckpoints doomed;
  for (const CheckpointRef& one : world_.controller->replica().state().checkpoints().of(trial.id)) {
    if (rng.chance(0.5)) doomed.uuids.push_back(one->uuid);
  }
  call(std::move(doomed), false, ignore);
}

/// How good a trial is follows from its number, so that every run of it says the same.
void Workload::report(TrialId trial, std::uint32_t run, std::uint32_t epochs) {
  Rng rng(world_.options.seed ^ trial.value());
  const double metric =
      rng.chance(0.05) ? std::numeric_limits<double>::quiet_NaN() : rng.unit() + 1.0 / epochs;
  call(ReportTrial{trial, run, epochs, {{"loss", metric}, {"epochs", static_cast<double>(epochs)}}},
       false, [](const Reply&) {});
  if (!has_session(trial)) return;
  call(RecordRun{trial, run, RunSignal::kSession}, false, [](const Reply&) {});
  if (epochs % 2 == 0) save(trial, run, epochs);
}

bool Workload::has_session(TrialId trial) const {
  return Rng(world_.options.seed ^ (trial.value() * 0x9e3779b9ULL)).chance(0.5);
}

/// Announced, written, reported: each word may come late, twice or not at all.
void Workload::save(TrialId trial, std::uint32_t run, std::uint32_t epochs) {
  Checkpoint checkpoint;
  checkpoint.uuid = fmt::format("{}-{}-{}", trial.value(), run, epochs);
  checkpoint.trial = trial;
  checkpoint.run = run;
  checkpoint.steps_completed = epochs;
  checkpoint.metadata = checkpoint.resources = "{}";
  call(RecordCheckpoint{checkpoint, false}, false,
       [this, checkpoint](const Reply& announced) mutable {
         if (announced.error) return;
         checkpoint.state = CheckpointState::kCompleted;
         const std::string uuid = checkpoint.uuid;
         const auto steps = static_cast<std::uint32_t>(checkpoint.steps_completed);
         call(RecordCheckpoint{std::move(checkpoint), false}, false,
              [this, uuid, steps](const Reply& reported) {
                if (!reported.error) checkpoints_[uuid] = steps;
              });
       });
}

bool Workload::stops_as_asked(TrialId trial, std::uint32_t run) {
  if (acknowledged_.contains({trial, run})) return true;
  if (!has_session(trial) || world_.controller == nullptr) return false;
  const ClusterState& state = world_.controller->replica().state();
  const Trial* known = state.experiments().find(trial);
  const Job* job = known == nullptr ? nullptr : state.jobs().find(known->job);
  if (job == nullptr || job->run == nullptr || run_number(*job) != run || !job->run->stop)
    return false;
  call(RecordRun{trial, run, RunSignal::kStopAcknowledged}, false,
       [this, trial, run](const Reply& reply) {
         if (!reply.error) acknowledged_.insert({trial, run});
       });
  return false;
}

/// Some of what has ended goes on once more, some is deleted.
void Workload::give_second_lives(const ClusterState& state) {
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (!is_final(experiment.state) || experiment.state >= ExperimentState::kDeleting ||
        !lived_.insert(id).second)
      continue;
    const std::uint64_t what = world_.rng.below(3);
    if (what == 0) call(ContinueExperiment{id, ""}, false, [](const Reply&) {});
    if (what == 1)
      call(ControlExperiments{ExperimentVerb::kDelete, {id}}, false, [](const Reply&) {});
  }
}

void Workload::wind_down() {
  if (world_.controller == nullptr) return;
  const ClusterState& state = world_.controller->core().state();
  operate_searches();
  give_second_lives(state);
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (experiment.state == ExperimentState::kPaused) {
      call(ControlExperiments{ExperimentVerb::kActivate, {id}}, false, [](const Reply&) {});
    }
  }
  for (const muster::Node& node : state.nodes().all()) {
    const auto mask = node_condition::kDown | node_condition::kDrain | node_condition::kFail;
    if ((node.status.conditions & mask) == 0 ||
        (node.status.conditions & node_condition::kNotResponding) != 0)
      continue;
    UpdateObject update;
    update.kind = UpdateKind::kNode;
    update.name = node.config.name;
    update.values.emplace_back("State", "resume");
    call(std::move(update), true, [](const Reply&) {});
  }
  std::vector<JobId> ids;
  state.jobs().for_each([&](const Job& job) {
    const bool is_never =
        job.is_pending() && job.reason == PendingReason::kDependencyNeverSatisfied;
    if (is_never) {
      CancelJobs cancel;
      cancel.filter.jobs.push_back(all_of(job.id));
      call(std::move(cancel), true, [](const Reply&) {});
    } else if (job.is_pending() && job.is_held()) {
      call(ControlJobs{JobVerb::kRelease, {all_of(job.id)}}, true, [](const Reply&) {});
    } else if (job.state == JobState::kSuspended) {
      call(ControlJobs{JobVerb::kResume, {all_of(job.id)}}, true, [](const Reply&) {});
    }
  });
}

std::string Workload::unanswered() const {
  std::string text;
  for (const auto& [id, call] : calls_) {
    const auto* step = get_if<CreateStep>(&call->request);
    text += fmt::format("\n  request of kind {} about job {}", call->request.index(),
                        step == nullptr ? 0 : step->job.value());
  }
  return text;
}

std::string Workload::unfinished() const {
  if (world_.controller == nullptr) return "there is no controller";
  std::string text;
  const ClusterState& state = world_.controller->core().state();
  std::size_t count = 0;
  state.jobs().for_each([&](const Job& job) {
    if (job.is_over() || ++count > 10) return;
    const Reasons reasons = world_.controller->replica().job_view(job, QueryDetail::kBrief).reasons;
    text += fmt::format("\n  job {} {} {} attempt {} reason {} ({})", job.id.value(),
                        shown_state_name(job.state, job.flags), job.flags, job.attempt,
                        pending_reason_word(job.reason), pending_reason_word(reasons.word));
    if (job.dependencies != nullptr) text += " waits for " + dependency_text(*job.dependencies);
    if (job.run == nullptr) return;
    for (const StepState& step : job.run->steps) {
      if (!step.is_running()) continue;
      text += fmt::format(" step {:x} on", step.id.step);
      for (const NodeGrant& grant : step.layout->nodes)
        text += fmt::format(" {}", grant.node.value());
    }
  });
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (is_final(experiment.state)) continue;
    text += fmt::format("\n  experiment {} {} with {} open trials and {} inputs", id.value(),
                        experiment_state_name(experiment.state), experiment.open_trials,
                        experiment.inputs.size());
  }
  for (const auto& [id, client_job] : jobs_) {
    const bool is_known = state.jobs().find(id) != nullptr || world_.checker.has_ended(id);
    CHECK(is_known, "job {} was acknowledged and is nowhere", id.value());
  }
  return text;
}

}  // namespace muster::sim
