// A cluster of one user: its configuration, its daemons and how they are found again. Processes
// are known by pid files and command lines, so that a folder that was copied, or a number that was
// used again, never ends somebody else's process.

#include "cli/muster/personal_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/hash.h"
#include "cli/lib/program_folder.h"
#include "cli/lib/text_file.h"
#include "env/posix/clocks.h"
#include "env/posix/conf_files.h"
#include "env/posix/own_folder.h"
#include "env/posix/process_runner.h"
#include "slurm/conf/slurm_conf.h"
#include "text/words.h"
#include "wire/controller_client.h"

namespace muster::cli {
namespace {

constexpr int kStartTimeoutMs = 30'000;
constexpr int kLookAgainMs = 500;
/// What is to stay has stood for so long since the cluster was ready.
constexpr int kStandsMs = 250;
/// As often as it may be started before that is given up: one that dies of a job comes up without
/// it the third time.
constexpr int kStartsMax = 6;
constexpr int kStopTimeoutMs = 10'000;
/// Supervisors end a little after their agents.
constexpr int kStepsEndMs = 3'000;
/// How long a controller that stands still is asked before it is ended all the same.
constexpr Duration kAskTimeout = Duration::seconds(5);

void sleep_ms(int ms) {
  const timespec time{ms / 1000, (ms % 1000) * 1'000'000L};
  ::nanosleep(&time, nullptr);
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  // Whatever the user's mask: a configuration that others may write is refused.
  if (!file || ::chmod(path.c_str(), 0644) != 0)
    return fail(ErrorCode::kUnavailable, "cannot write " + path, std::strerror(errno));
  return {};
}

Status make_folder(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    // It may be there already, or be made by another process at this moment.
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(ErrorCode::kUnavailable, "cannot create " + part, std::strerror(errno));
    }
    if (slash == std::string::npos) return {};
  }
}

std::string last_line(const std::string& path) {
  std::string text = read_file(path).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Clusters on one machine have nodes of their own addresses: ports that jobs of two of them choose
/// by their numbers do not meet. 127.64.0.0 to 127.127.255.255, 250 nodes in each of the lowest
/// blocks, from one on that the folder's name chooses.
std::string node_address(const std::string& folder, std::uint32_t index) {
  const std::uint32_t block =
      static_cast<std::uint32_t>(Hasher().add(std::string_view(folder)).digest() % (64 * 256)) +
      index / 250;
  return fmt::format("127.{}.{}.{}", 64 + block / 256 % 64, block % 256, index % 250 + 1);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Equal, or two spellings of one path.
bool is_same_word(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code failed;
  // A link to the programs' folder makes another spelling of the same program.
  return a.starts_with('/') && b.starts_with('/') && std::filesystem::equivalent(a, b, failed) &&
         !failed;
}

/// True while the process lives and is the one that was started with these arguments: a number that
/// another process has got since, another cluster's controller perhaps, is not ours to end.
bool is_daemon(pid_t pid, const std::vector<std::string>& arguments) {
  const auto text = read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text.has_value() || text->empty()) return false;
  std::vector<std::string> found;
  for (const std::string_view word : split(*text, '\0')) found.emplace_back(word);
  // Each argument ends with a zero byte, so that an empty word stands last.
  while (!found.empty() && found.back().empty()) found.pop_back();
  if (found.size() != arguments.size()) return false;
  return name_of(found.front()) == name_of(arguments.front()) &&
         std::equal(found.begin() + 1, found.end(), arguments.begin() + 1, is_same_word);
}

/// The controller of the cluster in that folder.
Result<std::unique_ptr<ControllerClient>> connect(kj::AsyncIoContext& io,
                                                  const std::string& folder) {
  auto client = ControllerClient::connect(io, "unix:" + folder + "/controller.sock");
  if (client.has_value()) (*client)->set_timeout(kAskTimeout);
  return client;
}

std::uint32_t cpus_of_node(const PersonalClusterOptions& options) {
  return options.cpus != 0 ? options.cpus : static_cast<std::uint32_t>(std::max(1, ::get_nprocs()));
}

std::uint64_t memory_of_node(const PersonalClusterOptions& options) {
  if (options.memory_mib != 0) return options.memory_mib;
  struct sysinfo info {};
  ::sysinfo(&info);
  const std::uint64_t all = (static_cast<std::uint64_t>(info.totalram) * info.mem_unit) >> 20;
  // 256 MiB at least, so that a node can run anything at all.
  return std::max<std::uint64_t>(256, all / options.nodes);
}

std::vector<std::string> node_lines(const PersonalClusterOptions& options) {
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    lines.push_back(fmt::format(
        "NodeName=node{} NodeAddr={} CPUs={} RealMemory={}{}", i + 1,
        node_address(options.folder, i), cpus_of_node(options), memory_of_node(options),
        options.gpus > 0 ? fmt::format(" Gres=gpu:{}{}{}", options.gpu_type,
                                       options.gpu_type.empty() ? "" : ":", options.gpus)
                         : ""));
  }
  return lines;
}

