// Drives a fuzz target without libFuzzer: every seed as it is, then `-runs` inputs made from them
// by random edits. Understands the options of libFuzzer's that the short runs use, so that either
// program is started the same way.
//   fuzz_NAME [-runs=N] [-seed=S] [-max_len=BYTES] [-max_total_time=SECONDS] [FILE|FOLDER...]
//   fuzz_NAME -write_seeds=FOLDER
// An input that ends the program is left as ./crash-SEED-NUMBER; given as FILE it is run again,
// alone.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/rng.h"
#include "fuzz/fuzz.h"

namespace muster::fuzz {
namespace {

struct Options {
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
  std::size_t length_max = 4096;
  std::uint64_t seconds_max = 0;  ///< 0: no limit
  std::string write_seeds;
  std::vector<std::string> inputs;
};

/// The input that is being tried, for the handler of signals.
const std::string* trying = nullptr;
char crash_path[64] = {};

void save_input(int signal) {
  if (trying != nullptr) {
    const int fd = ::open(crash_path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0 && ::write(fd, trying->data(), trying->size()) >= 0) ::close(fd);
    constexpr std::string_view kSaid = "the input is in ./";
    [[maybe_unused]] auto said = ::write(2, kSaid.data(), kSaid.size());
    said = ::write(2, crash_path, std::strlen(crash_path));
    said = ::write(2, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const std::string& input) {
  trying = &input;
  // A copy of its very size: a read beyond its end leaves the block, which the sanitizers see.
  const std::vector<std::uint8_t> copy(input.begin(), input.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  trying = nullptr;
}

/// One random edit. `others`: what may be spliced in.
void edit(std::string& input, const std::vector<std::string>& others, Rng& rng) {
  static constexpr std::uint64_t kSpecial[] = {0,
                                               1,
                                               2,
                                               3,
                                               7,
                                               8,
                                               0x7f,
                                               0x80,
                                               0xff,
                                               0x100,
                                               0x7fff,
                                               0xffff,
                                               0x10000,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               0x7fffffffffffffff,
                                               0xffffffffffffffff};
  const auto position = [&] { return static_cast<std::size_t>(rng.below(input.size() + 1)); };
  const std::size_t at = position();
  const std::size_t length =
      std::min<std::size_t>(input.size() - at, rng.chance(0.5) ? 1 : 1 + rng.below(32));
  switch (rng.below(9)) {
    case 0:
      if (at < input.size())
        input[at] = static_cast<char>(input[at] ^ static_cast<char>(1U << rng.below(8)));
      break;
    case 1:
      if (at < input.size()) input[at] = static_cast<char>(rng.below(256));
      break;
    case 2: input.insert(at, 1 + rng.below(4), static_cast<char>(rng.below(256))); break;
    case 3: input.erase(at, length); break;
    case 4: input.insert(position(), input.substr(at, length)); break;
    case 5: {
      const std::uint64_t value = kSpecial[rng.below(std::size(kSpecial))];
      const std::size_t width = std::size_t{1} << rng.below(4);
      if (at + width <= input.size()) std::memcpy(input.data() + at, &value, width);
      break;
    }
    case 6: {
      const std::string& other = others[rng.below(others.size())];
      const auto from = static_cast<std::size_t>(rng.below(other.size() + 1));
      input.insert(at, other.substr(from, rng.below(64)));
      break;
    }
    case 7: input.insert(at, std::to_string(kSpecial[rng.below(std::size(kSpecial))])); break;
    default: input.resize(at); break;
  }
}

std::vector<std::string> read_inputs(const std::vector<std::string>& paths, bool& is_all_files) {
  std::vector<std::string> inputs;
  is_all_files = !paths.empty();
  const auto add = [&](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      add(path);
      continue;
    }
    is_all_files = false;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) add(file);
  }
  return inputs;
}

int write_all_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(folder + "/seed-" + std::to_string(++number),
                       std::ios::binary | std::ios::trunc);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    if (!file.good()) {
      std::fprintf(stderr, "cannot write into %s\n", folder.c_str());
      return 1;
    }
  }
  return 0;
}

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::size_t sign = word.find('=');
    if (!word.starts_with('-')) {
      options.inputs.emplace_back(word);
      continue;
    }
    const std::string_view name = word.substr(0, sign);
    const std::string value(sign == word.npos ? "" : word.substr(sign + 1));
    if (name == "-write_seeds") {
      options.write_seeds = value;
      continue;
    }
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0') return false;
    if (name == "-runs")
      options.runs = number;
    else if (name == "-seed")
      options.seed = number;
    else if (name == "-max_len")
      options.length_max = number;
    else if (name == "-max_total_time")
      options.seconds_max = number;
    else
      return false;
  }
  return true;
}

int drive(const Options& options) {
  bool is_all_files = false;
  std::vector<std::string> begin = read_inputs(options.inputs, is_all_files);
  if (!is_all_files) {
    for (std::string& seed : seeds()) begin.push_back(std::move(seed));
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, save_input);
  std::snprintf(crash_path, sizeof crash_path, "crash-%llu-0",
                static_cast<unsigned long long>(options.seed));
  for (const std::string& input : begin) run(input);
  const std::uint64_t runs = is_all_files ? 0 : options.runs;
  const auto start = std::chrono::steady_clock::now();
  Rng rng(options.seed);
  std::uint64_t done = 0;
  for (; done < runs; ++done) {
    const auto spent = std::chrono::steady_clock::now() - start;
    if (options.seconds_max != 0 && spent >= std::chrono::seconds(options.seconds_max)) break;
    std::string input = begin.empty() ? std::string() : begin[rng.below(begin.size())];
    for (std::uint64_t edits = 1 + rng.below(8); edits > 0 && !begin.empty(); --edits)
      edit(input, begin, rng);
    if (input.size() > options.length_max) input.resize(options.length_max);
    std::snprintf(crash_path, sizeof crash_path, "crash-%llu-%llu",
                  static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(done) + 1);
    run(input);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%zu seeds and %llu mutations of them (seed %llu) in %.1f s: none was a fault\n",
              begin.size(), static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(options.seed), seconds.count());
  return 0;
}

}  // namespace
}  // namespace muster::fuzz

int main(int count, char** words) {
  muster::fuzz::Options options;
  if (!muster::fuzz::parse(count, words, options)) {
    std::fprintf(stderr,
                 "usage: %s [-runs=N] [-seed=S] [-max_len=BYTES] [-max_total_time=SECONDS] "
                 "[FILE|FOLDER...]\n       %s -write_seeds=FOLDER\n",
                 words[0], words[0]);
    return 2;
  }
  if (!options.write_seeds.empty()) return muster::fuzz::write_all_seeds(options.write_seeds);
  return muster::fuzz::drive(options);
}
