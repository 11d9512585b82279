// muster-agent: the node daemon. Registers the node, starts steps, reports how they end.
#include <fmt/format.h>
#include <getopt.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/agent.h"
#include "agent/inventory.h"
#include "agent/output_files.h"
#include "agent/output_shipper.h"
#include "agent/spool.h"
#include "agent/step_links.h"
#include "apps/agent/running_clock.h"
#include "base/version.h"
#include "env/posix/cgroup.h"
#include "env/posix/clocks.h"
#include "env/posix/conf_files.h"
#include "env/posix/key_lock.h"
#include "env/posix/marked_processes.h"
#include "env/posix/open_files.h"
#include "env/posix/process_runner.h"
#include "env/posix/spare_room.h"
#include "env/posix/standard_streams.h"
#include "records/page_codec.h"
#include "slurm/conf/slurm_conf.h"
#include "slurm/spool_path.h"
#include "text/words.h"
#include "wire/acceptor.h"
#include "wire/agent_client.h"
#include "wire/message_link.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster {
namespace {

constexpr const char* kHelp =
    "muster-agent: the node daemon of a Muster cluster\n"
    "\n"
    "  -N, --name NAME   this node's name in the configuration (default: the host's)\n"
    "  -f, --conf FILE   configuration (default: $SLURM_CONF, else /etc/muster/slurm.conf)\n"
    "  -V, --version     print the version\n";

constexpr kj::Duration kRedial = 300 * kj::MILLISECONDS;
constexpr kj::Duration kOutputTick = 200 * kj::MILLISECONDS;
constexpr kj::Duration kTick = 250 * kj::MILLISECONDS;

/// Tells this agent from every other of its name.
std::uint64_t draw_agent_id() {
  std::uint64_t id = 0;
  // Without random numbers the process id must do: only agents of one name are told apart by it.
  if (::getrandom(&id, sizeof id, 0) != sizeof id) id = static_cast<std::uint64_t>(::getpid());
  // 0 stands for no agent.
  return id | 1;
}

[[noreturn]] void die(const std::string& text) {
  fmt::print(stderr, "muster-agent: {}\n", text);
  std::exit(1);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t place = 0; (place = text.find(what, place)) != std::string::npos;
       place += with.size()) {
    text.replace(place, what.size(), with);
  }
  return text;
}

struct AgentOptions {
  std::string conf_path;
  std::string node_name;
  std::string spool;
  std::string controller;  ///< the agents' socket
  std::string cluster;
  std::string hosts_file;
  std::string stepd;                   ///< path of muster-stepd
  std::uint32_t cores_per_socket = 1;  ///< as configured: that is how the node's CPUs are numbered
  std::uint32_t threads_per_core = 1;
};

