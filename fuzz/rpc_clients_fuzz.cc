// What a connection says to the controller's socket for clients, from the first byte on. Seeds:
// what the commands' own client says, recorded.
#include "fuzz/fuzz.h"
#include "fuzz/likely_request.h"
#include "fuzz/rpc_door.h"

namespace muster::fuzz {
namespace {

RpcDoor& door() {
  static RpcDoor one(DoorKind::kClients);
  return one;
}

std::unique_ptr<ControllerClient> dial(kj::AsyncIoContext& io, const std::string& address) {
  auto client = ControllerClient::connect(io, address);
  FUZZ_EXPECT(client.has_value(), "the recording client cannot connect");
  return std::move(*client);
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    all.push_back(door().record([&](kj::AsyncIoContext& io, const std::string& address) {
      const auto client = dial(io, address);
      Rng rng(seed);
      std::vector<Request> requests;
      for (std::uint64_t i = 1 + seed % 3; i > 0; --i) {
        if (const auto request = through_the_wire(likely_request(rng)))
          requests.push_back(*request);
      }
      // Some are answered when something happens that does not happen here.
      auto answered = client->submit_async(requests, RequestId{seed, seed}).ignoreResult();
      answered.exclusiveJoin(io.provider->getTimer().afterDelay(20 * kj::MILLISECONDS))
          .wait(io.waitScope);
    }));
  }
  for (std::uint8_t kind = 0; kind < 14; ++kind) {
    all.push_back(door().record([&](kj::AsyncIoContext& io, const std::string& address) {
      const auto client = dial(io, address);
      Query query;
      query.kind = static_cast<QueryKind>(kind);
      query.since = TimePoint::from_seconds(1);
      query.until = TimePoint::from_seconds(2'000'000'000);
      query.experiments = {ExperimentId(1)};
      (void)client->query(query, [](const Page&) {});
      (void)client->wait(WaitFor{StepId{JobId(1), 0, 0}, WaitUntil::kStarted});
      (void)client->read_logs(LogQuery(), Duration());
    }));
  }
  return all;
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::door().feed(muster::fuzz::bytes_of(data, size));
  return 0;
}
