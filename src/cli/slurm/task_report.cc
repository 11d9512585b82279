#include "cli/slurm/task_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bitmap.h"
#include "slurm/array_text.h"
#include "slurm/hostlist.h"
#include "slurm/signal_text.h"

namespace muster::cli {
namespace {

// WCOREDUMP's bit of wait(2)'s number, which came from another machine.
constexpr int kCoreDumped = 0x80;

/// "task 3", "tasks 0-2,5".
std::string tasks_text(const std::set<std::uint32_t>& tasks) {
  std::string ranges;
  for (auto task = tasks.begin(); task != tasks.end();) {
    // Runs of neighbours are shown as first-last, as in host lists.
    const std::uint32_t first = *task;
    std::uint32_t last = first;
    while (++task != tasks.end() && *task == last + 1) ++last;
    ranges += fmt::format("{}{}", ranges.empty() ? "" : ",", first);
    if (last != first) ranges += fmt::format("-{}", last);
  }
  return fmt::format("{} {}", tasks.size() == 1 ? "task" : "tasks", ranges);
}

std::string end_text(const TaskEnd& end) {
  if (end.is_out_of_memory) return "Out Of Memory";
  // signal() is 0 for what ended by itself.
  if (end.status.signal() == 0) return fmt::format("Exited with exit code {}", end.status.code());
  const bool has_core = (end.status.raw & kCoreDumped) != 0;
  return signal_description(static_cast<std::uint16_t>(end.status.signal())) +
         (has_core ? " (core dumped)" : "");
}

}  // namespace

void TaskReport::add(std::uint32_t task, const std::string& host, TaskEnd end) {
  // A task ends once; only failures are news.
  if (!ended_.emplace(task, end).second || (end.status.is_success() && !end.is_out_of_memory))
    return;
  // By the way it ended: a thousand equal ends are one line.
  Group& group = fresh_[end];
  group.tasks.insert(task);
  group.hosts.push_back(host);
}

std::vector<std::string> TaskReport::drain_lines() {
  std::vector<std::string> lines;
  for (const auto& [end, group] : fresh_) {
    // The same end as last time is said once. Source: srun(1), SLURM_SRUN_REDUCE_TASK_EXIT_MSG.
    if (is_brief_ && last_reported_ == end) continue;
    last_reported_ = end;
    lines.push_back(fmt::format("{}: {}: {}", sorted_hostlist(group.hosts), tasks_text(group.tasks),
                                end_text(end)));
  }
  fresh_.clear();
  return lines;
}

std::vector<std::string> TaskReport::status_lines() const {
  std::set<std::uint32_t> running, exited, failed;
  for (std::uint32_t task = 0; task < task_count_; ++task) {
    const auto end = ended_.find(task);
    (end == ended_.end()               ? running
     : end->second.status.is_success() ? exited
                                       : failed)
        .insert(task);
  }
  std::vector<std::string> lines;
  for (const auto& [tasks, word] :
       {std::pair(&running, "running"), {&exited, "exited"}, {&failed, "exited abnormally"}}) {
    if (!tasks->empty()) lines.push_back(fmt::format("{}: {}", tasks_text(*tasks), word));
  }
  return lines;
}

int TaskReport::exit_code() const {
  int code = 0;
  int signal = 0;
  for (const auto& [task, end] : ended_) {
    // Out of memory fails the step without an exit code of its own.
    if (end.is_out_of_memory) {
      code = std::max(code, 1);
    } else {
      code = std::max(code, end.status.code());
      signal = std::max(signal, end.status.signal());
    }
  }
  // As a shell reports a signal. The highest signal goes before the highest code.
  return signal != 0 ? 128 + signal : code;
}

}  // namespace muster::cli
