// Output of tasks as srun shows it: with --label each line begins with its task, so a line that
// came in parts is held back until its end is there.

#include "slurm/task_output.h"

#include <fmt/format.h>

namespace muster {

TaskOutput::TaskOutput(bool is_labelled, std::uint32_t task_count)
    : is_labelled_(is_labelled),
      // As wide as the largest rank, so that lines line up.
      width_(fmt::format("{}", task_count == 0 ? 0 : task_count - 1).size()) {}

std::string TaskOutput::label(std::uint32_t task) const {
  return fmt::format("{:>{}}: ", task, width_);
}

std::string TaskOutput::add(std::uint32_t task, std::string_view bytes) {
  if (!is_labelled_) return std::string(bytes);
  // Of each task what has no line end yet.
  std::string& partial = partial_[task];
  std::string out;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    if (end == std::string_view::npos) {
      partial += bytes.substr(begin);
      break;
    }
    out += label(task) + partial + std::string(bytes.substr(begin, end + 1 - begin));
    partial.clear();
    begin = end + 1;
  }
  return out;
}

std::string TaskOutput::finish() {
  // At the end what never had a line end is shown all the same.
  std::string out;
  for (auto& [task, partial] : partial_) {
    if (!partial.empty()) out += label(task) + partial + "\n";
    partial.clear();
  }
  return out;
}

}  // namespace muster
