// What nodes send the controller, and what the controller sends nodes: right in its form, of any
// content, to the roles that decide upon it: core, agent and supervisor. Input: a seed (8 bytes),
// then whom the messages go to.
#include "agent/agent.h"
#include "fuzz/fuzz.h"
#include "fuzz/plausible.h"
#include "fuzz/small_cluster.h"
#include "stepd/step_supervisor.h"

namespace muster::fuzz {
namespace {

class SilentWorld final : public AgentWorld {
 public:
  void send_controller(const FromAgent&) override {}
  Result<TimePoint> launch(const std::vector<LaunchStep>&) override { return TimePoint(); }
  Status record(const LaunchStep&) override { return {}; }
  void send_step(const StepId&, const ToAgent&) override {}
  void forget(const StepId&) override {}
  std::optional<StepDone> find_end(const StepId&) override { return std::nullopt; }
  Leftovers leftovers() override { return {}; }
  bool has_supervisor(const StepId&) override { return false; }
  bool clean_up(const StepId&) override { return true; }
  void end_supervisor(const StepId&) override {}
  Heartbeat measure() override { return {}; }
  Status probe() override { return {}; }
  Status adopt_cluster(const ClusterIdentity&, JobId, bool) override { return {}; }
  bool is_output_stored(const StepId&) override { return true; }
  void reconnect() override {}
};

class SilentPort final : public StepPort {
 public:
  void signal(std::uint16_t, bool) override {}
  void kill_all() override {}
  void suspend(bool) override {}
  void show_stop(StopCall) override {}
  void notice(const std::string&) override {}
  void report(const FromAgent&) override {}
};

LaunchStep launch_of(Rng& rng) {
  LaunchStep launch;
  testing::draw(launch, rng);
  make_plausible(launch, rng);
  if (launch.job == nullptr) launch.job = std::make_shared<const JobSpec>();
  if (launch.step == nullptr) launch.step = std::make_shared<const StepSpec>();
  return launch;
}

}  // namespace

std::vector<std::string> seeds() { return choice_seeds(12, 29); }

void say_anything(std::string_view input) {
  const Choices choices = choices_in(input);
  if (choices.steps.empty()) return;
  Rng rng(choices.seed);
  static auto io = kj::setupAsyncIo();
  SmallCluster cluster(io);
  SilentWorld world;
  Agent agent(testing::Rig::hello_of(0), 0, world);
  SilentPort port;
  TimePoint now = TimePoint::from_seconds(100);
  StepSupervisor supervisor(launch_of(rng), port, now);
  agent.on_registered(now);
  for (const char choice : choices.steps) {
    const auto kind = static_cast<unsigned char>(choice);
    now = now + Duration::milliseconds(kind * 10);
    switch (kind % 4) {
      case 0:
      case 1: {
        FromAgent message = draw_any<FromAgent>(rng);
        if (const auto* hello = get_if<RegisterNode>(&message)) {
          (void)cluster.greet(*hello);
        } else {
          cluster.hear(NodeIndex(kind % 2), message);
        }
        if (kind % 8 == 0) cluster.run_until_idle();
        break;
      }
      case 2: {
        ToAgent message = draw_any<ToAgent>(rng);
        if (auto* launch = get_if<LaunchStep>(&message)) *launch = launch_of(rng);
        agent.on_controller(message, now);
        agent.end_turn();
        agent.on_step_linked(StepId{JobId(kind % 7), 0, kind}, kind % 3);
        agent.on_step(StepId{JobId(kind % 7), 0, kind}, draw_any<FromAgent>(rng));
        agent.on_tick(now);
        break;
      }
      default:
        if (supervisor.is_ended()) break;
        if (kind % 16 == 3) supervisor.on_started(1 + kind % 3, std::nullopt, now);
        supervisor.on_message(draw_any<ToAgent>(rng), now);
        supervisor.on_tick(now);
        break;
    }
  }
  cluster.expect_replay();
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::say_anything(muster::fuzz::bytes_of(data, size));
  return 0;
}
