// The second half of "nothing is given twice": placement asks beforehand, these CHECKs stop the
// process where it was wrong.
#include "state/node_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "state/state_hash.h"

namespace muster {
namespace {

/// What jobs hold of the node.
std::uint64_t hash_of_use(const Node& node) {
  Hasher hasher;
  hasher.add(node.used_memory_mib).add(node.jobs.size());
  // In rising order, in which jobs are inserted: equal uses hash equally.
  for (const JobId job : node.jobs) hasher.add(job.value());
  for (const std::uint64_t word : node.used_cpus.words()) hasher.add(word);
  for (const auto& [name, devices] : node.used_gres) {
    // A pool that was used once must hash like one that never was: a restored state has no entry
    // for it.
    if (devices.empty()) continue;
    hasher.add(name);
    for (const std::uint64_t word : devices.words()) hasher.add(word);
  }
  return hasher.digest();
}

}  // namespace

void NodeTable::configure(const std::vector<NodeConfig>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    // New nodes come behind the known ones.
    if (i >= nodes_.size()) nodes_.emplace_back();
    // Jobs hold their grants by the node's index.
    CHECK(nodes_[i].config.name.empty() || nodes_[i].config.name == nodes[i].name,
          "node {} changed its place in the configuration", nodes[i].name);
    nodes_[i].config = nodes[i];
    by_name_[nodes[i].name] = index;
    rehash_config(index);
    rehash(index);
  }
}

Node& NodeTable::at(NodeIndex index) {
  CHECK(index.value() < nodes_.size(), "no node {}", index.value());
  return nodes_[index.value()];
}
const Node& NodeTable::at(NodeIndex index) const {
  CHECK(index.value() < nodes_.size(), "no node {}", index.value());
  return nodes_[index.value()];
}

std::optional<NodeIndex> NodeTable::find_by_name(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

void NodeTable::allocate(JobId job, const NodeGrant& grant) {
  Node& node = at(grant.node);
  // CPUs and devices exclude each other by number. Memory is a sum, which the planner bounds.
  CHECK(!node.used_cpus.intersects(grant.cpus), "node {}: a CPU would be given twice, to job {}",
        node.config.name, job.value());
  node.used_cpus |= grant.cpus;
  node.used_memory_mib += grant.memory_mib;
  for (const GresGrant& gres : grant.gres) {
    Bitmap& used = node.used_gres[gres.name];
    CHECK(!used.intersects(gres.devices), "node {}: a {} would be given twice, to job {}",
          node.config.name, gres.name, job.value());
    used |= gres.devices;
  }
  node.jobs.insert(std::lower_bound(node.jobs.begin(), node.jobs.end(), job), job);
  rehash(grant.node);
}

void NodeTable::release(JobId job, const NodeGrant& grant) {
  Node& node = at(grant.node);
  // What comes back must have been taken.
  CHECK(node.used_cpus.contains(grant.cpus), "node {}: job {} returns CPUs it has not",
        node.config.name, job.value());
  node.used_cpus -= grant.cpus;
  CHECK(node.used_memory_mib >= grant.memory_mib);
  // Checked before: an unsigned amount would wrap.
  node.used_memory_mib -= grant.memory_mib;
  for (const GresGrant& gres : grant.gres) {
    Bitmap& used = node.used_gres[gres.name];
    CHECK(used.contains(gres.devices), "node {}: job {} returns {} it has not", node.config.name,
          job.value(), gres.name);
    used -= gres.devices;
  }
  const auto found = std::lower_bound(node.jobs.begin(), node.jobs.end(), job);
  CHECK(found != node.jobs.end() && *found == job);
  node.jobs.erase(found);
  rehash(grant.node);
}

void NodeTable::rehash_config(NodeIndex index) {
  at(index).config_hash = {hash_of(at(index).config)};
}

/// Two nodes that changed places make another sum.
void NodeTable::rehash(NodeIndex index) {
  Node& node = at(index);
  const std::uint64_t fresh = Hasher()
                                  .add(index.value())
                                  .add(node.config_hash.value)
                                  .add(hash_of(node.status))
                                  .add(hash_of_use(node))
                                  .digest();
  hash_ += fresh - node.hash.value;
  node.hash = {fresh};
}

Bitmap devices_of(const NodeConfig& node, std::string_view name, std::string_view type) {
  Bitmap result;
  std::size_t first = 0;
  for (const GresPool& pool : node.gres) {
    // Devices of one name are numbered through all its pools; a type takes its stretch of them.
    if (pool.name != name) continue;
    if (type.empty() || pool.type == type) result |= Bitmap::range(first, pool.count);
    first += pool.count;
  }
  return result;
}

}  // namespace muster
