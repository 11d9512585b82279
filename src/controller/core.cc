// Each call sets the time of its turn and passes on; a plan ends its turn by itself. Nothing is
// decided here.
#include "controller/core.h"

namespace muster {

// The workload only stores its reference to the platform, which is made after it and asks it in
// turn.
Core::Core(Options options, JournalPort& journal, CorePort& port)
    : port_(port),
      engine_(journal, port),
      workload_(std::move(options), engine_, port, platform_),
      platform_(engine_, workload_.starts()) {
  engine_.attach({&workload_, &platform_}, workload_);
}
Core::~Core() = default;

void Core::start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
                 const CoreStart& beginning) {
  engine_.start(epoch, std::move(config), now, beginning);
}

void Core::on_command(Command command, TimePoint now) {
  engine_.begin_turn(now);
  engine_.on_command(std::move(command));
}

Result<NodeIndex> Core::on_register(const RegisterNode& hello, TimePoint now) {
  engine_.begin_turn(now);
  return workload_.nodes().on_register(hello);
}

bool Core::on_agent(NodeIndex node, const FromAgent& message, TimePoint now) {
  engine_.begin_turn(now);
  return workload_.nodes().on_agent(node, message);
}

void Core::on_received(NodeIndex node, const StepId& step, TimePoint now) {
  engine_.begin_turn(now);
  workload_.launches().on_received(node, step);
}

void Core::on_plan(const PlanResult& result, TimePoint now) {
  engine_.begin_turn(now);
  workload_.starts().on_plan(result);
  if (result.resize) platform_.resize(result.resize->job, result.resize->slots);
  // Before the planner hears that its plan was consumed: it waits for the batch of these starts.
  engine_.end_turn();
  port_.plan_consumed(state().seq());
}

void Core::on_durable(Seq seq, TimePoint now) {
  engine_.begin_turn(now);
  engine_.on_durable(seq);
}

void Core::on_tick(TimePoint now) {
  engine_.begin_turn(now);
  engine_.on_tick();
}

void Core::on_work(TimePoint now) {
  engine_.begin_turn(now);
  engine_.on_work();
}

void Core::end_turn(TimePoint now) {
  engine_.begin_turn(now);
  engine_.end_turn();
}

bool Core::awaits_nodes(TimePoint now) {
  // The wait ends by time as well: it is judged by now.
  engine_.begin_turn(now);
  return workload_.nodes().awaits_nodes();
}

}  // namespace muster