std::string conf_text(const PersonalClusterOptions& options, const std::string& folder) {
  std::string text = fmt::format(
      "# Written by `muster up`; edit it and run `muster down` and `muster up` again.\n"
      "ClusterName=muster\n"
      "SlurmctldHost=localhost\n"
      "StateSaveLocation={0}/state\n"
      "SlurmdSpoolDir={0}/spool/%n\n"
      "MusterController=unix:{0}/controller.sock\n"
      "MusterHttp=127.0.0.1:0\n"
      "MusterHosts={0}/hosts\n"
      // Nodes may be pretended to have more CPUs and memory than the machine has.
      "SlurmdParameters=config_overrides\n"
      "SelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_Core_Memory\n"
      // A node that was down comes back by itself, since nobody is there to resume it.
      "ReturnToService=2\n"
      "KillWait=5\n"
      "DefMemPerCPU={1}\n",
      // DefMemPerCPU: a job that names no memory gets its CPUs' share, so that nodes can be shared.
      folder, std::max<std::uint64_t>(1, memory_of_node(options) / cpus_of_node(options)));
  if (options.gpus > 0) text += "GresTypes=gpu\n";
  for (const std::string& line : node_lines(options)) text += line + "\n";
  // Without DefaultTime: a training that names no limit has none.
  text += "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
  return text;
}

std::string hosts_text(const std::string& folder, std::uint32_t nodes) {
  std::string text = read_file("/etc/hosts").value_or("127.0.0.1 localhost\n");
  text += "\n# Nodes of this cluster, for its tasks.\n";
  for (std::uint32_t i = 0; i < nodes; ++i)
    text += fmt::format("{} node{}\n", node_address(folder, i), i + 1);
  return text;
}

}  // namespace

bool PersonalCluster::has_nodes_of(const PersonalClusterOptions& options) const {
  const auto text = read_file(conf());
  if (!text.has_value()) return false;
  std::vector<std::string> lines;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("NodeName=")) lines.emplace_back(line);
  }
  // Compared as texts: whatever differs makes other nodes.
  return lines == node_lines(options);
}

bool PersonalCluster::is_configured() const { return ::access(conf().c_str(), R_OK) == 0; }

Status PersonalCluster::configure(const PersonalClusterOptions& options) {
  if (const std::string parent = folder_.substr(0, folder_.rfind('/')); !parent.empty())
    TRY(make_folder(parent));
  TRY(make_own_folder(folder_, 0755, "the cluster's folder"));
  TRY(make_own_folder(folder_ + "/spool", 0755, "the folder of spools"));
  TRY(make_own_folder(folder_ + "/log", 0755, "the folder of logs"));
  // An existing configuration may have been edited: it is never written over.
  if (is_configured()) return {};
  TRY(write_file(folder_ + "/hosts", hosts_text(folder_, options.nodes)));
  return write_file(conf(), conf_text(options, folder_));
}

Result<std::vector<std::string>> PersonalCluster::nodes() const {
  const std::string text = TRY(read_file(conf()));
  const SlurmConf parsed = TRY(parse_slurm_conf(conf(), text, include_reader(conf())));
  std::vector<std::string> names;
  for (const NodeConfig& node : parsed.cluster.nodes) names.push_back(node.name);
  return names;
}

Result<std::vector<PersonalCluster::Daemon>> PersonalCluster::daemons() const {
  const std::string programs = program_folder();
  std::vector<Daemon> all = {{"controller", {programs + "/musterd", "-f", conf()}}};
  for (const std::string& node : TRY(nodes())) {
    all.push_back({"agent-" + node, {programs + "/muster-agent", "-f", conf(), "-N", node}});
  }
  return all;
}

/// Those that were started, by their pid files: nothing may run on because the configuration has an
/// error by now.
std::vector<PersonalCluster::Daemon> PersonalCluster::started_daemons() const {
  const std::string programs = program_folder();
  std::vector<Daemon> all = {{"controller", {programs + "/musterd", "-f", conf()}}};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().stem();
    const bool is_agent = entry.path().extension() == ".pid" && name.starts_with("agent-");
    if (is_agent)
      all.push_back(
          {name,
           {programs + "/muster-agent", "-f", conf(), "-N", name.substr(std::strlen("agent-"))}});
  }
  // The controller first, agents in the order of their names.
  std::ranges::sort(all.begin() + 1, all.end(), {}, &Daemon::name);
  return all;
}

