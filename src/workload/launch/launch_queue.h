// Launches that are large, on their way to their nodes: as names, each until its turn has come.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// What one node is to be told of a step.
struct LaunchPart {
  StepId step;
  NodeIndex node;
  friend constexpr auto operator<=>(const LaunchPart&, const LaunchPart&) = default;
};

/// A launch is written out for each of its nodes. Thousands at once, with scripts or environments
/// that are large, would fill the memory and keep the loop from everything else: so a node is told
/// one at a time, and all nodes together of so many bytes. Users take turns, also at each node,
/// which is why who launches little does not wait for all that somebody else launches. Cost: O(log
/// parts + users).
class LaunchQueue {
 public:
  struct Bounds {
    std::size_t large = std::size_t{64} << 10;      ///< bytes from which a launch waits here
    std::size_t under_way = std::size_t{32} << 20;  ///< bytes; what has more alone goes alone
    /// After which what a node has not received holds up that node alone.
    Duration timeout = Duration::seconds(1);
  };
  explicit LaunchQueue(const Bounds& bounds) : bounds_(bounds) {}

  bool is_large(std::size_t bytes) const { return bytes >= bounds_.large; }
  /// Nothing happens if it is here.
  void add(const LaunchPart& part, UserId user, std::size_t bytes);
  /// The part whose turn it is: it counts as under way until it is received or forgotten. nullopt:
  /// none may go now.
  std::optional<LaunchPart> next(TimePoint now);
  /// It has been sent. Requires: next() gave it.
  void sent(const LaunchPart& part, TimePoint now);
  /// Its node has it, or is not to have it.
  void received(const LaunchPart& part);
  /// The node's connection is over: what was to go there is not known here any more.
  void forget(NodeIndex node);

  /// It has not been sent.
  bool is_waiting(const LaunchPart& part) const;
  /// Nodes of the step whose turn has come and to which it has not been sent.
  std::vector<NodeIndex> unsent_turns(const StepId& step) const;
  /// Of a step with parts that have not been sent: since when they have had their turn, or nothing
  /// but their nodes has kept them from it; `now` if one waits for others, at its node those whose
  /// turn has come and which have not been sent. nullopt: all parts have been sent.
  std::optional<TimePoint> held_up_since(const StepId& step, TimePoint now) const;
  bool is_empty() const { return parts_.empty(); }

 private:
  enum class Stage { kWaiting, kTurn, kSent };
  struct Entry {
    std::size_t bytes = 0;
    Stage stage = Stage::kWaiting;
  };
  struct UnderWay {
    LaunchPart part;
    TimePoint since;        ///< of its turn, or of its sending
    std::size_t bytes = 0;  ///< 0: it holds up nobody else
  };
  struct Node {
    std::map<UserId, std::deque<LaunchPart>> waiting;
    std::deque<UserId> turns;  ///< those with parts in `waiting`, the next one first
    std::optional<UnderWay> under_way;
    std::uint64_t ready = 0;  ///< its place among the nodes that are ready; 0: it is not
  };
  /// Nodes that are told nothing at present and whose next part is the user's, in the order in
  /// which they became so.
  using ReadyNodes = std::map<std::uint64_t, NodeIndex>;
  void give_up_the_old(TimePoint now);
  void make_ready(NodeIndex index);
  void make_unready(Node& node);
  void drop_if_idle(NodeIndex index);

  Bounds bounds_;
  std::map<LaunchPart, Entry> parts_;
  std::map<NodeIndex, Node> nodes_;
  std::map<UserId, ReadyNodes> ready_;
  std::deque<UserId> turns_;  ///< the users in `ready_`, the next one first
  std::uint64_t ready_count_ = 0;
  std::deque<std::pair<TimePoint, LaunchPart>> by_age_;
  std::size_t bytes_ = 0;  ///< under way
};

}  // namespace muster
