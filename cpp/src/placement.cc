// Which rank this process is, as its launcher says: torchrun, Open MPI's mpirun or srun; the same
// variables as the Python package reads, in the same order.
#include <charconv>

#include "environment.h"

namespace muster::core {
namespace {

int number(const Variables& variables, const std::string& name,
           std::optional<int> otherwise = std::nullopt) {
  const auto found = variables.find(name);
  if (found == variables.end()) {
    if (otherwise) return *otherwise;
    throw std::invalid_argument(name + " is not set, but the launcher's other variables are");
  }
  int out = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [rest, error] = std::from_chars(found->second.data(), end, out);
  if (error != std::errc() || rest != end)
    throw std::invalid_argument(name + " is '" + found->second + "'; it is a whole number");
  return out;
}

int ceiling(int dividend, int divisor) {
  return (dividend + divisor - 1) / (divisor > 0 ? divisor : 1);
}

Distributed of_torchrun(const Variables& variables) {
  Distributed out;
  out.rank = number(variables, "RANK");
  out.size = number(variables, "WORLD_SIZE");
  out.local_size = std::max(1, number(variables, "LOCAL_WORLD_SIZE", out.size));
  out.local_rank = number(variables, "LOCAL_RANK", out.rank % out.local_size);
  out.cross_rank = number(variables, "GROUP_RANK", out.rank / out.local_size);
  out.cross_size = number(variables, "GROUP_WORLD_SIZE", ceiling(out.size, out.local_size));
  return out;
}

Distributed of_mpirun(const Variables& variables) {
  Distributed out;
  out.rank = number(variables, "OMPI_COMM_WORLD_RANK");
  out.size = number(variables, "OMPI_COMM_WORLD_SIZE");
  out.local_size = std::max(1, number(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", out.size));
  out.local_rank = number(variables, "OMPI_COMM_WORLD_LOCAL_RANK", out.rank % out.local_size);
  out.cross_rank = number(variables, "OMPI_COMM_WORLD_NODE_RANK_OF_JOB", out.rank / out.local_size);
  out.cross_size = ceiling(out.size, out.local_size);
  return out;
}

/// Of "2(x3),1" and 1 it is 2; 0 when it does not tell.
int tasks_on(const std::string& counts, int node) {
  int first = 0;
  for (std::size_t begin = 0; begin < counts.size();) {
    const std::size_t end = std::min(counts.find(',', begin), counts.size());
    int tasks = 0;
    int times = 1;
    const char* stop = counts.data() + end;
    const auto [rest, error] = std::from_chars(counts.data() + begin, stop, tasks);
    if (error != std::errc()) return 0;
    if (rest + 2 < stop && rest[0] == '(' && rest[1] == 'x') std::from_chars(rest + 2, stop, times);
    first += times;
    if (node < first) return tasks;
    begin = end + 1;
  }
  return 0;
}

/// A batch script has SLURM_PROCID=0 and SLURM_NTASKS of the whole job, yet is one process: srun's
/// tasks say more.
bool is_slurm_step(const Variables& variables) {
  const auto rank = variables.find("SLURM_PROCID");
  if (rank == variables.end()) return false;
  return variables.count("SLURM_STEP_NODELIST") + variables.count("SLURM_STEP_NUM_TASKS") > 0 ||
         rank->second != "0";
}

Distributed of_srun(const Variables& variables) {
  Distributed out;
  out.rank = number(variables, "SLURM_PROCID");
  out.size = number(variables, "SLURM_STEP_NUM_TASKS", number(variables, "SLURM_NTASKS", 1));
  out.cross_size = number(variables, "SLURM_STEP_NUM_NODES", number(variables, "SLURM_NNODES", 1));
  out.cross_rank = number(variables, "SLURM_NODEID", 0);
  auto counts = variables.find("SLURM_STEP_TASKS_PER_NODE");
  if (counts == variables.end()) counts = variables.find("SLURM_TASKS_PER_NODE");
  out.local_size = counts == variables.end() ? 0 : tasks_on(counts->second, out.cross_rank);
  if (out.local_size < 1) out.local_size = std::max(1, ceiling(out.size, out.cross_size));
  out.local_rank = number(variables, "SLURM_LOCALID", out.rank % out.local_size);
  return out;
}

Distributed checked(const char* source, const Distributed& found) {
  const auto check = [source](const char* name, int rank, int size) {
    if (rank >= 0 && rank < size) return;
    throw std::invalid_argument(std::string(source) + ": " + name + " " + std::to_string(rank) +
                                " does not lie in 0.." + std::to_string(size - 1));
  };
  check("rank", found.rank, found.size);
  check("local rank", found.local_rank, found.local_size);
  check("cross rank", found.cross_rank, found.cross_size);
  return found;
}

}  // namespace

Distributed read_placement(const Variables& variables) {
  if (variables.count("RANK") != 0 && variables.count("WORLD_SIZE") != 0)
    return checked("RANK and WORLD_SIZE", of_torchrun(variables));
  if (variables.count("OMPI_COMM_WORLD_RANK") != 0)
    return checked("OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE", of_mpirun(variables));
  if (is_slurm_step(variables)) return checked("SLURM_PROCID and SLURM_NTASKS", of_srun(variables));
  return {};
}

}  // namespace muster::core
