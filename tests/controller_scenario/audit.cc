#include "tests/controller_scenario/audit.h"

#include <fmt/format.h>

#include <map>

#include "records/batch_codec.h"

namespace muster::scenario {
namespace {

using Texts = std::vector<std::string>;

/// What the jobs hold of one node.
struct Holdings {
  Bitmap cpus;
  std::uint64_t memory_mib = 0;
  std::map<std::string, Bitmap> devices;
};

class Ledger {
 public:
  explicit Ledger(const ClusterState& state) : state_(state) {}

  Texts audit() {
    state_.jobs().for_each([&](const Job& job) { add(job); });
    for (std::uint32_t i = 0; i < state_.nodes().all().size(); ++i) compare(NodeIndex(i));
    return std::move(faults_);
  }

 private:
  void add(const Job& job) {
    if (!job.holds_resources() || job.run == nullptr) return;
    const auto& grants = job.run->allocation->nodes;
    for (std::size_t i = 0; i < grants.size(); ++i) {
      if (!job.run->released.test(i)) add(job, grants[i]);
    }
  }

  void add(const Job& job, const NodeGrant& grant) {
    Holdings& held = held_[grant.node];
    if (held.cpus.intersects(grant.cpus)) fault(job, grant, "CPUs");
    held.cpus |= grant.cpus;
    held.memory_mib += grant.memory_mib;
    for (const GresGrant& gres : grant.gres) {
      Bitmap& devices = held.devices[gres.name];
      if (devices.intersects(gres.devices)) fault(job, grant, "devices");
      devices |= gres.devices;
    }
  }

  void fault(const Job& job, const NodeGrant& grant, std::string_view what) {
    faults_.push_back(fmt::format("{} of {} are given to job {} and to another", what,
                                  name_of(grant.node), job.id.value()));
  }

  void compare(NodeIndex index) {
    const Node& node = state_.nodes().at(index);
    const Holdings& held = held_[index];
    if (held.cpus != node.used_cpus)
      faults_.push_back(
          fmt::format("{}: CPUs in use are not those that jobs hold", name_of(index)));
    if (held.cpus.count() > node.config.cpus)
      faults_.push_back(fmt::format("{}: more CPUs are given than it has", name_of(index)));
    if (state_.settings().is_memory_consumable && held.memory_mib > node.config.memory_mib)
      faults_.push_back(fmt::format("{}: more memory is given than it has", name_of(index)));
    for (const auto& [name, devices] : held.devices) {
      if (devices.count() > devices_of(node.config, name, "").count())
        faults_.push_back(fmt::format("{}: more {} are given than it has", name_of(index), name));
    }
  }

  const std::string& name_of(NodeIndex index) const { return state_.nodes().at(index).config.name; }

  const ClusterState& state_;
  std::map<NodeIndex, Holdings> held_;
  Texts faults_;
};

}  // namespace

Texts audit_grants(const ClusterState& state) { return Ledger(state).audit(); }

Texts audit_replay(const World& world) {
  ClusterState again;
  for (const EventBatchRef& batch : world.stored()) {
    const auto decoded = records::decode_batch(records::encode_batch(*batch));
    again.apply(*decoded);
  }
  Texts faults;
  if (again.hash() != world.state().hash())
    faults.emplace_back("replaying the journal leads to another state");
  if (world.replica().state().hash() != world.state().hash())
    faults.emplace_back("the replica that users read has another state");
  return faults;
}

}  // namespace muster::scenario
