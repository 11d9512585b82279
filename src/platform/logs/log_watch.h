// Reads what trials' tasks write, before it is stored, for lines that match log policies and lines
// that are reports. It returns what it found and does nothing about it. Single-threaded.
//
// The store says where a stream's present line began, so that after a start the same lines are read
// again as before: what comes of a line must do no harm when it comes twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/command.h"
#include "platform/logs/log_book.h"
#include "store/logs/log_store.h"

namespace muster {

class LogWatch {
 public:
  LogWatch(LogStore& store, LogBook& book) : store_(store), book_(book) {}

  /// Returns what the lines that end in this fragment set off, in their order: of each policy the
  /// first of a run alone. Bytes that were read before yield nothing again. A longer line than 16
  /// KiB is read in parts. Errors: kUnavailable: what the store has of the stream cannot be read;
  /// the fragment is to be given again. Cost: some 2 ms for each MiB with two policies, besides
  /// what is found.
  Result<std::vector<LogFinding>> read(NodeIndex node, const LogFragment& fragment);
  /// Forgets a stream of which nothing is under way: the store says how far it is.
  void forget(const LogStreamId& stream) { streams_.erase(stream); }
  void forget_all() { streams_.clear(); }
  std::size_t stream_count() const { return streams_.size(); }

 private:
  struct Stream {
    std::uint64_t next_offset = 0;
    std::string tail;  ///< of a line without an end
  };
  Result<Stream*> stream_of(const LogStreamId& id);
  static std::string complete_lines(Stream& stream, const LogFragment& fragment);
  void find_matches(const WatchRules& rules, NodeIndex node, const LogFragment& fragment,
                    const std::string& text, std::vector<LogFinding>& out);

  LogStore& store_;
  LogBook& book_;
  std::map<LogStreamId, Stream> streams_;
};

}  // namespace muster
