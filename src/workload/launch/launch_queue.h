// Launches that are large and wait for their turn to be sent, each as the names of step and node.
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

/// One node's part of a step's launch.
struct LaunchPart {
  StepId step;
  NodeIndex node;
  friend constexpr auto operator<=>(const LaunchPart&, const LaunchPart&) = default;
};

/// A launch is written out for each of its nodes. Thousands at once, with scripts or environments
/// that are large, would fill the memory and keep the loop from everything else: so a node is sent
/// one at a time, and all nodes together so many bytes. Users take turns, also at each node, which
/// is why a user who launches little does not wait for all that another launches. Cost: O(log parts
/// + users).
class LaunchQueue {
 public:
  struct Bounds {
    std::size_t large = std::size_t{64} << 10;      ///< bytes from which a launch waits here
    std::size_t under_way = std::size_t{32} << 20;  ///< bytes; what has more alone goes alone
    /// The time after which what a node has not received holds up that node alone.
    Duration timeout = Duration::seconds(1);
  };
  explicit LaunchQueue(const Bounds& bounds) : bounds_(bounds) {}

  bool is_large(std::size_t bytes) const { return bytes >= bounds_.large; }
  /// Adds a part; nothing happens if it is here.
  void add(const LaunchPart& part, UserId user, std::size_t bytes);
  /// Returns the part whose turn it is: it counts as under way until it is received or forgotten.
  /// Nullopt: none may go now.
  std::optional<LaunchPart> next(TimePoint now);
  /// Records that the part has been sent. Requires: next() gave it.
  void sent(const LaunchPart& part, TimePoint now);
  /// Records that the part's node has it, or is not to have it.
  void received(const LaunchPart& part);
  /// Forgets what was to go to a node whose connection is over.
  void forget(NodeIndex node);

  /// True while the part has not been sent.
  bool is_waiting(const LaunchPart& part) const;
  /// Returns the nodes of the step whose turn has come and to which it has not been sent.
  std::vector<NodeIndex> unsent_turns(const StepId& step) const;
  /// Returns, for a step with parts that have not been sent, since when they have had their turn,
  /// or nothing but their nodes has kept them from it; `now` if one waits for others, at its node
  /// those whose turn has come and which have not been sent. nullopt: all parts have been sent.
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
    std::uint64_t ready = 0;  ///< its position among the nodes that are ready; 0: it is not
  };
  /// Nodes to which nothing is being sent and whose next part is the user's, in the order in which
  /// they became so.
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
