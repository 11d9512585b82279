// Words how a step's tasks ended: the lines that srun prints and its exit code. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/step.h"

namespace muster::cli {

/// One task's end.
struct TaskEnd {
  ExitStatus status;
  bool is_out_of_memory = false;
  friend auto operator<=>(const TaskEnd&, const TaskEnd&) = default;
};

/// Gathers ends and words those that failed, tasks of the same end in one line.
class TaskReport {
 public:
  /// `is_brief`: of lines in a row about one kind of end only the first is made
  /// (SLURM_SRUN_REDUCE_TASK_EXIT_MSG).
  explicit TaskReport(std::uint32_t task_count, bool is_brief = false)
      : task_count_(task_count), is_brief_(is_brief) {}
  void add(std::uint32_t task, const std::string& host, TaskEnd end);
  /// Returns "n[1-2]: tasks 0-1: Exited with exit code 1" for each new failure, and empties the
  /// gathered ones.
  std::vector<std::string> drain_lines();
  bool has_lines() const { return !fresh_.empty(); }
  /// Returns "task 0: running", "tasks 1-3: exited", ...: for Ctrl-C.
  std::vector<std::string> status_lines() const;
  /// Returns 128 + the highest signal if any task was signalled, else the highest exit code; out of
  /// memory counts as 1.
  int exit_code() const;
  std::size_t ended_count() const { return ended_.size(); }

 private:
  struct Group {
    std::set<std::uint32_t> tasks;
    std::vector<std::string> hosts;
  };
  std::uint32_t task_count_;
  bool is_brief_;
  std::optional<TaskEnd> last_reported_;
  std::map<std::uint32_t, TaskEnd> ended_;
  std::map<TaskEnd, Group> fresh_;
};

}  // namespace muster::cli
