// Stores what a trial's tasks write in the node's spool, until the agent has sent it to the
// controller: one file for each rank and stream. The output also goes where it goes without this.
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

/// Life cycle: make() ──add() …──▶ finish() ──▶ destroyed. Thread: the supervisor's; add() and
/// finish() write to the disk and may block as long as it does. No call fails: what the disk
/// refuses is counted and reported in the stored output itself.
class OutputCapture {
 public:
  /// Makes a capture; null: nothing of this step is stored. Stored is what a trial's batch script
  /// writes; for a job of several nodes also what its step 0 writes, because on the other nodes
  /// that does not pass through the script. The output of all other steps reaches the script's own.
  /// Lifetime: `launch` outlives the capture.
  static std::unique_ptr<OutputCapture> make(const LaunchStep& launch, const StepdOptions& options);
  ~OutputCapture();

  /// Stores bytes that the task wrote to the stream, under the rank that wrote them: `task_rank`,
  /// or the one that a rank prefix in the text names (trials/rank_prefix.h). What the disk refuses
  /// is lost; once it accepts something again, a line in its place says how many bytes are missing.
  void add(std::uint32_t task_rank, LogStream stream, std::string_view bytes);
  /// Called once, when the tasks write no more: stores what the splitting of ranks still held back,
  /// and reports a loss that no line reports yet, in room that was reserved at the beginning.
  void finish();

 private:
  using StreamOf = std::pair<std::uint32_t, LogStream>;  ///< of which rank
  OutputCapture(const LaunchStep& launch, std::string folder);
  RankSplitter& splitter_of(const StreamOf& task);
  struct File {
    int fd = -1;                ///< below 0: it could not be opened yet
    std::uint64_t missing = 0;  ///< bytes that the disk refused since it last accepted some
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
