// Without a configuration of its own the node is what hwloc and the kernel say; with one (`muster
// up`) it pretends to be that.
#include "agent/inventory.h"

#include <hwloc.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "base/version.h"

namespace muster {
namespace {

void find_processors(RegisterNode& node) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  if (hwloc_topology_load(topology) == 0) {
    const auto count = [&](hwloc_obj_type_t type) {
      return static_cast<std::uint32_t>(std::max(1, hwloc_get_nbobjs_by_type(topology, type)));
    };
    node.cpus = count(HWLOC_OBJ_PU);
    node.sockets = count(HWLOC_OBJ_PACKAGE);
    node.cores_per_socket = std::max(1U, count(HWLOC_OBJ_CORE) / node.sockets);
    node.threads_per_core = std::max(1U, node.cpus / (node.sockets * node.cores_per_socket));
  }
  hwloc_topology_destroy(topology);
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The board's own id, which root alone may read, survives even another installation; the
/// installation's id comes next.
std::string find_machine_id() {
  const std::string board = first_line("/sys/class/dmi/id/product_uuid");
  // Boards without a number of their own have one of zeros or ones.
  const bool is_real = board.find_first_not_of("0-") != std::string::npos &&
                       board.find_first_not_of("fF-") != std::string::npos;
  return is_real ? board : first_line("/etc/machine-id");
}

}  // namespace

RegisterNode measure_inventory(const NodeConfig* pretend) {
  RegisterNode node;
  utsname name{};
  ::uname(&name);
  node.arch = name.machine;
  node.os = std::string(name.sysname) + " " + name.release + " " + name.version;
  node.version = kVersion;
  node.protocol = kAgentProtocol;
  node.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  node.machine_id = find_machine_id();
  struct sysinfo info {};
  ::sysinfo(&info);
  const std::int64_t now = std::time(nullptr);
  node.boot_time = TimePoint::from_seconds(now - info.uptime);
  node.agent_start_time = TimePoint::from_seconds(now);
  if (pretend != nullptr) {
    node.cpus = pretend->cpus;
    node.sockets = pretend->sockets;
    node.cores_per_socket = pretend->cores_per_socket;
    node.threads_per_core = pretend->threads_per_core;
    node.memory_mib = pretend->memory_mib;
    node.gres = pretend->gres;
    return node;
  }
  find_processors(node);
  // totalram is counted in units of mem_unit bytes.
  node.memory_mib = (static_cast<std::uint64_t>(info.totalram) * info.mem_unit) >> 20;
  return node;
}

Heartbeat measure_host() {
  struct sysinfo info {};
  ::sysinfo(&info);
  Heartbeat heartbeat;
  heartbeat.load_hundredths =
      // Fixed-point numbers with SI_LOAD_SHIFT bits of fraction.
      static_cast<std::uint32_t>(info.loads[0] * 100 / (1UL << SI_LOAD_SHIFT));
  heartbeat.free_memory_mib = (static_cast<std::uint64_t>(info.freeram) * info.mem_unit) >> 20;
  return heartbeat;
}

}  // namespace muster
