#include "sched/timeline/free_rows.h"

#include <algorithm>

#include "base/check.h"

namespace muster::sched {

RowTable::RowTable(std::size_t kind_count)
    : kind_count_(kind_count), numbers_(0, Hash{this}, Equal{this}) {}

std::size_t RowTable::Hash::operator()(const Probe& probe) const {
  // Multiply and shift, as in MurmurHash's finaliser: rows differ in few low bits.
  std::uint64_t hash = probe.node_class;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  mix(static_cast<std::uint64_t>(probe.row.cpus));
  mix(static_cast<std::uint64_t>(probe.row.memory_mib));
  for (std::size_t k = 0; k < table->kind_count_; ++k)
    mix(static_cast<std::uint32_t>(probe.row.gres[k]));
  return hash;
}

bool RowTable::Equal::operator()(const Probe& a, RowId b) const {
  const Probe other = table->probe_of(b);
  return a.node_class == other.node_class && a.row.cpus == other.row.cpus &&
         a.row.memory_mib == other.row.memory_mib &&
         std::equal(a.row.gres, a.row.gres + table->kind_count_, other.row.gres);
}

RowId RowTable::number_of(std::uint32_t node_class, NodeFree row) {
  const auto found = numbers_.find(Probe{node_class, row});
  if (found != numbers_.end()) return *found;
  const RowId number(static_cast<std::uint32_t>(classes_.size()));
  classes_.push_back(node_class);
  cpus_.push_back(row.cpus);
  memory_mib_.push_back(row.memory_mib);
  gres_.insert(gres_.end(), row.gres, row.gres + kind_count_);
  numbers_.insert(number);
  return number;
}

NodeFree RowTable::at(RowId row) const {
  return {cpus_[row.value()], memory_mib_[row.value()], gres_.data() + row.value() * kind_count_};
}

void ProfileBuilder::begin(NodeFree now, std::size_t kind_count) {
  changes_.clear();
  has_loss_ = false;
  count_ = 0;
  FreeRow& first = next_row(TimePoint());
  first.cpus = now.cpus;
  first.memory_mib = now.memory_mib;
  first.gres.assign(now.gres, now.gres + kind_count);
}

void ProfileBuilder::add(Change change) {
  if (change.when.is_never()) return;
  has_loss_ = has_loss_ || !change.is_gain;
  // Sorted as they come: they are few, and most come in order.
  auto place = changes_.end();
  while (place != changes_.begin() && std::prev(place)->when > change.when) --place;
  changes_.insert(place, change);
}

FreeRow& ProfileBuilder::next_row(TimePoint from) {
  if (count_ == rows_.size()) {
    rows_.emplace_back();
    times_.emplace_back();
    losses_.emplace_back();
  }
  if (count_ > 0) rows_[count_] = rows_[count_ - 1];
  times_[count_] = from;
  losses_[count_] = false;
  return rows_[count_++];
}

void ProfileBuilder::add_steps(RowTable& rows, std::uint32_t node_class,
                               std::vector<ProfileStep>& steps, std::vector<ExactStep>* exact) {
  CHECK(count_ == 1, "a profile begins with begin()");
  for (const Change& change : changes_) {
    const bool is_new = count_ == 1 || times_[count_ - 1] != change.when;
    FreeRow& row = is_new ? next_row(change.when) : rows_[count_ - 1];
    change.is_gain ? row.add(*change.amount) : row.subtract(*change.amount);
    if (!change.is_gain) losses_[count_ - 1] = true;
  }
  for (std::size_t i = 0; exact != nullptr && i < count_; ++i)
    exact->push_back({times_[i], rows.number_of(node_class, rows_[i].view()), losses_[i]});
  // Without losses it rises by itself.
  for (std::size_t i = count_ - 1; has_loss_ && i > 0; --i) rows_[i - 1].limit(rows_[i]);
  const std::size_t first = steps.size();
  for (std::size_t i = 0; i < count_; ++i) {
    const RowId number = rows.number_of(node_class, rows_[i].view());
    if (steps.size() > first && steps.back().row == number) continue;
    steps.push_back({times_[i], number});
  }
  count_ = 0;
}

}  // namespace muster::sched
