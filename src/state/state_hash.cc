#include "state/state_hash.h"

#include "state/answer_table.h"
#include "state/value_hash.h"

// The walk over a struct's members (value_hash.h) covers them all; what is left out here is hashed
// under another member.
namespace muster {

template <class Struct>
inline constexpr bool kOmits<Struct, CachedHash> = true;
// `spec_hash` and `steps_hash` are members, too, and stand for these.
template <>
inline constexpr bool kOmits<Job, JobSpecRef> = true;
template <>
inline constexpr bool kOmits<Experiment, ExperimentSpecRef> = true;
template <>
inline constexpr bool kOmits<JobRun, std::vector<StepState>> = true;

std::uint64_t hash_of(const JobSpec& spec) { return value_hash(spec); }
std::uint64_t hash_of(const StepState& step) { return value_hash(step); }
std::uint64_t hash_of(const Job& job) { return value_hash(job); }
std::uint64_t hash_of(const ExperimentSpec& spec) { return value_hash(spec); }
std::uint64_t hash_of(const Experiment& experiment) { return value_hash(experiment); }
std::uint64_t hash_of(const Trial& trial) { return value_hash(trial); }
std::uint64_t hash_of(const Checkpoint& checkpoint) { return value_hash(checkpoint); }
std::uint64_t hash_of(const Collection& collection) { return value_hash(collection); }
std::uint64_t hash_of(const Document& document) { return value_hash(document); }
std::uint64_t hash_of(const NodeConfig& config) { return value_hash(config); }
std::uint64_t hash_of(const NodeStatus& status) { return value_hash(status); }
std::uint64_t hash_of(const ClusterSettings& settings) { return value_hash(settings); }
std::uint64_t hash_of(const PartitionConfig& partition) { return value_hash(partition); }
std::uint64_t hash_of(RequestId id, const Answer& answer) {
  return Hasher().add(id.high).add(id.low).add(value_hash(answer)).digest();
}

}  // namespace muster
