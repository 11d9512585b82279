// musterd: the controller. Reads slurm.conf, recovers the state, takes the lead, starts the threads.
#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "apps/musterd/threads.h"
#include "base/version.h"
#include "controller/recovery.h"
#include "env/posix/process_runner.h"
#include "wire/controller_client.h"
#include "wire/socket.h"

namespace muster::daemon {
namespace {

char** g_arguments = nullptr;
/// How long the answer to `scontrol reconfigure` has before the start.
constexpr auto kReplyTravels = std::chrono::milliseconds(200);

constexpr const char* kHelp =
    "musterd: the controller of a Muster cluster\n"
    "\n"
    "  musterd [-f FILE]\n"
    "\n"
    "  -f FILE   configuration (default: $SLURM_CONF, else /etc/muster/slurm.conf)\n"
    "  --check   replay the journal and print the state's hash, then leave\n"
    "  -V        print the version\n"
    "\n"
    "State is kept in StateSaveLocation. Clients and agents reach it by the sockets\n"
    "controller.sock and agents.sock beside the configuration, or MusterController=.\n";

void log_line(const std::string& text) { fmt::print(stderr, "musterd: {}\n", text); }

[[noreturn]] void die(const std::string& text) {
  log_line(text);
  std::exit(1);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kNotFound, "cannot read " + path, std::strerror(errno));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

struct Setup {
  SlurmConf conf;
  DaemonOptions options;
};

Result<Setup> set_up(const std::string& path) {
  Setup setup;
  const std::string text = TRY(read_file(path));
  setup.conf = TRY(parse_slurm_conf(path, text));
  for (const std::string& note : setup.conf.notes) log_line(path + ": " + note);
  const std::string folder = folder_of(path);
  const std::string& address = setup.conf.daemons.controller_address;
  setup.options.state_folder = setup.conf.daemons.state_folder;
  setup.options.client_socket = address.rfind("unix:", 0) == 0 ? address.substr(5) : folder + "/controller.sock";
  setup.options.agent_socket = folder_of(setup.options.client_socket) + "/agents.sock";
  setup.options.host = setup.conf.cluster.settings.controller_host;
  setup.options.version = kVersion;
  setup.options.operator_uid = ::geteuid();
  setup.options.http_listen = setup.conf.daemons.http_listen;
  setup.options.http_open_user = setup.conf.daemons.http_open_user;
  setup.options.cluster_name = setup.conf.cluster.settings.cluster_name;
  if (::mkdir(setup.options.state_folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::kUnavailable, "cannot create StateSaveLocation " + setup.options.state_folder, std::strerror(errno));
  }
  return setup;
}

/// One controller at a time for one state folder; the lock goes with the process.
void lock_state(const std::string& folder) {
  const std::string path = folder + "/controller.lock";
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) die(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) die(fmt::format("another controller uses {}: stop it first", folder));
}

bool is_no_room(const Error& error) {
  const bool is_full = error.detail.find("full") != std::string::npos || error.detail.find("disk I/O") != std::string::npos;
  return error.code == ErrorCode::kUnavailable && is_full;
}

/// Waits while the disk refuses: without a write there is no lead, and nobody else would start this process again.
template <class Attempt>
auto with_patience(Attempt&& attempt) {
  for (bool is_told = false;; ::sleep(1)) {
    auto result = attempt();
    if (result.has_value() || !is_no_room(result.error())) return result;
    if (!std::exchange(is_told, true)) log_line(result.error().text() + ": waiting for room");
  }
}

/// Takes the lead and reads what is stored.
Result<Recovered> recover_parts(const Setup& setup, ClusterState& state) {
  Recovered recovered;
  SqliteJournal::Options journal_options;
  journal_options.path = setup.options.state_folder + "/journal.db";
  recovered.journal = TRY(with_patience([&] { return SqliteJournal::open(journal_options); }));
  recovered.history = TRY(with_patience([&] { return HistoryStore::open(setup.options.state_folder + "/history.db"); }));
  LogStore::Options log_options;
  log_options.path = setup.options.state_folder + "/logs.db";
  recovered.logs = TRY(with_patience([&] { return LogStore::open(log_options); }));
  recovered.epoch = TRY(with_patience([&] { return recovered.journal->take_lead(); }));
  ReplayRecorder recorder(state, recovered.history->watermark());
  TRY(recover(*recovered.journal, state, &recorder));
  recovered.unprojected = recorder.take();
  recovered.config = std::make_shared<const ClusterConfig>(setup.conf.cluster);
  return recovered;
}

void store_unprojected(Recovered& recovered) {
  if (recovered.unprojected.empty()) return;
  std::vector<HistoryObject> objects;
  for (HistoryRecord& record : recovered.unprojected) objects.push_back(std::move(record.object));
  const Status stored = with_patience([&] { return recovered.history->append(objects, recovered.journal->last()); });
  if (!stored.has_value()) die("history: " + stored.error().text());
}

void raise_file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A start reads the configuration, so reading it again is a start: clients repeat what they have in flight, nodes come
/// back, and jobs run on. A file with an error changes nothing.
Status read_again(const std::string& conf_path) {
  const auto setup = set_up(conf_path);
  if (!setup.has_value()) return fail(setup.error());
  std::thread([] {
    std::this_thread::sleep_for(kReplyTravels);
    restart_process("scontrol reconfigure");
  }).detach();
  return {};
}

int run(const std::string& conf_path) {
  auto setup = set_up(conf_path);
  if (!setup.has_value()) die(setup.error().text());
  const DaemonOptions& options = setup->options;
  lock_state(options.state_folder);

  auto channels = std::make_unique<Channels>();
  ChannelCorePort port(*channels, setup->conf.cluster.settings.mail_program, [&] { return read_again(conf_path); });
  Core::Options core_options;
  core_options.version = options.version;
  Core core(core_options, port, port);
  auto recovered = recover_parts(*setup, core.state());
  if (!recovered.has_value()) die("recovery: " + recovered.error().text());
  store_unprojected(*recovered);
  PlannerRole planner{sched::PlanOptions()};
  auto metrics = with_patience([&] { return MetricStore::open({options.state_folder + "/metrics.db"}); });
  if (!metrics.has_value()) die("metrics: " + metrics.error().text());
  const auto http = open_http(options);
  if (!http.has_value()) die(http.error().text());
  core.serve_http(HttpFacts{http->address.empty() ? "" : "http://" + http->address, http->token_key, http->cluster_id});
  QueryReplica replica(options.host, options.version, http->address);
  planner.state().copy_from(core.state());
  replica.state().copy_from(core.state());
  SearchRole search;
  search.load(core.state());
  LogBook book;
  book.load(core.state());
  log_line(fmt::format("epoch {}: recovered {} jobs at batch {}", recovered->epoch.value(), core.state().jobs().size(),
                       core.state().seq().value()));

  const auto client_fd = listen_unix(options.client_socket, 0777);
  if (!client_fd.has_value()) die(client_fd.error().text());
  const auto agent_fd = listen_unix(options.agent_socket, 0600);
  if (!agent_fd.has_value()) die(agent_fd.error().text());

  std::thread([&] { run_journal(*channels, *recovered->journal, options); }).detach();
  std::thread([&] { run_history(*channels, *recovered->history); }).detach();
  std::thread([&] { run_logs(*channels, *recovered->logs, book); }).detach();
  std::thread([&] { run_lookup(*channels); }).detach();
  std::thread([&] { run_mail(*channels); }).detach();
  std::thread([&] { run_search(*channels, search); }).detach();
  std::thread([&] { run_planner(*channels, planner); }).detach();
  std::thread([&] {
    run_core(*channels, core, port, options, *agent_fd, recovered->epoch, recovered->config);
  }).detach();
  std::thread([&] { run_metrics(*channels, **metrics); }).detach();
  if (http->listen_fd >= 0) {
    for (Channel<Labour>& labour : channels->labour) std::thread([&labour] { run_labour(labour); }).detach();
    std::thread([&] { run_http(*channels, options, *http); }).detach();
  }
  run_gateway(*channels, replica, options, *client_fd, http->token_key);
  return 0;
}

}  // namespace