/// The agent with real sockets, files and processes.
class AgentProgram final : public AgentWorld,
                           public OutputWorld,
                           private kj::TaskSet::ErrorHandler {
 public:
  AgentProgram(AgentOptions options, RegisterNode self, kj::AsyncIoContext& io)
      : options_(std::move(options)),
        io_(io),
        self_(std::move(self)),
        output_files_(output_folder(options_.spool)),
        shipper_(*this, OutputShipper::Options()),
        cgroups_(find_cgroup_host(options_.cluster, options_.spool)),
        tasks_(*this) {}
  ~AgentProgram() noexcept override = default;

  void run() {
    std::vector<Spool::Known> known;
    // The spool first: it is locked, and says which cluster this agent serves.
    auto spool = Spool::open(options_.spool, known);
    if (!spool.has_value()) die(spool.error().text());
    spool_.emplace(std::move(spool).value());
    self_.agent_id = draw_agent_id();
    self_.cluster_id = spool_->identity().cluster.cluster_id;
    self_.epoch = spool_->identity().cluster.epoch;
    self_.job_floor = spool_->identity().job_floor;
    self_.has_lost_records = spool_->identity().has_lost_records;
    if (self_.has_lost_records)
      fmt::print(stderr,
                 "muster-agent: records in {} are missing or cannot be read: the controller is "
                 "asked what runs here\n",
                 options_.spool);
    agent_.emplace(std::move(self_), ::geteuid(), *this);
    // Steps of before: their supervisors dial in, or their ends are found in the spool.
    for (const Spool::Known& step : known)
      agent_->adopt(step.id, step.launch_key, step.done, steady_now());
    start_spawner();
    listen();
    tasks_.add(controller_loop());
    tasks_.add(output_loop());
    tick_loop().wait(io_.waitScope);
  }

  // ---- AgentWorld ----
  void send_controller(const FromAgent& message) override {
    if (controller_ != nullptr) controller_->send(message);
  }
  Result<TimePoint> launch(const std::vector<LaunchStep>& steps) override {
    // One record with one sync for all of them, before the spawner hears of any: a step that runs
    // stands in the spool.
    std::vector<const LaunchStep*> pointers;
    for (const LaunchStep& step : steps) pointers.push_back(&step);
    Status recorded;
    // The time that this process ran is measured beside the time that passed (write_time.h).
    const ElapsedTime taken = measure_time([&] { recorded = spool_->launched(pointers); });
    TRY(recorded);
    // Too late: nothing was handed to the spawner, so that nothing has begun.
    TRY(judge_write(taken));
    const TimePoint now = steady_now();
    // A supervisor that comes up too late by this time starts nothing.
    const std::string launch_time = std::to_string(now.microseconds());
    for (const LaunchStep& step : steps) {
      std::string bytes = spool_->log_path();
      bytes.push_back('\0');
      bytes += launch_time;
      bytes.push_back('\0');
      bytes += records::encode_message(ToAgent(step));
      send_spawner(bytes);
    }
    return now;
  }
  Status record(const LaunchStep& brief) override { return spool_->launched({&brief}); }
  void send_step(const StepId& step, const ToAgent& message) override {
    if (MessageLink* link = links_.find(step)) link->send(records::encode_message(message));
  }
  void forget(const StepId& step) override {
    spool_->acknowledged(step);
    std::error_code ignored;  // a supervisor that was killed leaves its step's folders
    std::filesystem::remove_all(view_folder(options_.spool, step), ignored);
    // The run's folder goes with its batch step, or with the last of its other steps.
    if (step.step != kBatchStep && spool_->has_steps_of(step)) return;
    ::unlink(script_path(options_.spool, step).c_str());
    ::unlink(stop_path(options_.spool, step).c_str());
    ::rmdir(run_folder(options_.spool, step).c_str());
  }
  std::optional<StepDone> find_end(const StepId& step) override { return spool_->find_end(step); }
  /// Tasks carry their step's mark whether they have a cgroup or not.
  Leftovers leftovers() override {
    const std::string any = step_mark(options_.spool, StepId());
    Leftovers found;
    for (const auto& [mark, users] : marks_with(any.substr(0, any.find('.') + 1))) {
      const auto parts = split_words(mark, '.');
      std::uint32_t numbers[3] = {};
      bool is_whole = parts.size() == 3;
      for (std::size_t i = 0; i < parts.size() && is_whole; ++i) {
        const auto number = parse_whole32(parts[i]);
        is_whole = number.has_value();
        numbers[i] = number.value_or(0);
      }
      if (!is_whole) continue;
      for (const uid_t user : users)
        found[StepId{JobId(numbers[0]), numbers[1], numbers[2]}].insert(UserId(user));
    }
    return found;
  }
  bool has_supervisor(const StepId& step) override { return supervisor_of(step) != 0; }
  bool clean_up(const StepId& step) override {
    // What its supervisor started is found by its mark where there is no cgroup: the kernel gave it
    // to another parent.
    if (cgroups_.kind == CgroupHost::Kind::kDescendants)
      return kill_marked(step_mark(options_.spool, step));
    const auto cgroup = make_cgroup(cgroups_, cgroup_name(step));
    cgroup->kill_all();
    if (!cgroup->processes().empty()) return false;
    cgroup->remove();
    return true;
  }
  void end_supervisor(const StepId& step) override {
    const pid_t pid = supervisor_of(step);
    if (pid == 0) return;
    fmt::print(stderr,
               "muster-agent: the supervisor of step {}.{} (pid {}) does not answer: it is ended\n",
               step.job.value(), step.step, pid);
    // Its lock goes with it, and the step is cleaned up after as lost.
    ::kill(pid, SIGKILL);
  }
  Heartbeat measure() override { return measure_host(); }
  Status probe() override {
    TRY(spool_->probe());
    return check_room(options_.spool, RoomToStart());
  }
  Status adopt_cluster(const ClusterIdentity& cluster, JobId job_floor,
                       bool has_lost_records) override {
    return spool_->adopt({cluster, job_floor, has_lost_records});
  }
  void reconnect() override {
    if (controller_ != nullptr) controller_->close();
  }
  bool is_output_stored(const StepId& step) override {
    // Looked at now and not with the next tick: the step's last bytes have just been written.
    shipper_.on_tick(steady_now());
    return !shipper_.has_output_of(step);
  }

  // ---- OutputWorld ----
  std::vector<OutputFile> output_files() override { return output_files_.list(); }
  OutputPiece read_output(const OutputFileName& name, std::uint64_t offset,
                          std::size_t bytes_max) override {
    return output_files_.read(name, offset, bytes_max);
  }
  void give_up_output(const OutputFileName& name, std::uint64_t offset) override {
    output_files_.give_up(name, offset);
  }
  void remove_output(const OutputFileName& name) override { output_files_.remove(name); }
  bool is_step_live(const StepId& step) override { return agent_->is_live(step); }
  /// Lines are read by people: they carry the wall clock's time, all else here counts the steady
  /// one.
  void send_output(const OutputSent& output) override {
    OutputSent stamped = output;
    stamped.fragment.received_time = wall_time();
    send_controller(stamped);
  }

 private:
  std::string cgroup_name(const StepId& step) const {
    return fmt::format("{}_{}.{}.{}", options_.node_name, step.job.value(), step.attempt,
                       step.step);
  }

  // ---- the spawner ----
  void start_spawner() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) die("socketpair");
    ProcessSpec spec;
    spec.arguments = {options_.stepd,     "--spool",   options_.spool,  "--conf",
                      options_.conf_path, "--cluster", options_.cluster};
    const std::string shape =
        fmt::format("{}:{}", options_.cores_per_socket, options_.threads_per_core);
    spec.arguments.insert(spec.arguments.end(), {"--shape", shape});
    if (!options_.hosts_file.empty())
      spec.arguments.insert(spec.arguments.end(), {"--hosts", options_.hosts_file});
    for (char** variable = environ; *variable != nullptr; ++variable)
      spec.environment.emplace_back(*variable);
    spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
    spec.standard_in = fds[1];
    spec.standard_out = STDOUT_FILENO;
    spec.standard_error = STDERR_FILENO;
    const auto pid = start_process(spec);
    if (!pid.has_value()) die(pid.error().text());
    // Only our end is left: the spawner ends when that is closed.
    ::close(fds[1]);
    spawner_ = fds[0];
  }
  /// The spawner reads at once, so a whole launch is written without waiting long.
  void send_spawner(const std::string& bytes) {
    // Its length in four bytes, the lowest first, and then the record.
    std::string record(4, '\0');
    for (unsigned i = 0; i < 4; ++i)
      record[i] = static_cast<char>((bytes.size() >> (8 * i)) & 0xff);
    record += bytes;
    for (std::size_t sent = 0; sent < record.size();) {
      const ssize_t n = ::send(spawner_, record.data() + sent, record.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        // The spawner has died: another one reads the record from its beginning.
        ::close(spawner_);
        start_spawner();
        sent = 0;
        continue;
      }
      sent += static_cast<std::size_t>(n);
    }
  }

  // ---- supervisors ----
  /// 0: none lives.
  pid_t supervisor_of(const StepId& step) const {
    return holder_of_key(supervisors_lock_path(options_.spool), supervisor_key(step));
  }
  void listen() {
    // Supervisors run as root or as this user.
    const auto fd = listen_unix(options_.spool + "/agent.sock", 0600);
    if (!fd.has_value()) die(fd.error().text());
    listen_fd_ = *fd;
    acceptor_.emplace(
        io_, listen_fd_, [this](int link) { adopt_link(link); },
        [](int error) {
          fmt::print(stderr, "muster-agent: steps' supervisors wait to be let in: {}\n",
                     std::strerror(error));
        });
    tasks_.add(acceptor_->run());
  }
  void adopt_link(int fd) {
    auto link = kj::heap<MessageLink>(socket_stream(io_, fd));
    auto id = kj::heap<std::optional<StepId>>();
    auto* raw_id = id.get();
    auto* raw_link = link.get();
    tasks_.add(raw_link
                   ->run([this, raw_id, raw_link](std::string bytes) {
                     on_step_message(*raw_id, raw_link, bytes);
                   })
                   .then([this, raw_id, raw_link] { on_link_closed(*raw_id, raw_link); })
                   .attach(kj::mv(id), kj::mv(link)));
  }
  void on_step_message(std::optional<StepId>& id, MessageLink* link, const std::string& bytes) {
    const auto message = records::decode_from_agent(bytes);
    if (!message.has_value()) return;
    const auto* running = get_if<StepRunning>(&*message);
    const auto* done = get_if<StepDone>(&*message);
    if (running == nullptr && done == nullptr) return;
    // The first message says whose supervisor it is.
    if (!id) {
      const StepId step = running != nullptr ? running->id : done->id;
      MessageLink* before = links_.open(step, *link);
      if (!agent_->on_step_linked(step,
                                  running != nullptr ? running->launch_key : done->launch_key)) {
        // The step is again the supervisor's that had it.
        links_.reopen(step, before);
        const TerminateJob end{step.job, step.attempt, "", Duration()};
        return link->send(records::encode_message(ToAgent(end)));
      }
      id = step;
    }
    agent_->on_step(*id, *message);
  }
  void on_link_closed(const std::optional<StepId>& id, MessageLink* link) {
    if (id && links_.close(*id, *link)) agent_->on_step_closed(*id, steady_now());
  }

  // ---- the controller ----
  kj::Promise<void> controller_loop() {
    const auto fd = connect_to("unix:" + options_.controller);
    // The controller may be starting: it is dialled until it answers.
    if (!fd.has_value()) return redial();
    controller_ = std::make_unique<AgentClient>(io_, *fd, [this](const ToAgent& message) {
      if (const auto* received = get_if<OutputReceived>(&message)) {
        shipper_.on_received(*received, steady_now());
        // Ends that waited for their output may be told now.
        if (received->is_end) agent_->on_output_stored();
        return;
      }
      agent_->on_controller(message, steady_now());
      // Messages of one round share a turn, so that their launches share a sync.
      schedule_end();
    });
    return controller_->register_node(agent_->registration())
        .then([this](AgentClient::Answer answer) -> kj::Promise<void> {
          const bool may_serve =
              answer.cluster.cluster_id.empty() || agent_->on_cluster(answer.cluster, steady_now());
          if (answer.refusal) {
            // Said once and not at each attempt.
            if (answer.refusal->text() != last_refusal_)
              fmt::print(stderr, "muster-agent: {}\n", answer.refusal->text());
            last_refusal_ = answer.refusal->text();
          }
          if (answer.refusal || !may_serve) return kj::READY_NOW;
          // Output first: ends wait for it.
          shipper_.on_connected(steady_now());
          agent_->on_registered(steady_now());
          return controller_->on_disconnect();
        })
        .catch_([this](kj::Exception&& exception) {
          if (exception.getType() == kj::Exception::Type::DISCONNECTED) return;
          const std::string why = exception.getDescription().cStr();
          if (why != last_refusal_) {
            fmt::print(stderr, "muster-agent: the connection to the controller is given up: {}\n",
                       why);
          }
          last_refusal_ = why;
          is_given_up_ = true;
        })
        .then([this] {
          agent_->on_disconnected();
          shipper_.on_disconnected();
          controller_ = nullptr;
          return redial();
        });
  }
  kj::Promise<void> redial() {
    // What was not understood once may not be the next time, either.
    const kj::Duration pause = std::exchange(is_given_up_, false) ? 25 * kRedial : kRedial;
    return io_.provider->getTimer().afterDelay(pause).then([this] { return controller_loop(); });
  }

  void schedule_end() {
    if (std::exchange(is_end_scheduled_, true)) return;
    tasks_.add(kj::evalLast([this] {
      is_end_scheduled_ = false;
      agent_->end_turn();
    }));
  }
  kj::Promise<void> tick_loop() {
    return io_.provider->getTimer().afterDelay(kTick).then([this] {
      agent_->on_tick(steady_now());
      return tick_loop();
    });
  }
  kj::Promise<void> output_loop() {
    return io_.provider->getTimer().afterDelay(kOutputTick).then([this] {
      shipper_.on_tick(steady_now());
      return output_loop();
    });
  }
  void taskFailed(kj::Exception&& exception) override {
    fmt::print(stderr, "muster-agent: {}\n", exception.getDescription().cStr());
  }

  AgentOptions options_;
  kj::AsyncIoContext& io_;
  RegisterNode self_;  ///< until the agent has it
  std::optional<Agent> agent_;
  OutputFiles output_files_;
  OutputShipper shipper_;
  CgroupHost cgroups_;
  std::optional<Spool> spool_;
  int spawner_ = -1;
  int listen_fd_ = -1;
  std::optional<Acceptor> acceptor_;
  StepLinks<MessageLink> links_;
  std::unique_ptr<AgentClient> controller_;
  std::string last_refusal_;
  bool is_given_up_ = false;  ///< by us, for what the controller said
  bool is_end_scheduled_ = false;
  kj::TaskSet tasks_;
};

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  // Slurm's NodeName is the host's name without its domain.
  return std::string(name).substr(0, std::string(name).find('.'));
}

