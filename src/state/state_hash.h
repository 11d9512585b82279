// Hashes of the objects in state, so that replicas can be compared: equal objects have equal hashes everywhere.
#pragma once

#include <cstdint>

#include "model/catalog.h"
#include "model/checkpoint.h"
#include "model/job.h"

namespace muster {

/// The hash of a specification, kept with the job because it never changes.
std::uint64_t hash_of(const JobSpec& spec);
std::uint64_t hash_of(const StepState& step);
/// Of everything in the job, `spec_hash` and `steps_hash` standing for their parts.
std::uint64_t hash_of(const Job& job);
/// The hash of a specification, kept with the experiment because it never changes.
std::uint64_t hash_of(const ExperimentSpec& spec);
/// Of everything in the experiment, `spec_hash` standing for its specification. Cost: O(inputs · trials · search state).
std::uint64_t hash_of(const Experiment& experiment);
std::uint64_t hash_of(const Trial& trial);
std::uint64_t hash_of(const Checkpoint& checkpoint);
std::uint64_t hash_of(const Collection& collection);
std::uint64_t hash_of(const Document& document);

}  // namespace muster
