// Takes in what nodes send of their tasks' output and answers who reads it or waits for more. Single-threaded; owns no
// thread and reads no clock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/agent_message.h"
#include "model/ids.h"
#include "store/log_store.h"

namespace muster {

class LogPort {
 public:
  virtual ~LogPort() = default;
  /// To the node that sent the fragment: so much is on stable storage.
  virtual void acknowledge(NodeIndex node, const OutputReceived& answer) = 0;
  virtual void answer(std::uint64_t token, Result<LogPage> page) = 0;
  /// The disk refuses, for the first time since it took something.
  virtual void complain(const Error& error) = 0;
};

class LogRole {
 public:
  LogRole(LogStore& store, LogPort& port) : store_(store), port_(port) {}

  /// Kept until the next store(). Bound: what nodes send unanswered.
  void on_output(NodeIndex node, LogFragment fragment);
  /// All that was kept, in one transaction; then those who wait for lines of it are answered. What the disk refuses is
  /// tried again after a second.
  void store(TimePoint now);
  /// Answers at once, or keeps a forward question at whose end there is nothing until there is something, or `wait` is over.
  void on_read(LogQuery query, Duration wait, std::uint64_t token, TimePoint now);
  /// Who waits for lines of the owner is answered without.
  void wake(LogOwner owner);
  void on_tick(TimePoint now);
  /// When store() and on_tick() are next needed; never: not before something comes.
  TimePoint next_tick() const;

 private:
  /// A question without an answer yet.
  struct Waiting {
    LogQuery query;       ///< from where what is new will be
    std::uint64_t token = 0;
    TimePoint until;
  };
  void answer_empty(const Waiting& waiting);
  void show_new(TimePoint now);

  LogStore& store_;
  LogPort& port_;
  std::vector<LogFragment> fragments_;  ///< not stored yet, and the nodes that sent them
  std::vector<NodeIndex> nodes_;
  std::multimap<LogOwner, Waiting> waiting_;
  bool is_refused_ = false;
  TimePoint retry_time_;
};

}  // namespace muster
