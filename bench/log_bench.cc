// The log store under the output of 64 tasks, then searched as people search.
//   log_bench [--mb N] [--ranks N] [--dir DIR]
// Every append holds 4 KiB of each task; the file is opened again as after a crash; each search is
// answered until it is done, with the file in memory and without. Asserts what is found first.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "bench/cold_file.h"
#include "bench/log_lines.h"
#include "bench/stopwatch.h"
#include "store/logs/sqlite_logs.h"

namespace muster::bench {
namespace {

constexpr LogOwner kOwner{LogOwnerKind::kTrial, 1};
constexpr std::size_t kFragmentBytes = 4096;

struct Size {
  std::uint64_t mb = 1000;
  std::uint64_t ranks = 64;
  std::string dir = "/tmp";
};

std::unique_ptr<LogStore> opened(const std::string& path) {
  auto store = open_sqlite_logs({.path = path});
  CHECK(store.has_value(), "{}", store.error().text());
  return std::move(store).value();
}

struct Written {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

/// One line at a third of the way and one near the end hold what is searched for as a rare word.
Written measure_load(const Size& size, const std::string& path) {
  auto store = opened(path);
  Rng rng(1);
  Written written;
  std::vector<std::uint64_t> offsets(size.ranks);
  std::vector<double> took;
  double total = 0;
  const std::uint64_t wanted = size.mb * 1'000'000;
  const std::uint64_t rare[] = {wanted / 3, wanted - wanted / 20};
  std::size_t next_rare = 0;
  for (std::uint64_t step = 0; written.bytes < wanted; ++step) {
    std::vector<LogFragment> batch(size.ranks);
    for (std::uint64_t rank = 0; rank < size.ranks; ++rank) {
      LogFragment& fragment = batch[rank];
      fragment.owner = kOwner;
      fragment.rank = static_cast<std::uint32_t>(rank);
      fragment.offset = offsets[rank];
      fragment.received_time = TimePoint::from_microseconds(
          static_cast<std::int64_t>(1'700'000'000'000'000 + step * 150'000));
      for (; fragment.bytes.size() < kFragmentBytes; ++written.lines)
        fragment.bytes += line_of(rng, rank, step);
      if (next_rare < 2 && written.bytes >= rare[next_rare]) {
        fragment.bytes += "RuntimeError: quetzalcoatlus not found\n";
        ++written.lines;
        ++next_rare;
      }
      offsets[rank] += fragment.bytes.size();
      written.bytes += fragment.bytes.size();
    }
    const Stopwatch watch;
    const auto acknowledged = store->append(batch);
    took.push_back(watch.ms());
    total += took.back();
    CHECK(acknowledged.has_value() && *acknowledged == offsets, "an append was not acknowledged");
  }
  CHECK(next_rare == 2);
  std::ranges::sort(took);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "durable task output              {:.0f} MB/min  ({} MB of {} ranks, {} lines, {} KiB at a "
      "time)\n",
      static_cast<double>(written.bytes) / 1e6 / total * 60'000, written.bytes / 1'000'000,
      size.ranks, written.lines, size.ranks * kFragmentBytes / 1024);
  fmt::print("{:<32} median {:8.3f} ms  worst {:8.3f} ms  (p99 {:.3f} ms)\n", "one durable append",
             took[took.size() / 2], took.back(), at_share(took, 0.99));
  fmt::print("file {:.1f} MB; {:.0f} MB of memory\n", static_cast<double>(bytes_of(path)) / 1e6,
             static_cast<double>(usage.ru_maxrss) / 1e3);
  return written;
}

struct Found {
  std::uint64_t lines = 0;
  double all_ms = 0;
  double worst_call_ms = 0;
  std::uint64_t calls = 0;
};

Found search(LogStore& store, LogQuery query, bool is_first_enough) {
  Found found;
  const Stopwatch watch;
  for (bool is_end = false; !is_end;) {
    const Stopwatch call;
    const auto page = store.read(query);
    CHECK(page.has_value(), "{}", page.error().text());
    found.worst_call_ms = std::max(found.worst_call_ms, call.ms());
    ++found.calls;
    found.lines += page->lines.size();
    query.from = page->next;
    is_end = page->is_end || (is_first_enough && found.lines > 0);
  }
  found.all_ms = watch.ms();
  return found;
}

struct Search {
  const char* name;
  const char* text;
  bool is_regex;
  bool is_first_enough;
  std::uint64_t lines;  ///< 0: any number but none
};

constexpr std::uint64_t kAbsent = ~std::uint64_t{0};  ///< Search::lines of what is not there

void check_found(const Search& one, std::uint64_t lines) {
  const bool is_right = one.lines == kAbsent ? lines == 0
                        : one.lines == 0     ? lines > 0
                                             : lines == one.lines;
  CHECK(is_right, "{}: {} lines", one.name, lines);
}

/// Searches three times; `is_cold`: each time with nothing of the files in memory.
void measure_search(const std::string& path, const Search& one, bool is_cold, std::uint64_t lines) {
  auto store = opened(path);
  std::vector<double> took;
  Found found;
  for (int round = 0; round < 3; ++round) {
    if (is_cold) {
      store = nullptr;
      make_cold(path);
      store = opened(path);
    }
    LogQuery query;
    query.owner = kOwner;
    query.filter.text = one.text;
    query.filter.is_regex = one.is_regex;
    found = search(*store, query, one.is_first_enough);
    check_found(one, found.lines);
    took.push_back(found.all_ms);
  }
  std::ranges::sort(took);
  fmt::print(
      "{:<38} median {:8.3f} ms  worst {:8.3f} ms  ({} of {} lines, {} calls, longest {:.1f} ms)\n",
      fmt::format("{}{}", one.name, is_cold ? ", cold" : ""), took[1], took[2], found.lines, lines,
      found.calls, found.worst_call_ms);
}

void measure_searches(const std::string& path, const Written& written) {
  const Search searches[] = {
      {"rare literal, all matches", "quetzalcoatlus", false, false, 2},
      {"absent literal", "no such words in here", false, false, kAbsent},
      {"rare regex, all matches", "Runtime\\w+: quetz[a-z]+ not", true, false, 2},
      {"absent regex with a literal", "segfault at 0x[0-9a-f]+", true, false, kAbsent},
      {"literal of 4 bytes, absent", "qxzj", false, false, kAbsent},
      {"common literal, first page", "loss=", false, true, 0},
      {"common regex, first page", "step \\d+ loss=[0-3]\\.", true, true, 0},
      {"regex without a literal, first", "=\\d{5}$", true, true, 0},
      {"regex without a literal, absent", "=\\d{7}$", true, false, kAbsent},
  };
  for (const Search& one : searches) {
    for (const bool is_cold : {false, true}) measure_search(path, one, is_cold, written.lines);
  }
}

void measure_opening(const std::string& path) {
  make_cold(path);
  const Stopwatch watch;
  auto store = opened(path);
  const double took = watch.ms();
  fmt::print("{:<32} median {:8.3f} ms  worst {:8.3f} ms  ({:.1f} MB waited)\n",
             "opening after a crash", took, took,
             static_cast<double>(store->waiting_bytes()) / 1e6);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using muster::bench::option;
  muster::bench::Size size;
  size.mb = option(argc, argv, "--mb", size.mb);
  size.ranks = option(argc, argv, "--ranks", size.ranks);
  size.dir = option(argc, argv, "--dir", size.dir);
  std::string dir = size.dir + "/muster_log_bench.XXXXXX";
  CHECK(mkdtemp(dir.data()) != nullptr, "cannot make a folder in {}", size.dir);
  const std::string path = dir + "/logs.db";
  const muster::bench::Written written = muster::bench::measure_load(size, path);
  muster::bench::measure_opening(path);
  muster::bench::measure_searches(path, written);
  std::filesystem::remove_all(dir);
  return 0;
}
