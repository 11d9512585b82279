// How much a job uses of each node, and how much is free. These are counts only; which CPUs and
// devices is chosen when a start is committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/ids.h"

namespace muster::sched {

/// One kind of generic resource, (name, type), dense from 0 in the order in which the configuration
/// names them.
using GresKindId = Id<struct GresKindTag, std::uint16_t>;

struct GresKind {
  std::string name;
  std::string type;  ///< empty: untyped
  friend bool operator==(const GresKind&, const GresKind&) = default;
};

struct GresCount {
  GresKindId kind;
  std::uint32_t count = 0;
  friend bool operator==(const GresCount&, const GresCount&) = default;
};

/// One node's part of a job. Memory in MiB. `gres` rises by kind, counts above zero.
struct NodeAmount {
  NodeIndex node;
  std::uint32_t task_count = 0;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::vector<GresCount> gres;
  friend bool operator==(const NodeAmount&, const NodeAmount&) = default;
};

/// What one node has left, as a view that is valid until its owner changes. `gres` has one count
/// per kind.
struct NodeFree {
  std::int64_t cpus = 0;
  std::int64_t memory_mib = 0;
  const std::int32_t* gres = nullptr;
};

/// What one node has left, as a value.
struct FreeRow {
  std::int64_t cpus = 0;
  std::int64_t memory_mib = 0;
  std::vector<std::int32_t> gres;

  FreeRow() = default;
  FreeRow(NodeFree free, std::size_t kind_count)
      : cpus(free.cpus), memory_mib(free.memory_mib), gres(free.gres, free.gres + kind_count) {}
  void assign(NodeFree free, std::size_t kind_count) {
    cpus = free.cpus;
    memory_mib = free.memory_mib;
    gres.assign(free.gres, free.gres + kind_count);
  }
  NodeFree view() const { return {cpus, memory_mib, gres.data()}; }
  void add(const NodeAmount& amount) { shift(amount, 1); }
  void subtract(const NodeAmount& amount) { shift(amount, -1); }
  /// Lowers every amount to that of `other` where it is lower.
  void limit(NodeFree other) {
    cpus = cpus < other.cpus ? cpus : other.cpus;
    memory_mib = memory_mib < other.memory_mib ? memory_mib : other.memory_mib;
    for (std::size_t i = 0; i < gres.size(); ++i) {
      if (other.gres[i] < gres[i]) gres[i] = other.gres[i];
    }
  }
  void limit(const FreeRow& other) { limit(other.view()); }
  /// True when `amount` is free.
  bool holds(const NodeAmount& amount) const;

 private:
  void shift(const NodeAmount& amount, std::int32_t sign) {
    cpus += sign * std::int64_t{amount.cpus};
    memory_mib += sign * static_cast<std::int64_t>(amount.memory_mib);
    for (const GresCount& part : amount.gres) {
      gres[part.kind.value()] += sign * static_cast<std::int32_t>(part.count);
    }
  }
};

/// True when `amount` is free.
inline bool holds(NodeFree free, const NodeAmount& amount) {
  if (free.cpus < amount.cpus) return false;
  if (free.memory_mib < static_cast<std::int64_t>(amount.memory_mib)) return false;
  for (const GresCount& part : amount.gres) {
    if (free.gres[part.kind.value()] < static_cast<std::int64_t>(part.count)) return false;
  }
  return true;
}
inline bool FreeRow::holds(const NodeAmount& amount) const { return sched::holds(view(), amount); }

/// Free amounts of all nodes, one array per resource. Signed: a node that was configured smaller
/// than what runs on it is overdrawn, which is a fact to plan with and not a bug.
class FreeTable {
 public:
  FreeTable() = default;
  FreeTable(std::size_t node_count, std::size_t kind_count)
      : kind_count_(kind_count),
        cpus_(node_count, 0),
        memory_mib_(node_count, 0),
        gres_(node_count * kind_count, 0) {}

  std::size_t node_count() const { return cpus_.size(); }
  std::size_t kind_count() const { return kind_count_; }
  NodeFree at(NodeIndex node) const {
    return {cpus_[node.value()], memory_mib_[node.value()],
            gres_.data() + node.value() * kind_count_};
  }
  /// Sets a node's row. Requires: a row of as many kinds.
  void set(NodeIndex node, const FreeRow& row) {
    cpus_[node.value()] = static_cast<std::int32_t>(row.cpus);
    memory_mib_[node.value()] = row.memory_mib;
    for (std::size_t i = 0; i < kind_count_; ++i)
      gres_[node.value() * kind_count_ + i] = row.gres[i];
  }
  std::int32_t& cpus(NodeIndex node) { return cpus_[node.value()]; }
  std::int64_t& memory_mib(NodeIndex node) { return memory_mib_[node.value()]; }
  std::int32_t& gres(NodeIndex node, GresKindId kind) {
    return gres_[node.value() * kind_count_ + kind.value()];
  }
  void add(const NodeAmount& amount) { shift(amount, 1); }
  void subtract(const NodeAmount& amount) { shift(amount, -1); }
  /// True when `amount` is free on its node.
  bool holds(const NodeAmount& amount) const { return sched::holds(at(amount.node), amount); }
  friend bool operator==(const FreeTable&, const FreeTable&) = default;

 private:
  void shift(const NodeAmount& amount, std::int32_t sign) {
    const std::size_t n = amount.node.value();
    cpus_[n] += sign * static_cast<std::int32_t>(amount.cpus);
    memory_mib_[n] += sign * static_cast<std::int64_t>(amount.memory_mib);
    for (const GresCount& part : amount.gres) {
      gres_[n * kind_count_ + part.kind.value()] += sign * static_cast<std::int32_t>(part.count);
    }
  }
  std::size_t kind_count_ = 0;
  std::vector<std::int32_t> cpus_;
  std::vector<std::int64_t> memory_mib_;
  std::vector<std::int32_t> gres_;
};

}  // namespace muster::sched
