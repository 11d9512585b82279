// Durable submissions over one connection: whole requests (3 KB environment, distinct 2 KB
// scripts), a fixed number in flight. Needs a running controller: submit_bench ADDRESS [COUNT]
// [IN_FLIGHT] [hold]. Prints the rate.
#include <fmt/format.h>
#include <kj/async-io.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "wire/controller_client.h"

namespace muster {
namespace {

SubmitJob request(int number, bool is_held) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, "bench" + std::to_string(number));
  spec->text.set(JobText::kWorkDir, "/tmp");
  spec->text.set(JobText::kStdOut, "/dev/null");
  spec->text.set(JobText::kCommand, "/tmp/bench.sh");
  spec->text.set(JobText::kSubmitLine, "sbatch /tmp/bench.sh");
  spec->is_held = is_held;
  static const std::string kEnvironment = [] {
    std::string block;
    for (int i = 0; i < 60; ++i)
      block += fmt::format("VARIABLE_{}={}", i, std::string(36, 'v')) + '\0';
    return block;
  }();
  SubmitJob submit;
  submit.script = std::make_shared<const std::string>(fmt::format("#!/bin/sh\n# {}\n", number) +
                                                      std::string(2000, '#') + "\nexit 0\n");
  submit.environment = std::make_shared<const std::string>(kEnvironment);
  submit.spec = std::move(spec);
  return submit;
}

struct Run {
  ControllerClient& client;
  std::vector<SubmitJob>
      jobs;  ///< made before the clock starts: it is the controller that is measured
  std::size_t next = 0;
  int failed = 0;

  kj::Promise<void> lane() {
    if (next == jobs.size()) return kj::READY_NOW;
    return client.submit_async({std::move(jobs[next++])}, fresh_request_id())
        .then([this](std::vector<Reply> replies) {
          if (replies.size() != 1 || replies[0].error || replies[0].job.value() == 0) ++failed;
          return lane();
        });
  }
};

int main_of(int argc, char** argv) {
  if (argc < 2) return 1;
  const int count = argc > 2 ? std::atoi(argv[2]) : 10'000;
  const int in_flight = argc > 3 ? std::atoi(argv[3]) : 64;
  auto io = kj::setupAsyncIo();
  auto client = ControllerClient::connect(io, argv[1]);
  if (!client.has_value()) {
    fmt::print(stderr, "{}\n", client.error().text());
    return 1;
  }
  Run run{**client, {}};
  for (int i = 0; i < count; ++i) run.jobs.push_back(request(i, argc > 4));
  const auto begin = std::chrono::steady_clock::now();
  auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(static_cast<std::size_t>(in_flight));
  for (int i = 0; i < in_flight; ++i) lanes.add(run.lane());
  kj::joinPromises(lanes.finish()).wait(io.waitScope);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} submissions, {} in flight, {} refused: {:.0f}/s\n", count, in_flight, run.failed,
             count / seconds);
  return run.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::main_of(argc, argv); }