std::string own_folder() {
  char path[PATH_MAX] = {};
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return size > 0 ? folder_of(std::string(path, static_cast<std::size_t>(size))) : ".";
}

int run(const std::string& conf_path, const std::string& name) {
  const auto text = read_conf_file(conf_path);
  if (!text.has_value()) die(text.error().text());
  const auto conf = parse_slurm_conf(conf_path, *text, include_reader(conf_path));
  if (!conf.has_value()) die(conf.error().text());
  AgentOptions options;
  options.conf_path = conf_path;
  options.node_name = name;
  options.cluster = conf->cluster.settings.cluster_name;
  options.hosts_file = conf->daemons.hosts_file;
  // Beside this program, so that it is of the same version.
  options.stepd = own_folder() + "/muster-stepd";
  // Absolute, as its supervisors have it: cgroups and the marks of tasks are named by it.
  options.spool = std::filesystem::absolute(
      replaced(replaced(conf->daemons.spool_folder, "%n", name), "%h", host_name()));
  // Agents have a socket of their own beside the clients'.
  const std::string& address = conf->daemons.controller_address;
  options.controller =
      (address.rfind("unix:", 0) == 0 ? folder_of(address.substr(5)) : folder_of(conf_path)) +
      "/agents.sock";
  const NodeConfig* node = nullptr;
  for (const NodeConfig& candidate : conf->cluster.nodes) {
    if (candidate.name == name) node = &candidate;
  }
  if (node == nullptr) die(fmt::format("{} has no node {}: name one with -N", conf_path, name));
  options.cores_per_socket = node->cores_per_socket;
  options.threads_per_core = node->threads_per_core;
  // Pretended only where the configuration overrides what is there
  // (SlurmdParameters=config_overrides).
  RegisterNode self = measure_inventory(conf->daemons.is_config_override ? node : nullptr);
  self.node_name = name;
  auto io = kj::setupAsyncIo();
  AgentProgram(std::move(options), std::move(self), io).run();
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::open_standard_streams();
  static const option kOptions[] = {{"name", required_argument, nullptr, 'N'},
                                    {"conf", required_argument, nullptr, 'f'},
                                    {"version", no_argument, nullptr, 'V'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {nullptr, 0, nullptr, 0}};
  std::string conf =
      std::getenv("SLURM_CONF") != nullptr ? std::getenv("SLURM_CONF") : "/etc/muster/slurm.conf";
  std::string name = muster::host_name();
  for (int c = 0; (c = ::getopt_long(argc, argv, "N:f:Vh", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'N': name = optarg; break;
      case 'f': conf = optarg; break;
      case 'V': fmt::print("muster {}\n", muster::kVersion); return 0;
      case 'h': fmt::print("{}", muster::kHelp); return 0;
      default: fmt::print(stderr, "{}", muster::kHelp); return 1;
    }
  }
  // Whoever goes away shows as an error of the write to it.
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(022);  // scripts lie in folders that their users pass through; what is private is made so
  if (const auto raised = muster::raise_open_files(muster::kDaemonFilesMin); !raised.has_value())
    muster::die(raised.error().text());
  return muster::run(conf, name);
}
