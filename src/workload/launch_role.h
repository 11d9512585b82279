// Launches, from the order until the nodes report that they run it, or the end with its cause. A
// launch is a promise: within MusterLaunchTimeout there is a process, or an end. The time counts
// from the order, and anew from when its parts are sent.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "workload/launch/blob_cache.h"
#include "workload/launch/launch_queue.h"
#include "workload/roles.h"

namespace muster {

class LaunchRole {
 public:
  explicit LaunchRole(WorkloadRoles& roles);

  /// Orders a launch: the step is sent to its nodes once this turn's batch is durable, and watched
  /// from now on.
  void order_launch(const StepId& step);
  /// Watches a step of the restored state that not all of its nodes have said to run.
  void watch_launch(const StepId& step);
  /// Forgets a launch of which every part was heard, or whose step is over.
  void forget_launch(const StepId& step);
  /// Sends a step to its nodes; what is large of it waits for its turn, and what cannot be or is
  /// not wanted any more is not sent. False: it waits for blobs. Requires: it is durable.
  bool launch(const StepId& step);
  /// Sends launches whose turn it is.
  void serve_launches();
  /// True when launches may go for which a turn had no time.
  bool has_turns_left() const { return has_turns_left_; }
  void serve_turns_left();
  /// Ends launches that cannot be, and those whose time is over.
  void watch_launches();
  /// Begins everybody's time anew, because this process stood still.
  void extend_all();

  /// Handles a blob that WorkloadPort::fetch_blob asked for. An error ends the launches that wait
  /// for it.
  void on_blob(BlobId id, Result<Bytes> bytes);
  void store_blob(const BlobWrite& blob) { blobs_.put(blob.id, blob.bytes); }
  /// Called when the node's agent has received its part of the launch.
  void on_received(NodeIndex node, const StepId& step);
  /// Called when the node's agent does not accept the launch, with its reason.
  void on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why);
  /// Called when the node's connection is over: what was on its way there is sent again when it
  /// registers.
  void forget_node(NodeIndex node) { queue_.forget(node); }
  bool is_waiting(const LaunchPart& part) const { return queue_.is_waiting(part); }

  /// Returns the step if it may still be launched; null: it is over, or its job ends.
  const StepState* find_launchable(const StepId& step) const;

 private:
  enum class Launch { kSent, kWaits, kDoomed };
  /// The parts that recent launches send to all their nodes alike, and what they were made of.
  struct CommonLaunchKey {
    std::uint64_t launch_key = 0;
    TimePoint end_time;
    JobSpecRef spec;
    AllocationRef allocation;
    StepLayoutRef layout;
    friend bool operator==(const CommonLaunchKey&, const CommonLaunchKey&) = default;
  };
  /// A launch that cannot be carried out, until the next tick ends it.
  struct Doom {
    std::string why;
    std::uint64_t launch_key = 0;
    std::optional<NodeIndex> node = {};  ///< whose fault it is; none: the job's own
  };

  TimePoint now() const { return engine_.now(); }
  void extend_launch(const StepId& step, TimePoint deadline);
  bool is_launch_held_up(const StepId& step);
  void begin_time(const StepId& step, std::span<const std::size_t> parts);
  void fail_launch(const StepId& step, const std::string& why, bool is_node_fault,
                   std::optional<NodeIndex> culprit = std::nullopt);
  Bytes bytes_of(BlobId id, const StepId& waiting);
  bool awaits_blob(const StepId& step) const;
  bool is_launchable_on(const StepState& step, std::size_t part) const;
  std::size_t launch_bytes(const Job& job, const StepState& step) const;
  bool resume_launch(const StepId& step);
  bool serve_part(const LaunchPart& part);
  Launch send_launch(const Job& job, const StepState& step, std::span<const std::size_t> parts);
  void send_part(LaunchStep& message, const Job& job, const StepState& step, std::size_t part);
  const LaunchStep& common_launch(const Job& job, const StepState& step);

  WorkloadRoles& roles_;
  Engine& engine_;
  ClusterState& state_;
  BlobCache blobs_;
  std::map<BlobId, std::set<StepId>> waiting_launches_;
  /// The blobs that have come for a launch that waits for more: the cache may be too small for all
  /// that one launch needs.
  std::map<StepId, std::map<BlobId, Bytes>> fetched_;
  LaunchQueue queue_;
  std::map<StepId, std::pair<CommonLaunchKey, LaunchStep>> common_launches_;
  std::map<StepId, Bitmap> sent_;  ///< parts that were sent in their turn, of steps being launched
  bool has_turns_left_ = false;
  /// The times at which a step is given up that not every node has said to run.
  std::map<StepId, TimePoint> launch_deadlines_;
  std::set<std::pair<TimePoint, StepId>> launch_watch_;
  std::map<StepId, Doom> doomed_launches_;
};

}  // namespace muster
