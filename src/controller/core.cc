// Each call sets the time of its turn and passes on; a plan ends its turn by itself. Nothing is
// decided here.
#include "controller/core.h"

#include "engine/engine.h"
#include "platform/platform.h"
#include "workload/planning/plan_result.h"
#include "workload/workload.h"

namespace muster {

struct Core::Parts {
  Engine engine;
  Workload workload;
  Platform platform;

  // The workload only stores its reference to the platform, which is made after it and asks it in
  // turn.
  Parts(Options options, JournalPort& journal, CorePort& port)
      : engine(journal, port),
        workload(std::move(options), engine, port, platform),
        platform(engine, workload.starts()) {
    engine.attach({&workload, &platform}, workload);
  }
};

Core::Core(Options options, JournalPort& journal, CorePort& port)
    : port_(port),
      parts_(std::make_unique<Parts>(std::move(options), journal, port)),
      state_(parts_->engine.state()) {}
Core::~Core() = default;

void Core::start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
                 const CoreStart& beginning) {
  parts_->engine.start(epoch, std::move(config), now, beginning);
}

void Core::serve_http(HttpEndpoint endpoint) { parts_->platform.serve_http(std::move(endpoint)); }

void Core::on_command(Command command, TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->engine.on_command(std::move(command));
}

Result<NodeIndex> Core::on_register(const RegisterNode& hello, TimePoint now) {
  parts_->engine.begin_turn(now);
  return parts_->workload.nodes().on_register(hello);
}

bool Core::on_agent(NodeIndex node, const FromAgent& message, TimePoint now) {
  parts_->engine.begin_turn(now);
  return parts_->workload.nodes().on_agent(node, message);
}

void Core::on_agent_lost(NodeIndex node) { parts_->workload.nodes().on_agent_lost(node); }

void Core::on_unheard(NodeIndex node, const std::vector<SignalStep>& signals) {
  parts_->workload.nodes().on_unheard(node, signals);
}

void Core::on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why) {
  parts_->workload.launches().on_refused(node, launch, why);
}

void Core::on_received(NodeIndex node, const StepId& step, TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->workload.launches().on_received(node, step);
}

void Core::on_plan(const PlanResult& result, TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->workload.starts().on_plan(result);
  if (result.resize) parts_->platform.resize(result.resize->job, result.resize->slots);
  // Before the planner hears that its plan was consumed: it waits for the batch of these starts.
  parts_->engine.end_turn();
  port_.plan_consumed(state().seq());
}

void Core::on_durable(Seq seq, TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->engine.on_durable(seq);
}

void Core::on_blob(BlobId id, Result<Bytes> bytes) {
  parts_->workload.launches().on_blob(id, std::move(bytes));
}

void Core::on_history(Seq seq) { parts_->workload.timers().on_history(seq); }

void Core::on_tick(TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->engine.on_tick();
}

bool Core::has_work() const { return parts_->engine.has_work(); }

void Core::on_work(TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->engine.on_work();
}

void Core::end_turn(TimePoint now) {
  parts_->engine.begin_turn(now);
  parts_->engine.end_turn();
}

bool Core::awaits_nodes(TimePoint now) {
  // The wait ends by time as well: it is judged by now.
  parts_->engine.begin_turn(now);
  return parts_->workload.nodes().awaits_nodes();
}

std::size_t Core::timer_count() const { return parts_->engine.timers().size(); }
ClusterIdentity Core::identity() const { return {state_.cluster_id(), state_.epoch()}; }
void Core::refuse_new_work(std::optional<Error> why) {
  parts_->engine.refuse_new_work(std::move(why));
}
const std::vector<NodeLink>& Core::links() const { return parts_->workload.nodes().links(); }
bool Core::is_started() const { return parts_->engine.is_started(); }

}  // namespace muster
