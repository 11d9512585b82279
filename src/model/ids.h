// The ids of everything that has one. Numbers are part of journal and wire.
#pragma once

#include <compare>
#include <cstdint>

#include "base/id.h"
#include "base/small_list.h"

namespace muster {

/// A job (for an array: the record of its elements not yet split off, and each element once split).
/// 0 is no job.
using JobId = Id<struct JobTag, std::uint32_t>;
/// A node's position in the configuration's order, dense from 0. Stable while the cluster's state
/// lives.
using NodeIndex = Id<struct NodeTag, std::uint32_t>;
/// A partition's position in the configuration's order, dense from 0.
using PartitionIndex = Id<struct PartitionTag, std::uint32_t>;
/// The partitions in which a job may run, in the user's order.
using PartitionList = SmallList<PartitionIndex>;
/// A stored script or environment. 0 is none.
using BlobId = Id<struct BlobTag, std::uint64_t>;
/// The number of a journal batch, from 1. State after batch n is a function of batches 1..n.
using Seq = Id<struct SeqTag, std::uint64_t>;
/// A leadership's fencing number, rising with every start of a controller.
using Epoch = Id<struct EpochTag, std::uint64_t>;

/// A search with its trials, from 1. 0 is none.
using ExperimentId = Id<struct ExperimentTag, std::uint32_t>;
/// One training of one set of hyperparameters, numbered over all experiments, from 1. 0 is none.
using TrialId = Id<struct TrialTag, std::uint32_t>;

using UserId = Id<struct UserTag, std::uint32_t>;
using GroupId = Id<struct GroupTag, std::uint32_t>;

/// Step numbers with a meaning of their own. Ordinary steps count from 0.
inline constexpr std::uint32_t kBatchStep = 0xfffffffbU;
inline constexpr std::uint32_t kExternStep = 0xfffffffcU;
inline constexpr std::uint32_t kInteractiveStep = 0xfffffffaU;

/// One run of one step: `attempt` is the job's restart count, so that a message about an earlier
/// run is never mistaken for one about this.
struct StepId {
  JobId job;
  std::uint32_t attempt = 0;
  std::uint32_t step = 0;
  friend constexpr auto operator<=>(const StepId&, const StepId&) = default;
};

/// A client's own number for a batch of requests, so that a repeat gets the first answer. Zero is
/// none.
struct RequestId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool is_set() const { return high != 0 || low != 0; }
  friend constexpr auto operator<=>(const RequestId&, const RequestId&) = default;
};

}  // namespace muster

template <>
struct std::hash<muster::RequestId> {
  std::size_t operator()(const muster::RequestId& id) const noexcept {
    return static_cast<std::size_t>(id.high * 0x9e3779b97f4a7c15ULL ^ id.low);
  }
};
