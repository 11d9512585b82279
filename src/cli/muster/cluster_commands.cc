// muster up, down, env, check: a personal cluster from the command line.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/lib/command_parser.h"
#include "cli/lib/http_access.h"
#include "cli/lib/node_text.h"
#include "cli/lib/program_folder.h"
#include "cli/lib/web.h"
#include "cli/muster/personal_cluster.h"
#include "env/posix/process_runner.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// "2" or "h100:2". False: it is neither.
bool read_gpus(const std::string& text, PersonalClusterOptions& options) {
  const std::size_t colon = text.rfind(':');
  const auto count =
      parse_whole32(colon == std::string::npos ? text : text.substr(colon + 1), 1'024);
  options.gpu_type = colon == std::string::npos ? "" : text.substr(0, colon);
  // It stands in a line of slurm.conf, where colons and commas divide.
  const bool is_name =
      options.gpu_type.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == std::string::npos;
  options.gpus = count.value_or(0);
  // ":2" has no type before its colon.
  return count && is_name && colon != 0;
}

std::string default_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  // Where state belongs that should outlive a restart but is no configuration. Source: XDG Base
  // Directory Specification.
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/muster";
  return std::string(home != nullptr ? home : "/tmp") + "/.local/state/muster";
}

/// One folder has one spelling, whatever stands in the user's: no links, no "..", no slash at the
/// end. It is told to daemons, and they are found again by it.
std::string absolute(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  // weakly: the folder need not be there yet.
  const std::filesystem::path plain = std::filesystem::weakly_canonical(whole, failed);
  std::string text = failed ? whole.lexically_normal().string() : plain.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

int complain(const Error& error) {
  fmt::print(stderr, "muster: error: {}\n", error.text());
  return 1;
}

void say(const std::string& line) { fmt::print(stderr, "muster: {}\n", line); }

void wait_for_interrupt() {
  // Blocked, so that sigwait takes them, and no handler ends the process in between.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  ::sigwait(&set, &signal);
}

/// How to log in over HTTP without that: nothing where it is not served.
void say_login(const std::string& conf) {
  // Session finds the cluster by it.
  ::setenv("SLURM_CONF", conf.c_str(), 1);
  const Console console("muster up");
  Session session(console);
  Web web(session);
  // HTTP may be switched off: the cluster is up all the same.
  if (!web.open().has_value()) return;
  const auto once = web.post("tokens/once", Json::Object{});
  if (!once.has_value()) return;
  say(fmt::format(
      "HTTP is at {}; from this machine, once in the next ten minutes: user {}, password {}",
      web.master(), text_of(*once, "username"), text_of(*once, "password")));
}

}  // namespace

