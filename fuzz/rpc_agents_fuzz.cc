// What a connection says to the controller's socket for agents, from the first byte on. Seeds: what
// the agent's own client says, recorded.
#include "fuzz/fuzz.h"
#include "fuzz/plausible.h"
#include "fuzz/rpc_door.h"
#include "wire/agent_client.h"
#include "wire/socket.h"

namespace muster::fuzz {
namespace {

RpcDoor& door() {
  static RpcDoor one(DoorKind::kAgents);
  return one;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    all.push_back(door().record([&](kj::AsyncIoContext& io, const std::string& address) {
      const auto fd = connect_to(address);
      FUZZ_EXPECT(fd.has_value(), "the recording agent cannot connect");
      AgentClient agent(io, *fd, [](const ToAgent&) {});
      RegisterNode hello = testing::Rig::hello_of(static_cast<std::uint32_t>(seed % 2));
      hello.boot_id = seed % 3 == 0 ? "another boot" : "boot";
      (void)agent.register_node(hello).wait(io.waitScope);
      Rng rng(seed);
      for (std::uint64_t i = 0; i < seed % 5; ++i) {
        const auto message = draw_any<FromAgent>(rng);
        if (!holds_alternative<RegisterNode>(message)) agent.send(message);
      }
      agent.send(Heartbeat{});
      io.provider->getTimer().afterDelay(5 * kj::MILLISECONDS).wait(io.waitScope);
    }));
  }
  return all;
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::door().feed(muster::fuzz::bytes_of(data, size));
  return 0;
}
