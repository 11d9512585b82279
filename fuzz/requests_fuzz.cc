// Structured requests of ordinary users: right in their form, of any content. Nothing that they ask
// may end the controller, be refused as a fault of ours, or leave a state that its journal does not
// replay. Input: a seed (8 bytes), then how many requests and which events of nodes lie between
// them.
#include "fuzz/fuzz.h"
#include "fuzz/likely_request.h"
#include "fuzz/small_cluster.h"

namespace muster::fuzz {

std::vector<std::string> seeds() { return choice_seeds(8, 37); }

void ask_for_anything(std::string_view input) {
  const Choices choices = choices_in(input);
  if (choices.steps.empty()) return;
  Rng rng(choices.seed);
  static auto io = kj::setupAsyncIo();
  SmallCluster cluster(io);
  for (const char choice : choices.steps) {
    const auto kind = static_cast<unsigned char>(choice);
    const Identity& who = kind % 4 == 0 ? testing::kBob : testing::kAlice;
    if (const auto request = through_the_wire(likely_request(rng))) cluster.submit(who, {*request});
    if (kind % 3 == 0) cluster.run_until_idle();
    if (kind % 17 == 0) cluster.pass(Duration::seconds(kind));
    if (kind % 5 == 0) {
      Query query;
      query.kind = static_cast<QueryKind>(rng.below(14));
      query.detail = static_cast<QueryDetail>(rng.below(3));
      query.since = TimePoint::from_seconds(1);
      query.until = TimePoint::from_seconds(2'000'000'000);
      (void)cluster.query(who, query);
    }
  }
  cluster.expect_replay();
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::ask_for_anything(muster::fuzz::bytes_of(data, size));
  return 0;
}
