// The keys of a NodeName record, and what a record becomes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "slurm/conf/conf_key.h"
#include "slurm/conf/slurm_conf.h"

namespace muster {

/// A NodeName record as written: one line may stand for many nodes. Zero is "not given".
struct NodeDraft {
  std::string host_names;  ///< host lists as long as the list of names, or empty
  std::string addresses;
  std::string ports;  ///< one number, or a bracketed list as long as the list of names
  std::uint32_t cpus = 0;
  std::uint32_t processors = 0;  ///< Procs=, which counts where CPUs= is not given
  std::uint32_t boards = 0;
  std::uint32_t sockets = 0;
  std::uint32_t sockets_per_board = 0;
  std::uint32_t cores_per_socket = 0;
  std::uint32_t threads_per_core = 0;
  std::vector<GresPool> gres;
  InitialNode initial;
  NodeConfig common;  ///< memory, disk, weight, features; the rest is set by expand_node_draft
};

std::span<const ConfKey<NodeDraft>> node_conf_keys();

/// Returns the nodes that `names` (a host list) and the record stand for, in the list's order.
/// Sockets that are not given follow from CPUs; CPUs must be the product of boards, sockets, cores
/// and threads, or the number of cores. Errors: kInvalidArgument: lists of different lengths, CPUs
/// that contradict the rest.
Result<std::vector<NodeConfig>> expand_node_draft(std::string_view names, const NodeDraft& draft);

}  // namespace muster
