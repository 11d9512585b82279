#include "search/hyperband.h"

#include <algorithm>

namespace muster::search {

std::vector<SyncBracketPlan> hyperband_brackets(const Hyperband& config) {
  // Names as in the paper's algorithm 1: R is max_time, B = (s_max + 1) R.
  const std::uint64_t eta = config.divisor;
  // floor(log_eta(R)), by multiplication: a logarithm of floating point may miss a whole number.
  const std::uint32_t s_max =
      whole_log(static_cast<double>(config.max_time), static_cast<double>(eta));
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < s_max; ++i) power *= eta;
  std::vector<SyncBracketPlan> brackets;
  for (std::uint32_t s = s_max + 1; s-- > 0; power /= eta) {
    SyncBracketPlan plan;
    // n = ceil((s_max + 1) / (s + 1) * eta^s), and below r = R / eta^(s - i).
    std::uint64_t trials = ((s_max + 1) * power + s) / (s + 1);
    std::uint64_t divided = power;
    for (std::uint32_t i = 0; i <= s; ++i) {
      // Rounding down must not leave a rung without trials or without training.
      plan.push_back({static_cast<std::uint32_t>(std::max<std::uint64_t>(trials, 1)),
                      std::max<std::uint64_t>(config.max_time / divided, 1)});
      trials /= eta;
      divided /= eta;
    }
    brackets.push_back(std::move(plan));
  }
  return brackets;
}

}  // namespace muster::search
