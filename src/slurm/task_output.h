// Lines of a step's tasks on their way to srun's standard streams or to files: passed on as they
// come, or labelled with the task's rank. Pure: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace muster {

/// One stream (output or errors) of all tasks. Binary safe.
class TaskOutput {
 public:
  /// Labels are as wide as the highest rank. `task_count` 0 counts as 1.
  TaskOutput(bool is_labelled, std::uint32_t task_count);
  /// Returns what is to be written now. Labelled: whole lines only; a line without its end waits
  /// for more.
  std::string add(std::uint32_t task, std::string_view bytes);
  /// Returns the lines that never got an end, each with one.
  std::string finish();

 private:
  std::string label(std::uint32_t task) const;
  bool is_labelled_;
  std::size_t width_;
  std::map<std::uint32_t, std::string> partial_;
};

}  // namespace muster
