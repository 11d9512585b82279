// What a trial's tasks write, kept in the node's spool until the agent has sent it to the
// controller: a file for each rank and stream. Besides it goes where it always goes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "model/task_log.h"
#include "stepd/step_program.h"
#include "trials/rank_prefix.h"

namespace muster {

class OutputCapture {
 public:
  /// Null: nothing of this step is kept. Kept is what a trial's batch script writes; of a job of
  /// several nodes also what the script's first step writes there, because that does not pass
  /// through the script. What other steps write does.
  static std::unique_ptr<OutputCapture> make(const LaunchStep& launch, const StepdOptions& options);
  ~OutputCapture();

  /// What the disk does not take is lost, as it is for a task that writes itself; as soon as it
  /// takes something again, a line in the log says how many bytes are missing at that place.
  void add(std::uint32_t task_rank, LogStream stream, std::string_view bytes);
  /// Nothing follows. A loss that no line tells of yet is told now; for that some room was taken at
  /// the beginning.
  void finish();

 private:
  using StreamOf = std::pair<std::uint32_t, LogStream>;  ///< of which rank
  OutputCapture(const LaunchStep& launch, std::string folder);
  RankSplitter& splitter_of(const StreamOf& task);
  struct File {
    int fd = -1;                ///< below 0: it could not be opened yet
    std::uint64_t missing = 0;  ///< bytes that the disk did not take since it last took some
  };
  std::string path_of(const StreamOf& stream) const;
  void reserve_room();
  void give_up_reserve();
  void write(const StreamOf& stream, std::string_view bytes);

  const LaunchStep& launch_;
  std::string folder_;
  std::map<StreamOf, RankSplitter> splitters_;
  std::map<StreamOf, File> files_;
  int reserve_ =
      -1;  ///< a file without a name, for the last words on a full disk; below 0: there is none
};

}  // namespace muster
