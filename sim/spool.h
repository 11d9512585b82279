// What a simulated machine's agent must not forget, and its supervisors with it: in the production
// spool, on files that lose at a machine's crash what was not synced; or in memory, where a recipe
// wants speed.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/spool.h"
#include "base/rng.h"

namespace muster::sim {

/// The spool of one machine. It outlives its agents.
class NodeSpool {
 public:
  virtual ~NodeSpool() = default;
  /// An agent starts: what those before it and supervisors left. Until close() it is the one that
  /// uses it.
  std::vector<Spool::Known> open();
  /// Launched there and not acknowledged.
  const std::set<StepId>& open_steps() const { return open_; }
  virtual void close() = 0;
  /// The machine is gone. Requires: closed.
  virtual void lose_power() = 0;
  /// Its folder is emptied, or some of it cannot be read any more. Requires: closed.
  void lose();
  /// A copy is taken of it as it is, in place of an earlier copy.
  void back_up();
  bool has_backup() const { return open_then_.has_value(); }
  /// It is again as it was when the copy was taken. Requires: closed, and has_backup().
  void put_back();

  // ---- as Spool has them ----
  Status launched(const std::vector<LaunchStep>& steps);
  Status adopt(const Spool::Identity& identity);
  void acknowledged(const StepId& step);
  virtual std::optional<StepDone> find_end(const StepId& step) = 0;
  virtual Spool::Identity identity() const = 0;

  // ---- the supervisors' part ----
  /// Where a supervisor that is launched now writes its step's end.
  virtual std::string log() const = 0;
  /// A supervisor's last word, also while there is no agent.
  virtual void ended(const std::string& log, const StepDone& done) = 0;

 private:
  virtual std::vector<Spool::Known> read() = 0;
  virtual void damage() = 0;
  virtual void copy_away() = 0;
  virtual void copy_back() = 0;
  virtual Status store_launched(const std::vector<LaunchStep>& steps) = 0;
  virtual Status store_identity(const Spool::Identity& identity) = 0;
  virtual void store_acknowledged(const StepId& step) = 0;

  std::set<StepId> open_;
  std::optional<std::set<StepId>> open_then_;  ///< as open_, of the copy
};

/// `folder`: a new one is made in it for each spool; empty: in memory.
std::unique_ptr<NodeSpool> make_spool(const std::string& folder, std::uint64_t seed);

/// A folder for all spools of this process, which goes with it.
std::string spool_folder();
void remove_spool_folder();

}  // namespace muster::sim