pid_t PersonalCluster::running(const Daemon& daemon) const {
  const auto text = read_file(folder_ + "/" + daemon.name + ".pid");
  if (!text.has_value()) return 0;
  // 0: it is not there or not ours.
  const auto pid = static_cast<pid_t>(std::strtol(text->c_str(), nullptr, 10));
  return pid > 0 && is_daemon(pid, daemon.arguments) ? pid : 0;
}

Status PersonalCluster::start_daemon(const Daemon& daemon) const {
  const std::string log = fmt::format("{}/log/{}.log", folder_, daemon.name);
  // O_NOFOLLOW: a link that somebody put into the folder must not name another file to write.
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "cannot write " + log, std::strerror(errno));
  ProcessSpec spec;
  spec.arguments = daemon.arguments;
  for (char** variable = environ; *variable != nullptr; ++variable)
    spec.environment.emplace_back(*variable);
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  spec.work_dir = folder_;
  spec.standard_out = spec.standard_error = fd;
  const auto pid = start_process(spec);
  ::close(fd);
  if (!pid.has_value()) return fail(pid.error());
  return write_file(fmt::format("{}/{}.pid", folder_, daemon.name), std::to_string(*pid) + "\n");
}

Status PersonalCluster::start(const std::function<void(const std::string&)>& say) {
  const std::vector<Daemon> all = TRY(daemons());
  // An event loop of its own: daemons may come and go while it is asked.
  auto io = kj::setupAsyncIo();
  const std::size_t node_count = all.size() - 1;
  std::size_t ready = 0;
  std::map<std::string, int> starts;  // by daemon
  const TimePoint deadline = steady_now() + Duration::milliseconds(kStartTimeoutMs);
  TimePoint look;
  bool is_silent = false;
  while (steady_now() < deadline) {
    // Looked at again and again: one that was just killed may still have looked alive.
    if (steady_now() >= look) {
      look = steady_now() + Duration::milliseconds(kLookAgainMs);
      for (const Daemon& daemon : all) {
        if (running(daemon) != 0) continue;
        if (++starts[daemon.name] > kStartsMax) return ended_again(daemon);
        say("starting " + daemon.name);
        TRY(start_daemon(daemon));
      }
    }
    auto client = connect(io, folder_);
    if (client.has_value()) {
      Query query;
      query.kind = QueryKind::kNodes;
      ready = 0;
      const Status asked = (*client)->query(query, [&](Page page) {
        for (const NodeView& node : page.nodes) {
          const auto absent = node_condition::kUnknown | node_condition::kNotResponding;
          // As stored it may look well before it has been heard of.
          if ((node.status.conditions & absent) == 0 && node.last_contact.is_set()) ++ready;
        }
      });
      is_silent = !asked.has_value();
      if (asked.has_value() && ready == node_count && stand(all)) return {};
    }
    sleep_ms(50);
  }
  if (running(all.front()) == 0) return ended_again(all.front());
  if (is_silent)
    return fail(ErrorCode::kDeadlineExceeded, "the controller does not answer",
                "end it with muster down");
  return fail(ErrorCode::kDeadlineExceeded,
              fmt::format("{} of {} nodes came up", ready, node_count),
              "see the logs in " + folder_ + "/log");
}

/// True when each of them runs on for a while: one that was just killed may look alive, and its
/// node be in order for those who have not heard of it yet.
bool PersonalCluster::stand(const std::vector<Daemon>& all) const {
  const auto pids = [&] {
    std::vector<pid_t> found;
    for (const Daemon& daemon : all) found.push_back(running(daemon));
    return found;
  };
  // By number: one that was replaced in between has another.
  const std::vector<pid_t> before = pids();
  if (std::ranges::count(before, 0) > 0) return false;
  sleep_ms(kStandsMs);
  return pids() == before;
}

Status PersonalCluster::ended_again(const Daemon& daemon) const {
  const std::string log = fmt::format("{}/log/{}.log", folder_, daemon.name);
  return fail(ErrorCode::kUnavailable,
              fmt::format("the {} ended {} times", daemon.name, kStartsMax),
              fmt::format("its last words: {}; see {}", last_line(log), log));
}

