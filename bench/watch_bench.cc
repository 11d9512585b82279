// What reading trials' output costs the thread that stores it: pieces of 64 tasks through the
// production role, into a real store.
//   watch_bench [--mb N] [--dir DIR]
// Once with nothing to look for, once with Determined's two default policies, once with eight
// policies of which none matches, and once with a report on every tenth line of rank 0. Asserts
// what is stored and what is found first.
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "base/check.h"
#include "bench/log_lines.h"
#include "bench/stopwatch.h"
#include "platform/logs/log_role.h"
#include "platform/logs/testing.h"
#include "store/logs/sqlite_logs.h"

namespace muster::bench {
namespace {

constexpr std::uint64_t kRanks = 64;
constexpr std::size_t kPieceBytes = 16 << 10;

/// What lines set off is done at once.
class Port final : public LogPort {
 public:
  void acknowledge(NodeIndex, const OutputReceived&) override { ++acknowledged; }
  void answer(std::uint64_t, Result<LogPage>) override {}
  void act_upon(std::uint64_t token, std::vector<LogFinding> findings) override {
    found += findings.size();
    tokens.push_back(token);
  }
  void complain(const Error& error) override { CHECK(false, "{}", error.text()); }
  std::uint64_t acknowledged = 0;
  std::uint64_t found = 0;
  std::vector<std::uint64_t> tokens;
};

struct Input {
  std::vector<std::vector<LogFragment>> turns;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reports = 0;
};

Input input_of(std::uint64_t mb, bool has_reports) {
  Input input;
  Rng rng(1);
  std::vector<std::uint64_t> offsets(kRanks);
  std::uint64_t step = 0;
  while (input.bytes < mb * 1'000'000) {
    std::vector<LogFragment>& turn = input.turns.emplace_back();
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      LogFragment piece = testing::piece_of("", offsets[rank]);
      piece.rank = static_cast<std::uint32_t>(rank);
      for (; piece.bytes.size() < kPieceBytes; ++input.lines) {
        piece.bytes += line_of(rng, rank, 0);
        if (!has_reports || rank != 0 || input.lines % 10 != 0) continue;
        piece.bytes += fmt::format("step={} loss={:.5f}\n", ++step, rng.unit());
        ++input.lines;
        ++input.reports;
      }
      offsets[rank] += piece.bytes.size();
      input.bytes += piece.bytes.size();
      turn.push_back(std::move(piece));
    }
  }
  return input;
}

void measure(const char* name, const std::string& path, LogBook& book, const Input& input) {
  std::filesystem::remove(path);
  auto store = open_sqlite_logs({.path = path}).value();
  Port port;
  LogRole role(*store, book, port);
  const TimePoint now = TimePoint::from_seconds(1);
  const Stopwatch watch;
  for (const std::vector<LogFragment>& turn : input.turns) {
    for (const LogFragment& piece : turn) role.on_output(NodeIndex(0), piece);
    role.store(now);
    for (const std::uint64_t token : std::exchange(port.tokens, {}))
      role.on_done(token, std::nullopt, now);
  }
  role.store(now);
  const double seconds = watch.ms() / 1000;
  CHECK(port.acknowledged == input.turns.size() * kRanks, "{} pieces were acknowledged",
        port.acknowledged);
  CHECK(port.found == input.reports, "{} findings", port.found);
  fmt::print("{:<40} {:8.0f} lines/s  {:6.1f} MB/s  ({} found)\n", name,
             static_cast<double>(input.lines) / seconds,
             static_cast<double>(input.bytes) / 1e6 / seconds, port.found);
}

void run(std::uint64_t mb, const std::string& dir) {
  const std::string path = dir + "/logs.db";
  const Input plain = input_of(mb, false);
  const Input speaking = input_of(mb, true);
  for (int round = 0; round < 3; ++round) {
    LogBook nothing;
    measure("nothing to look for", path, nothing, plain);
    LogBook usual;
    usual.apply(testing::watched_trial());
    measure("two default policies", path, usual, plain);
    std::string policies = R"("log_policies": [)";
    for (int i = 0; i < 6; ++i)
      policies += fmt::format(R"({}{{"name": "p{}", "pattern": "(?i)fatal.*case {}[0-9]+"}})",
                              i == 0 ? "" : ", ", i, i);
    LogBook many;
    many.apply(testing::watched_trial(policies + "], "));
    measure("eight policies", path, many, plain);
    LogBook reporting;
    reporting.apply(testing::watched_trial());
    measure("two policies, reports of rank 0", path, reporting, speaking);
  }
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using muster::bench::option;
  std::string dir = option(argc, argv, "--dir", std::string("/tmp")) + "/muster_watch_bench.XXXXXX";
  CHECK(mkdtemp(dir.data()) != nullptr, "cannot make a folder");
  muster::bench::run(option(argc, argv, "--mb", std::uint64_t{200}), dir);
  std::filesystem::remove_all(dir);
  return 0;
}
