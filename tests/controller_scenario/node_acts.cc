// What happens to nodes.
#include "tests/controller_scenario/acts.h"

namespace muster::scenario {
namespace {

tl::unexpected<Error> wrong_act(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

/// What it has started and not told of is told now.
void speak(World& world, NodeIndex index) {
  FakeNode& node = world.node(index);
  node.is_mute = false;
  std::vector<FromAgent> told;
  for (const KnownStep& step : node.known_steps()) {
    if (step.phase == StepPhase::kRunning) told.emplace_back(StepRunning{step.id, step.launch_key});
  }
  world.send_from(index, told);
}

void set_size(World& world, NodeIndex index, const Options& options) {
  FakeNode& node = world.node(index);
  node.cpus = options.count("cpus", node.cpus);
  node.memory_mib = options.count("mem", static_cast<std::uint32_t>(node.memory_mib));
  world.connect(index);
}

Status act_on(World& world, NodeIndex index, const std::string& verb, const Options& options) {
  FakeNode& node = world.node(index);
  if (verb == "silent") {
    world.lose(index);
  } else if (verb == "returns") {
    world.connect(index);
  } else if (verb == "reboots") {
    node.reboot();
    world.connect(index);
  } else if (verb == "mute") {
    node.is_mute = true;
  } else if (verb == "speaks") {
    speak(world, index);
  } else if (verb == "clings") {
    node.is_clinging = true;
  } else if (verb == "lets_go") {
    world.send_from(index, node.let_go());
  } else if (verb == "reports") {
    set_size(world, index, options);
  } else if (verb == "healthy") {
    node.fault.clear();
  } else if (verb == "fault") {
    node.fault = options.get("text");
  } else {
    return wrong_act("unknown word " + verb);
  }
  return {};
}

}  // namespace

Status act_node(World& world, const Options& options) {
  if (options.names().size() != 2) return wrong_act("node LIST VERB");
  const auto names = expand_hosts(options.name(0));
  if (names.empty()) return wrong_act("node LIST VERB");
  for (const std::string& name : names) {
    const auto index = world.state().nodes().find_by_name(name);
    if (!index) return wrong_act("no node " + name);
    TRY(act_on(world, *index, options.name(1), options));
  }
  world.run_until_idle();
  return {};
}

}  // namespace muster::scenario
