#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/fuzz.h"

namespace muster::fuzz {

void found(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::abort();
}

Choices choices_in(std::string_view input) {
  Choices choices;
  if (input.size() < sizeof choices.seed) return choices;
  std::memcpy(&choices.seed, input.data(), sizeof choices.seed);
  choices.steps = input.substr(sizeof choices.seed, 64);
  return choices;
}

std::vector<std::string> choice_seeds(std::size_t steps, int stride) {
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) {
    const auto more = static_cast<std::size_t>(i);
    all.push_back(std::string(8, static_cast<char>(i)) +
                  std::string(steps + more, static_cast<char>(i * stride)));
  }
  return all;
}

}  // namespace muster::fuzz
