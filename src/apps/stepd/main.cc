// muster-stepd: supervises steps. Started by the agent as a spawner that reads launches from
// standard input and forks one supervisor for each; a supervisor outlives both.
#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/version.h"
#include "env/posix/standard_streams.h"
#include "records/page_codec.h"
#include "stepd/spawner.h"
#include "stepd/step_program.h"

namespace {

constexpr const char* kHelp =
    "muster-stepd: supervises job steps; started by muster-agent\n"
    "\n"
    "  --spool DIR      the node's spool\n"
    "  --conf FILE      told to tasks as SLURM_CONF\n"
    "  --cluster NAME   names the cgroups\n"
    "  --hosts FILE     bound over /etc/hosts for tasks\n"
    "  --shape C:T      cores of a socket and threads of a core, as the node's CPUs are numbered\n"
    "  -V, --version    print the version\n";

/// A launch message: the exit log's path, a NUL, the time of the launch in microseconds, a NUL, the
/// encoded LaunchStep.
int supervise(std::string bytes, const std::filesystem::path& start_folder,
              muster::StepdOptions options) {
  const std::size_t path_end = bytes.find('\0');
  const std::size_t time_end = bytes.find('\0', path_end + 1);
  // No launch of our agent's.
  if (time_end == std::string::npos) return 1;
  auto order = muster::records::decode_to_agent(std::string_view(bytes).substr(time_end + 1));
  if (!order.has_value()) return 1;
  options.exit_log = start_folder / bytes.substr(0, path_end);
  options.launch_time =
      muster::TimePoint::from_microseconds(std::strtoll(bytes.c_str() + path_end + 1, nullptr, 10));
  std::string().swap(bytes);  // it may be 60 MB, and we live as long as the step
  return muster::run_step(std::move(muster::get<muster::LaunchStep>(*order)), options);
}

muster::NodeShape shape_of(const char* text) {
  char* end = nullptr;
  muster::NodeShape shape;
  shape.cores_per_socket = static_cast<std::uint32_t>(std::max(1UL, std::strtoul(text, &end, 10)));
  if (*end == ':')
    shape.threads_per_core =
        static_cast<std::uint32_t>(std::max(1UL, std::strtoul(end + 1, nullptr, 10)));
  return shape;
}

/// Paths that users give are opened here, and /proc/self/cwd would lead them into whatever folder
/// the agent was started from, past the folders above it. Returns that folder.
std::filesystem::path leave_start_folder() {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::current_path(failed);
  std::filesystem::current_path("/", failed);
  return folder;
}

/// Empty where the system does not tell.
std::string own_folder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

}  // namespace

int main(int argc, char** argv) {
  muster::open_standard_streams();
  static const option kOptions[] = {
      {"spool", required_argument, nullptr, 's'},   {"conf", required_argument, nullptr, 'f'},
      {"cluster", required_argument, nullptr, 'c'}, {"hosts", required_argument, nullptr, 'H'},
      {"shape", required_argument, nullptr, 'S'},   {"version", no_argument, nullptr, 'V'},
      {"help", no_argument, nullptr, 'h'},          {nullptr, 0, nullptr, 0}};
  muster::StepdOptions options;
  std::string cluster = "muster";
  for (int c = 0; (c = ::getopt_long(argc, argv, "Vh", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 's': options.spool = optarg; break;
      case 'f': options.conf_path = optarg; break;
      case 'c': cluster = optarg; break;
      case 'H': options.hosts_file = optarg; break;
      case 'S': options.shape = shape_of(optarg); break;
      case 'V': fmt::print("muster {}\n", muster::kVersion); return 0;
      case 'h': fmt::print("{}", kHelp); return 0;
      default: fmt::print(stderr, "{}", kHelp); return 1;
    }
  }
  if (options.spool.empty()) {
    fmt::print(stderr,
               "muster-stepd: --spool is missing; this program is started by muster-agent\n");
    return 1;
  }
  options.program_folder = own_folder();
  const std::filesystem::path start_folder = leave_start_folder();
  // Relative to where it was started, which this process has left.
  for (std::string* path : {&options.spool, &options.conf_path, &options.hosts_file}) {
    if (!path->empty()) *path = start_folder / *path;
  }
  options.cgroup = muster::find_cgroup_host(cluster, options.spool);
  const int code = muster::run_spawner(STDIN_FILENO, [&](std::string bytes) {
    return supervise(std::move(bytes), start_folder, options);
  });
  // Refused as long as steps run: the last of them does it then.
  muster::release_cgroup_host(options.cgroup);
  return code;
}
