#include "controller/testing.h"

#include "workload/planning/planner_role.h"

namespace muster::testing {

Rig::Rig(std::uint32_t nodes, std::vector<EventBatchRef> stored)
    : Rig(config_of(nodes), std::move(stored)) {}

Rig::Rig(std::shared_ptr<const ClusterConfig> config, std::vector<EventBatchRef> stored,
         Duration away, const CoreStart& beginning, bool is_behind)
    : journal(std::move(stored)), now(at(0)), planner(std::make_unique<PlannerRole>()) {
  is_history_behind = is_behind;
  std::uint64_t epoch = 1;
  for (const EventBatchRef& batch : journal) {
    core.state().apply(*batch);
    epoch = batch->epoch.value() + 1;
    now = core.state().time();
  }
  durable_ = journal.size();
  planner->state().copy_from(core.state());
  planner->start();
  now = now + away;
  core.start(Epoch(epoch), std::move(config), now, beginning);
  now = now + beginning.clock_step;
  flush();
}

Rig::~Rig() = default;

void Rig::flush() {
  durable_ = journal.size();
  core.on_durable(Seq(durable_), now);
  if (!is_history_behind) core.on_history(Seq(durable_));
}

std::vector<EventBatchRef> Rig::stored() const {
  return {journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(durable_)};
}

std::uint64_t Rig::ask(std::vector<PreparedRequest> requests, Identity who, RequestId id) {
  core.on_command(Command{++token_, who, id, std::move(requests)}, now);
  core.end_turn(now);
  return token_;
}

Reply Rig::done(PreparedRequest request, Identity who, RequestId id) {
  const std::uint64_t token = ask({std::move(request)}, who, id);
  flush();
  work();
  return replies.at(token).at(0);
}

JobId Rig::allocate(std::uint32_t nodes) {
  auto spec = spec_of();
  spec->kind = JobKind::kInteractive;
  spec->request.edit()->min_nodes = nodes;
  spec->request.edit()->task_count = nodes;
  return done(submit_of(std::move(spec))).job;
}

StepId Rig::begin_step(JobId job, std::uint32_t nodes) {
  auto step = std::make_shared<StepSpec>();
  step->min_nodes = step->task_count = nodes;
  return *done(PreparedStep{job, std::move(step), {}}).step;
}

std::size_t Rig::work() {
  std::size_t turns = 0;
  for (; core.has_work(); ++turns) {
    core.on_work(now);
    core.end_turn(now);
    flush();
  }
  return turns;
}

RegisterNode Rig::hello_of(std::uint32_t node) {
  RegisterNode hello;
  hello.protocol = kAgentProtocol;
  hello.node_name = "n" + std::to_string(node);
  hello.boot_id = "boot";
  hello.machine_id = "machine of " + hello.node_name;
  hello.cpus = 4;
  hello.memory_mib = 1000;
  hello.gres = {GresPool{"gpu", "", 2, {}}};
  return hello;
}

Result<NodeIndex> Rig::greet(const RegisterNode& hello) {
  auto answer = core.on_register(hello, now);
  core.end_turn(now);
  flush();
  return answer;
}

void Rig::connect(std::uint32_t node, std::vector<KnownStep> steps, const std::string& boot) {
  RegisterNode hello = hello_of(node);
  hello.boot_id = boot;
  for (KnownStep& step : steps) name_launch(step);
  hello.steps = std::move(steps);
  const bool has_met = !core.state().nodes().at(NodeIndex(node)).status.boot_id.empty();
  if (has_met) hello.cluster_id = core.identity().cluster_id;
  CHECK(greet(hello).has_value());
}

void Rig::connect_all() {
  for (std::uint32_t i = 0; i < core.state().nodes().all().size(); ++i) connect(i);
}

void Rig::hear(std::uint32_t node, FromAgent message) {
  visit(
      [&](auto& said) {
        if constexpr (requires { said.launch_key; }) name_launch(said);
      },
      message);
  core.on_agent(NodeIndex(node), message, now);
  core.end_turn(now);
  flush();
}

std::uint64_t Rig::launch_key(const StepId& id) const {
  const Job* job = core.state().jobs().find(id.job);
  const StepState* step = job == nullptr || job->run == nullptr || job->attempt != id.attempt
                              ? nullptr
                              : job->run->find_step(id.step);
  return step == nullptr ? 0 : job->run->launch_key_of(*step);
}

void Rig::confirm_launches() {
  for (; confirmed_ < sent.size(); ++confirmed_) {
    const auto [node, message] = sent[confirmed_];
    if (const auto* launch = get_if<LaunchStep>(&message))
      hear(node.value(), StepRunning{launch->id});
  }
}

void Rig::step_done(std::uint32_t node, const StepId& step, ExitStatus exit) {
  StepDone report;
  report.id = step;
  report.tasks = {exit};
  hear(node, report);
}

void Rig::plan() {
  while (auto result = planner->plan(now)) {
    core.on_plan(*result, now);
    flush();
  }
}

void Rig::pass(Duration span) {
  const TimePoint end = now + span;
  do {
    now = std::min(end, now + Duration::milliseconds(500));
    core.on_tick(now);
    core.end_turn(now);
    flush();
  } while (now < end);
}

void Rig::live(Duration span) {
  for (Duration left = span; left > Duration(); left = left - Duration::seconds(1)) {
    for (std::uint32_t i = 0; i < core.links().size(); ++i) {
      if (core.links()[i].is_connected) hear(i, Heartbeat{});
    }
    pass(std::min(left, Duration::seconds(1)));
  }
}

void Rig::stand_still(Duration span) {
  now = now + span;
  core.on_tick(now);
  core.end_turn(now);
  flush();
}

void Rig::reply(std::uint64_t token, std::vector<Reply> answer) {
  replies[token] = std::move(answer);
}

void Rig::plan_consumed(Seq until) { planner->consumed(until); }

void Rig::publish(DurableUpdate update) {
  planner->apply(*update.batch);
  published.push_back(update.batch);
  for (HistoryRecord& record : update.history) history.push_back(std::move(record));
}

}  // namespace muster::testing