void restart_process(const std::string& why) {
  log_line(why + ": starting again from what is stored");
  ::usleep(200'000);
  die(restart_self(g_arguments).text());
}

/// The state that the journal makes, at the number that the running controller says it stands at (else at its end).
int check(const std::string& conf_path) {
  const auto setup = set_up(conf_path);
  if (!setup.has_value()) die(setup.error().text());
  std::optional<PingView> live;
  auto io = kj::setupAsyncIo();
  if (auto client = ControllerClient::connect(io, "unix:" + setup->options.client_socket); client.has_value()) {
    Query query;
    query.kind = QueryKind::kPing;
    [[maybe_unused]] const Status asked = (*client)->query(query, [&](Page page) { live = page.ping; });
  }
  SqliteJournal::Options options;
  options.path = setup->options.state_folder + "/journal.db";
  auto journal = SqliteJournal::open(options);
  if (!journal.has_value()) die(journal.error().text());
  ClusterState state;
  const Status replayed = recover(**journal, state, nullptr, live ? live->seq : Seq(UINT64_MAX));
  if (!replayed.has_value()) die("the journal is damaged: " + replayed.error().text());
  fmt::print("journal: batch {}, {} jobs, hash {:016x}\n", state.seq().value(), state.jobs().size(), state.hash());
  if (!live) {
    fmt::print("controller: not running\n");
    return 0;
  }
  fmt::print("controller: batch {}, hash {:016x}\n", live->seq.value(), live->state_hash);
  if (live->seq == state.seq() && live->state_hash == state.hash()) return 0;
  fmt::print("they differ: keep {} and report this\n", options.path);
  return 1;
}

int main_of(int argc, char** argv) {
  g_arguments = argv;
  std::string conf = std::getenv("SLURM_CONF") != nullptr ? std::getenv("SLURM_CONF") : "/etc/muster/slurm.conf";
  static const option kOptions[] = {{"check", no_argument, nullptr, 'c'}, {"conf", required_argument, nullptr, 'f'},
                                    {"version", no_argument, nullptr, 'V'}, {"help", no_argument, nullptr, 'h'},
                                    {nullptr, 0, nullptr, 0}};
  bool is_check = false;
  for (int c = 0; (c = ::getopt_long(argc, argv, "f:Vh", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'f': conf = optarg; break;
      case 'c': is_check = true; break;
      case 'V': fmt::print("muster {}\n", kVersion); return 0;
      case 'h': fmt::print("{}", kHelp); return 0;
      default: fmt::print(stderr, "{}", kHelp); return 1;
    }
  }
  raise_file_limit();
  ::signal(SIGPIPE, SIG_IGN);
  return is_check ? check(conf) : run(conf);
}

}  // namespace muster::daemon

int main(int argc, char** argv) { return muster::daemon::main_of(argc, argv); }
