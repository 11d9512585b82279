// What the parts of a simulation share, and the connections between controller and nodes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/checker.h"
#include "sim/disk.h"
#include "sim/history.h"
#include "sim/journal.h"
#include "sim/options.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace muster::sim {

class Controller;
class Machine;

/// One connection of an agent: in order in each direction, until it breaks; then all that is under
/// way is lost.
struct Link {
  Machine* machine = nullptr;
  NodeIndex node;
  std::uint64_t controller = 0;  ///< the incarnation that it leads to
  bool is_whole = true;
  TimePoint last_up;  ///< when the last message of each direction arrives
  TimePoint last_down;
};
using LinkRef = std::shared_ptr<Link>;

struct World {
  explicit World(const Options& chosen);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Options options;
  Rng rng;
  Timeline timeline;
  std::shared_ptr<const ClusterConfig> config;
  std::unique_ptr<Disk> disk;  ///< null: what is stored is in memory alone
  Journal journal;
  History history;
  Checker checker;
  std::unique_ptr<Controller> controller;
  std::uint64_t incarnations = 0;
  std::vector<std::unique_ptr<Machine>> nodes;
  std::vector<std::unique_ptr<Machine>>
      strangers;  ///< further machines that take themselves for one of the nodes
  std::unique_ptr<Workload> workload;
  std::map<TrialId, std::uint32_t> epochs;  ///< what trials have saved, on a shared disk
  bool has_faults = false;                  ///< faults may strike now
  Duration wall_offset;                     ///< of the controller's wall clock from the true time
  Epoch lead_beyond;                        ///< above which the next controller must lead
  bool is_clock_believed =
      false;  ///< the next controller starts because of a jump that has stood for long enough

  Duration latency() { return Duration::microseconds(rng.between(20, 400)); }
  /// The controller ends at once and starts again after a while.
  void crash_controller();
  void start_controller();
  /// The disk has died of what was asked of it last, and the controller with its machine. False: it
  /// lives.
  bool has_lost_power();
  /// Somebody copies the state folder, and later puts the copy back, or an empty one; the
  /// controller starts again on it.
  void back_up();
  void put_back(bool is_empty);
  /// An agent with a spool of its own takes itself for a node's for a while.
  void invite_stranger();
  /// It stands still for so long, as after SIGSTOP; what comes meanwhile waits.
  void stop_controller(Duration how_long);
  /// Its wall clock jumps, for a while or for good.
  void jump_clock();
  /// It starts again to follow its wall clock.
  void restart_for_clock();
  /// Breaks a connection; both sides notice, each in its own time.
  void break_link(const LinkRef& link);

 private:
  struct Backup {
    Disk::Image image;
    std::vector<EventBatchRef> stored;
    Knowledge knowledge;
    Workload::Jobs jobs;
    std::uint64_t history_branch = 0;
  };
  std::optional<Backup> backup_;
  std::uint64_t history_branch_ = 0;  ///< another one since history was begun anew
  std::uint64_t history_branches_ = 0;
};

}  // namespace muster::sim
