// Times, percentiles and options of the benchmarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace muster::bench {

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The value below which that share of all lies. Requires: sorted, not empty.
inline double at_share(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

/// The word behind `name` on the command line, or `otherwise`.
inline std::string option(int argc, char** argv, const char* name, std::string otherwise) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}
inline std::uint64_t option(int argc, char** argv, const char* name, std::uint64_t otherwise) {
  return std::strtoull(option(argc, argv, name, std::to_string(otherwise)).c_str(), nullptr, 10);
}

}  // namespace muster::bench
