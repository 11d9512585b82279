// The version of Muster, and the version of Slurm whose behaviour it offers.
#pragma once

namespace muster {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kSlurmVersion = "26.05.3";

}  // namespace muster