namespace {

Result<std::size_t> count_active(ControllerClient& client) {
  Query query;
  query.detail = QueryDetail::kBrief;
  query.filter.is_active_only = true;
  std::size_t count = 0;
  TRY(client.query(query, [&](Page page) { count += page.jobs.size(); }));
  return count;
}

}  // namespace

/// Cancels what there is and gives it a moment to go.
void PersonalCluster::end_jobs(const std::function<void(const std::string&)>& say) const {
  auto io = kj::setupAsyncIo();
  auto client = connect(io, folder_);
  if (!client.has_value()) return;
  const auto counted = count_active(**client);
  if (!counted.has_value())
    return say("the controller does not answer: its jobs are not cancelled");
  const std::size_t count = *counted;
  if (count > 0)
    say(count == 1 ? "1 job that runs or waits is cancelled"
                   : fmt::format("{} jobs that run or wait are cancelled", count));
  CancelJobs cancel;
  cancel.filter.is_active_only = true;
  if (!(*client)->submit_one(cancel).has_value()) return;
  for (int waited = 0; waited < kStopTimeoutMs; waited += 50) {
    const auto left = count_active(**client);
    if (!left.has_value() || *left == 0) return;
    sleep_ms(50);
  }
}

/// Somebody answers at the cluster's socket.
bool PersonalCluster::answers() const {
  auto io = kj::setupAsyncIo();
  auto client = connect(io, folder_);
  if (!client.has_value()) return false;
  Query query;
  query.kind = QueryKind::kPing;
  return (*client)->query(query, [](Page) {}).has_value();
}

/// Nothing is begun that could not be ended: what was not started here, or belongs to somebody
/// else, is left alone.
Status PersonalCluster::check_ours(const std::vector<Daemon>& all) const {
  for (const Daemon& daemon : all) {
    const pid_t pid = running(daemon);
    // 0 asks only whether it may be signalled.
    if (pid != 0 && ::kill(pid, 0) != 0 && errno == EPERM) {
      return fail(ErrorCode::kPermissionDenied,
                  fmt::format("the {} (process {}) is another user's", daemon.name, pid),
                  "ask whoever started it");
    }
  }
  // Its pid file is gone or names another process.
  if (running(all.front()) == 0 && answers()) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("a controller answers at {0}/controller.sock that is not the process "
                            "of {0}/controller.pid: nothing was ended",
                            folder_),
                "end it by hand: see ps for musterd -f " + conf());
  }
  return {};
}

Status PersonalCluster::stop(const std::function<void(const std::string&)>& say, bool keeps_jobs) {
  const std::vector<Daemon> all = started_daemons();
  TRY(check_ours(all));
  if (!keeps_jobs) end_jobs(say);
  // Agents first: the controller then hears of each that it goes.
  for (auto daemon = all.rbegin(); daemon != all.rend(); ++daemon) {
    const pid_t pid = running(*daemon);
    if (pid != 0) {
      say("stopping " + daemon->name);
      ::kill(pid, SIGTERM);
    }
  }
  for (const Daemon& daemon : all) {
    for (int waited = 0; running(daemon) != 0 && waited < kStopTimeoutMs; waited += 20)
      sleep_ms(20);
    // After ten seconds it is stuck.
    if (const pid_t pid = running(daemon); pid != 0) ::kill(pid, SIGKILL);
    ::unlink(fmt::format("{}/{}.pid", folder_, daemon.name).c_str());
  }
  // Steps go on under their supervisors, and are taken up by the next muster up.
  if (keeps_jobs) return {};
  std::vector<pid_t> left = supervisors();
  for (int waited = 0; !left.empty() && waited < kStepsEndMs; waited += 100) {
    sleep_ms(100);
    left = supervisors();
  }
  if (left.empty()) return {};
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("{} of its steps run on (supervisors: {})", left.size(), fmt::join(left, ", ")),
      "muster up takes them up again; muster down ends them then");
}

/// The supervisors of steps on its nodes, whose command lines name their spools.
std::vector<pid_t> PersonalCluster::supervisors() const {
  std::vector<pid_t> found;
  std::error_code failed;
  // Processes may end while they are looked at.
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    const auto text =
        pid > 0 ? read_file(entry.path().string() + "/cmdline") : Result<std::string>("");
    if (!text.has_value()) continue;
    const auto words = split(*text, '\0');
    const bool is_supervisor = !words.empty() && words.front().ends_with("/muster-stepd");
    const std::string spools = folder_ + "/spool/";
    if (is_supervisor &&
        std::ranges::any_of(words, [&](std::string_view word) { return word.starts_with(spools); }))
      found.push_back(pid);
  }
  return found;
}

}  // namespace muster::cli
