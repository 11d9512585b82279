// Receives what nodes send of their tasks' output and answers who reads it or waits for more.
// Single-threaded; owns no thread and reads no clock.
//
//   a piece of output ──read──▶ what its lines set off has been done ──stored──▶ acknowledged,
//   shown to who waits
//
// What a line sets off is done before the line is stored, and before its node hears that it is:
// whatever dies in between, the piece comes again and its lines are read again. Pieces of one
// stream are stored in their order; other streams do not wait for it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "model/agent_message.h"
#include "model/ids.h"
#include "platform/logs/log_sweeper.h"
#include "platform/logs/log_watch.h"
#include "store/logs/log_store.h"

namespace muster {

class LogPort {
 public:
  virtual ~LogPort() = default;
  /// Tells the node that sent the fragment how much is on stable storage.
  virtual void acknowledge(NodeIndex node, const OutputReceived& answer) = 0;
  virtual void answer(std::uint64_t token, Result<LogPage> page) = 0;
  /// Does what lines set off, in this order; LogRole::on_done follows.
  virtual void act_upon(std::uint64_t token, std::vector<LogFinding> findings) = 0;
  /// Reports that the disk refuses, for the first time since it accepted something.
  virtual void complain(const Error& error) = 0;
};

class LogRole {
 public:
  LogRole(LogStore& store, LogBook& book, LogPort& port)
      : store_(store), port_(port), watch_(store, book), sweeper_(store) {}

  /// Holds the fragment until the next store(). Bound: what nodes send unanswered.
  void on_output(NodeIndex node, LogFragment fragment);
  /// Reads what came, and stores in one transaction all that waits for nothing; then those who wait
  /// for lines of it are answered. What the disk refuses is tried again after a second.
  void store(TimePoint now);
  /// Called when what a piece's lines set off is durable, or of no use any more; or when it could
  /// not be done (kUnavailable, kResourceExhausted) and is tried again after a second. The next
  /// store() stores the piece.
  void on_done(std::uint64_t token, const std::optional<Error>& error, TimePoint now);
  /// Answers at once, or holds a forward question at whose end there is nothing until there is
  /// something, or `wait` is over.
  void on_read(LogQuery query, Duration wait, std::uint64_t token, TimePoint now);
  /// Answers without lines those who wait for lines of the owner.
  void wake(LogOwner owner);
  void on_tick(TimePoint now);
  /// Deletes the logs of these owners, which have been kept for long enough.
  void expire(const std::vector<LogOwner>& owners) { sweeper_.expire(owners); }
  bool has_expired() const { return sweeper_.has_work(); }
  /// Deletes a bounded part of what has expired. A refusal is tried again after a second.
  void sweep(TimePoint now);
  /// Returns when store() and on_tick() are next needed; never: not before something comes.
  TimePoint next_tick() const;

 private:
  struct Piece {
    NodeIndex node;
    LogFragment fragment;
    std::uint64_t token = 0;           ///< of what its lines set off; 0: it waits for nothing
    std::vector<LogFinding> findings;  ///< to be done again
  };
  /// A question without an answer yet.
  struct Waiting {
    LogQuery query;  ///< from where what is new will be
    std::uint64_t token = 0;
    TimePoint until;
  };
  Status read_new();
  void refuse(const Error& error, TimePoint now);
  void act_upon(Piece& piece);
  std::list<Piece> extract_ready();
  void answer_empty(const Waiting& waiting);
  void show_new(const std::vector<LogFragment>& stored, TimePoint now);

  LogStore& store_;
  LogPort& port_;
  LogWatch watch_;
  LogSweeper sweeper_;
  std::list<Piece> new_;                    ///< not read yet
  std::list<Piece> pieces_;                 ///< read and not stored yet, as they came
  std::map<std::uint64_t, Piece*> acting_;  ///< whose lines set something off
  std::map<std::uint64_t, Piece*> to_repeat_;
  std::uint64_t last_token_ = 0;
  std::multimap<LogOwner, Waiting> waiting_;
  bool is_refused_ = false;
  TimePoint retry_time_;
  TimePoint repeat_time_ = TimePoint::never();
  TimePoint sweep_time_;  ///< not before
};

}  // namespace muster
