// Hashes of the objects in state, so that replicas can be compared: equal objects have equal hashes
// everywhere, and a difference in any member of any of them shows (value_hash.h).
#pragma once

#include <cstdint>

#include "model/catalog.h"
#include "model/checkpoint.h"
#include "model/cluster_config.h"
#include "model/job.h"
#include "model/request.h"

namespace muster {

struct Answer;

/// The number of the rules by which hashes are computed. It is raised when a member leaves its
/// struct or changes its position in it, or a rule of value_hash.h changes; not for a member added
/// at the end.
inline constexpr std::uint32_t kStateHashFormat = 7;

/// Returns the hash of a specification, stored with the job because it never changes.
std::uint64_t hash_of(const JobSpec& spec);
std::uint64_t hash_of(const StepState& step);
/// Returns the hash of everything in the job, `spec_hash` and `steps_hash` standing for their
/// parts.
std::uint64_t hash_of(const Job& job);
/// Returns the hash of a specification, stored with the experiment because it never changes.
std::uint64_t hash_of(const ExperimentSpec& spec);
/// Returns the hash of everything in the experiment, `spec_hash` standing for its specification.
/// Cost: O(inputs · trials · search state).
std::uint64_t hash_of(const Experiment& experiment);
std::uint64_t hash_of(const Trial& trial);
std::uint64_t hash_of(const Checkpoint& checkpoint);
std::uint64_t hash_of(const Collection& collection);
std::uint64_t hash_of(const Document& document);
std::uint64_t hash_of(const NodeConfig& config);
std::uint64_t hash_of(const NodeStatus& status);
std::uint64_t hash_of(const ClusterSettings& settings);
std::uint64_t hash_of(const PartitionConfig& partition);
/// Returns the hash of the answer stored under a client's number.
std::uint64_t hash_of(RequestId id, const Answer& answer);

}  // namespace muster
