// What a trial's tasks write, kept in the node's spool until the agent has sent it to the controller: a file for each rank and
// stream. Besides it goes where it always goes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codec/rank_prefix.h"
#include "model/task_log.h"
#include "stepd/step_program.h"

namespace muster {

class OutputCapture {
 public:
  /// Null: nothing of this step is kept. Kept is what a trial's batch script writes; of a job of several nodes also what
  /// the script's first step writes there, because that does not pass through the script. What other steps write does.
  static std::unique_ptr<OutputCapture> make(const LaunchStep& launch, const StepdOptions& options);
  ~OutputCapture();

  /// What the disk does not take is lost, as it is for a task that writes itself.
  void add(std::uint32_t task_rank, LogStream stream, std::string_view bytes);
  /// Nothing follows.
  void finish();

 private:
  using StreamOf = std::pair<std::uint32_t, LogStream>;  ///< of which rank
  OutputCapture(const LaunchStep& launch, std::string folder);
  RankSplitter& splitter_of(const StreamOf& task);
  void write(const std::map<StreamOf, std::string>& pieces);

  const LaunchStep& launch_;
  std::string folder_;
  std::map<StreamOf, RankSplitter> splitters_;
  std::map<StreamOf, int> files_;
};

}  // namespace muster
