#include "search/hyperband.h"

#include <algorithm>

namespace muster::search {

std::vector<SyncBracketPlan> hyperband_brackets(const Hyperband& config) {
  const std::uint64_t eta = config.divisor;
  const std::uint32_t s_max =
      whole_log(static_cast<double>(config.max_time), static_cast<double>(eta));
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < s_max; ++i) power *= eta;
  std::vector<SyncBracketPlan> brackets;
  for (std::uint32_t s = s_max + 1; s-- > 0; power /= eta) {
    SyncBracketPlan plan;
    std::uint64_t trials = ((s_max + 1) * power + s) / (s + 1);
    std::uint64_t divided = power;
    for (std::uint32_t i = 0; i <= s; ++i) {
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