int run_up(const std::vector<std::string>& words) {
  CommandParser parser(
      "Starts a cluster on this machine: a controller and so many nodes, each a process of its "
      "own.",
      "muster up");
  PersonalClusterOptions options;
  options.folder = default_folder();
  bool is_detached = false;
  parser
      .add_option("--dir", options.folder,
                  "folder of the cluster; one that is there is started again as it is")
      .shows_default();
  const auto nodes =
      parser.add_option("--nodes", options.nodes, "nodes").range(1, 10'000).shows_default();
  std::optional<std::string> gpus_text;
  const auto gpus =
      parser
          .add_option("--gpus", gpus_text,
                      "pretended GPUs per node, with a type or without: 2, h100:2 (0)")
          .check([](const std::string& text) {
            PersonalClusterOptions read;
            return read_gpus(text, read) ? std::string()
                                         : std::string("write NUMBER or TYPE:NUMBER, at most 1024");
          });
  const auto cpus = parser.add_option("--cpus", options.cpus,
                                      "CPUs per node (default: as many as this machine has)");
  const auto memory = parser.add_option("--memory", options.memory_mib,
                                        "memory per node in MiB (default: an equal share)");
  parser.add_flag("--detach", is_detached, "return once every node is idle");
  if (const auto code = parser.parse(words)) return *code;
  // /proc is not there in some sandboxes.
  if (::access("/proc/self/exe", F_OK) != 0) {
    return complain(Error{ErrorCode::kFailedPrecondition,
                          "/proc is not mounted here, and daemons and tasks are found by it",
                          "mount -t proc proc /proc"});
  }
  if (gpus_text) read_gpus(*gpus_text, options);
  options.folder = absolute(options.folder);
  // They would end or split a value of slurm.conf, or mean something in it (%n).
  if (options.folder.find_first_of(" \t\n#\"'=%") != std::string::npos) {
    return complain(
        Error{ErrorCode::kInvalidArgument,
              "a path with blanks or any of #, =, %, \" and ' cannot stand in slurm.conf: " +
                  options.folder,
              "take another --dir"});
  }
  PersonalCluster cluster(options.folder);
  // Only what was asked for is compared: muster up alone starts what is there.
  const bool is_shaped = nodes.count() + gpus.count() + cpus.count() + memory.count() > 0;
  if (is_shaped && cluster.is_configured() && !cluster.has_nodes_of(options)) {
    return complain(
        Error{ErrorCode::kAlreadyExists,
              "the cluster in " + options.folder + " has other nodes than were asked for",
              "start it as it is by leaving --nodes, --gpus, --cpus and --memory out, edit its "
              "slurm.conf, or take another --dir"});
  }
  if (const Status done = cluster.configure(options); !done.has_value())
    return complain(done.error());
  if (const Status done = cluster.start(say); !done.has_value()) return complain(done.error());
  say(fmt::format("the cluster in {0} is up; in a shell: eval \"$(muster env --dir {0})\"",
                  options.folder));
  say_login(cluster.conf());
  if (is_detached) return 0;
  say("Ctrl-C ends it");
  wait_for_interrupt();
  // Ctrl-C ends jobs as well, like muster down.
  const Status stopped = cluster.stop(say);
  return stopped.has_value() ? 0 : complain(stopped.error());
}

int run_down(const std::vector<std::string>& words) {
  CommandParser parser(
      "Ends a cluster that `muster up` started: its jobs and experiments, those that wait too, its "
      "nodes, its controller. What has ended "
      "stays on record, and muster up goes on from there.",
      "muster down");
  std::string folder = default_folder();
  parser.add_option("--dir", folder, "folder of the cluster").shows_default();
  bool keeps_jobs = false;
  parser.add_flag("--keep-jobs", keeps_jobs,
                  "jobs and experiments stay: what runs goes on by itself, what waits waits, until "
                  "muster up; what the machine's own end interrupts "
                  "goes back to the queue then");
  if (const auto code = parser.parse(words)) return *code;
  PersonalCluster cluster(absolute(folder));
  if (!cluster.is_configured()) {
    return complain(Error{ErrorCode::kNotFound, "no cluster in " + absolute(folder),
                          "name its folder with --dir"});
  }
  const Status stopped = cluster.stop(say, keeps_jobs);
  return stopped.has_value() ? 0 : complain(stopped.error());
}

namespace {

constexpr Duration kTokenLife = Duration::hours(24 * 30);

/// For Determined's clients; nothing while the controller is down, or does not serve HTTP.
void print_http_access(const std::string& conf) {
  const std::string socket = conf.substr(0, conf.rfind('/')) + "/controller.sock";
  // A controller that is down would let the call wait for its timeout.
  if (::access(socket.c_str(), F_OK) != 0) return;
  ::setenv("SLURM_CONF", conf.c_str(), 1);
  const Console console("muster env");
  Session session(console);
  const auto access = find_http(session, kTokenLife);
  if (!access.has_value()) return;
  const std::string user = user_name(::geteuid());
  // Single quotes: eval must not read the values.
  fmt::print("export DET_MASTER='{}'\nexport DET_USER='{}'\nexport DET_USER_TOKEN='{}'\n",
             access->master, user, access->token);
}

}  // namespace

int run_env(const std::vector<std::string>& words) {
  CommandParser parser("Prints what points the commands at a cluster; for eval.", "muster env");
  std::string folder = default_folder();
  parser.add_option("--dir", folder, "folder of the cluster").shows_default();
  if (const auto code = parser.parse(words)) return *code;
  const std::string conf = absolute(folder) + "/slurm.conf";
  if (::access(conf.c_str(), R_OK) != 0) {
    if (errno == EACCES) {
      return complain(Error{ErrorCode::kPermissionDenied, conf + ": Permission denied",
                            "a cluster for several users lies in a folder that all of them may "
                            "enter, as /srv/cluster"});
    }
    return complain(Error{ErrorCode::kNotFound, "no cluster in " + absolute(folder),
                          "start one with muster up --dir DIR"});
  }
  fmt::print("export SLURM_CONF='{}'\nexport PATH='{}':\"$PATH\"\n", conf, program_folder());
  print_http_access(conf);
  return 0;
}

int run_check(const std::vector<std::string>& words) {
  CommandParser parser(
      "Replays a cluster's journal, prints the state's hash and says what history lacks; with the "
      "controller up, compares the two.",
      "muster check");
  std::string folder = default_folder();
  parser.add_option("--dir", folder, "folder of the cluster").shows_default();
  if (const auto code = parser.parse(words)) return *code;
  // The daemon's own program replays: a client has no part of it.
  ProcessSpec spec;
  spec.arguments = {program_folder() + "/musterd", "--check", "-f",
                    absolute(folder) + "/slurm.conf"};
  for (char** variable = environ; *variable != nullptr; ++variable)
    spec.environment.emplace_back(*variable);
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  spec.standard_out = STDOUT_FILENO;
  spec.standard_error = STDERR_FILENO;
  spec.is_own_session = false;
  const auto pid = start_process(spec);
  if (!pid.has_value()) return complain(pid.error());
  int status = 0;
  ::waitpid(*pid, &status, 0);
  // The daemon's exit code is the command's.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace muster::cli
