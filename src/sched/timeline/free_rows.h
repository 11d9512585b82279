// What nodes have free, as numbers: equal rows of nodes of one class have one number, so that what
// a need finds in a row is worked out once, however many nodes come to have it at whatever time.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "sched/placement/amounts.h"

namespace muster::sched {

using RowId = Id<struct RowTag, std::uint32_t>;

/// Numbers rows of free amounts, from 0. Which number a row gets depends on the order in which rows
/// came: no result may depend on it.
class RowTable {
 public:
  explicit RowTable(std::size_t kind_count = 0);
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  /// Returns the number of the row of a node of this class. Requires: `row` has as many kinds as
  /// the table.
  RowId number_of(std::uint32_t node_class, NodeFree row);
  /// Returns the row. Lifetime: the view holds until the next number_of().
  NodeFree at(RowId row) const;
  std::size_t size() const { return classes_.size(); }

 private:
  /// A row that may be in the table or not; `number` is that of the table's own.
  struct Probe {
    std::uint32_t node_class = 0;
    NodeFree row;
  };
  struct Hash {
    using is_transparent = void;
    const RowTable* table;
    std::size_t operator()(const Probe& probe) const;
    std::size_t operator()(RowId row) const { return (*this)(table->probe_of(row)); }
  };
  struct Equal {
    using is_transparent = void;
    const RowTable* table;
    bool operator()(RowId a, RowId b) const { return a == b; }
    bool operator()(const Probe& a, RowId b) const;
    bool operator()(RowId a, const Probe& b) const { return (*this)(b, a); }
  };
  Probe probe_of(RowId row) const { return {classes_[row.value()], at(row)}; }

  std::size_t kind_count_;
  std::vector<std::uint32_t> classes_;
  std::vector<std::int64_t> cpus_;
  std::vector<std::int64_t> memory_mib_;
  std::vector<std::int32_t> gres_;
  std::unordered_set<RowId, Hash, Equal> numbers_;  // looked up only
};

/// From `from` on a node has at least this row free, for ever.
struct ProfileStep {
  TimePoint from;
  RowId row;
};

/// From `from` on until the next step a node has this row free.
struct ExactStep {
  TimePoint from;
  RowId row;
  bool is_loss = false;  ///< something is taken then
};

/// What one node has free from an instant on and for ever: the least over all later instants, kind
/// by kind. Shape: rises in time; the first step holds before its own time as well. Empty: not made
/// yet.
using Profile = std::span<const ProfileStep>;

/// Returns the row at `when`. Requires: there are steps, rising in time.
template <class Step>
RowId row_at(std::span<const Step> steps, TimePoint when) {
  std::size_t step = steps.size() - 1;  // from behind: most questions are about late times
  while (step > 0 && steps[step].from > when) --step;
  return steps[step].row;
}
/// Returns the row just before `when`. Requires: there are steps, rising in time.
template <class Step>
RowId row_before(std::span<const Step> steps, TimePoint when) {
  std::size_t step = steps.size() - 1;
  while (step > 0 && steps[step].from >= when) --step;
  return steps[step].row;
}

/// Makes the profile of one node from what changes there.
class ProfileBuilder {
 public:
  /// Begins with what is free now. Requires: `now` holds `kind_count` kinds.
  void begin(NodeFree now, std::size_t kind_count);
  /// Adds a change. Lifetime: `amount` stays until add_steps().
  void gain(TimePoint when, const NodeAmount& amount) { add({when, &amount, true}); }
  void lose(TimePoint when, const NodeAmount& amount) { add({when, &amount, false}); }
  /// Adds the profile's steps at the end of `steps`. `exact`, where given, gains what is free from
  /// each instant on until the next.
  void add_steps(RowTable& rows, std::uint32_t node_class, std::vector<ProfileStep>& steps,
                 std::vector<ExactStep>* exact = nullptr);

 private:
  struct Change {
    TimePoint when;
    const NodeAmount* amount = nullptr;
    bool is_gain = false;
  };
  void add(Change change);
  FreeRow& next_row(TimePoint from);

  std::vector<Change> changes_;
  bool has_loss_ = false;
  // Rows stay allocated from one node to the next; `count_` of them are in use.
  std::vector<FreeRow> rows_;
  std::vector<TimePoint> times_;
  std::vector<bool> losses_;
  std::size_t count_ = 0;
};

}  // namespace muster::sched
