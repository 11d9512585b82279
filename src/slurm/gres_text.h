// Generic resources as text: --gres=gpu:h100:2,nic:1, --gpus=h100:2, and the TRES texts that the
// commands print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/resource_request.h"

namespace muster {

/// Reads comma-separated NAME[[:TYPE]:COUNT]; "gres/gpu:2", "gres:gpu=2" and "=COUNT" are read too.
/// The count is 1 unless given and may end in k, m or g (1024 each); it must be given after a type
/// that begins with a digit ("1g.10gb:2"). A count of 0 and the word "none" ask for nothing. Shape:
/// sorted by name and type, each pair once. Errors: kInvalidArgument "Invalid generic resource
/// (gres) specification" with the offending part. Source: sbatch(1) --gres.
Result<std::vector<GresAmount>> parse_gres(std::string_view text);

/// Reads as parse_gres does, in the order given: a node's Gres=, where the order numbers the
/// devices.
Result<std::vector<GresAmount>> parse_gres_in_order(std::string_view text);

/// Reads the short form of --gpus, --gpus-per-node and --gpus-per-task: "2", "h100:2",
/// "h100:2,a100:1", "h100"; "" asks for nothing. Shape and errors: as parse_gres; every name is
/// "gpu". Source: sbatch(1) --gpus.
Result<std::vector<GresAmount>> parse_gpus(std::string_view text);

/// Returns "gpu:h100:2,nic:1", in the given order: what parse_gres reads back. Empty for no
/// amounts.
std::string gres_text(const std::vector<GresAmount>& amounts);

/// The counts in a trackable-resources text. Zero is left out. Memory in MiB.
struct TresCounts {
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t nodes = 0;
  std::uint64_t billing = 0;
  std::vector<GresAmount> gres = {};  ///< any order; amounts of one name and type add up
};

/// Returns "cpu=4,mem=8G,node=2,billing=4,gres/gpu=4,gres/gpu:h100=4": each name's total, then its
/// types, names sorted. Source: scontrol(1) ReqTRES and AllocTRES, sacct(1) AllocTRES.
std::string tres_text(const TresCounts& counts);

}  // namespace muster
