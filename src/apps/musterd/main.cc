// musterd: the controller. Reads slurm.conf, recovers the state, takes the lead, starts the
// threads.
#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "apps/musterd/handover.h"
#include "apps/musterd/threads.h"
#include "base/version.h"
#include "engine/history_check.h"
#include "engine/recovery.h"
#include "engine/replay_recorder.h"
#include "env/posix/clocks.h"
#include "env/posix/conf_files.h"
#include "env/posix/crash_record.h"
#include "env/posix/open_files.h"
#include "env/posix/own_folder.h"
#include "env/posix/standard_streams.h"
#include "env/write_error.h"
#include "journal/sqlite_journal.h"
#include "platform/maintenance/drop_job.h"
#include "platform/rules/trial_rules.h"
#include "platform/search/search_role.h"
#include "slurm/conf/conf_companions.h"
#include "slurm/conf/conf_shown.h"
#include "store/history/sqlite_history.h"
#include "store/logs/sqlite_logs.h"
#include "store/metrics/sqlite_metrics.h"
#include "text/words.h"
#include "wire/controller_client.h"
#include "wire/socket.h"
#include "workload/launch/damaged_blobs.h"
#include "workload/planning/planner_role.h"

namespace muster::daemon {
namespace {

std::string draw_cluster_id() {
  std::uint64_t bits[2] = {};
  // Without random numbers the time must do: it only tells clusters apart.
  if (::getrandom(bits, sizeof bits, 0) != sizeof bits)
    bits[0] = static_cast<std::uint64_t>(wall_time().microseconds());
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

/// A controller that died so often of one job comes up with that job held.
constexpr std::uint32_t kDeathsMax = 2;
/// How long the answer to `scontrol reconfigure` has before the start.
constexpr auto kReplyTravels = std::chrono::milliseconds(200);

constexpr const char* kHelp =
    "musterd: the controller of a Muster cluster\n"
    "\n"
    "  musterd [-f FILE]\n"
    "\n"
    "  -f FILE   configuration (default: $SLURM_CONF, else /etc/muster/slurm.conf)\n"
    "  --check   replay the journal and print the state's hash, then leave\n"
    "  --drop-job N   end job N in the stored state, while no controller runs:\n"
    "                 for one that every start dies of\n"
    "  -V        print the version\n"
    "\n"
    "State is kept in StateSaveLocation. Clients and agents reach it by the sockets\n"
    "controller.sock and agents.sock beside the configuration, or MusterController=.\n";

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

struct Setup {
  SlurmConf conf;
  DaemonOptions options;
  ConfTexts texts;  ///< that it was read from
};

/// What it says is run with this daemon's rights (MailProg), so that nobody else may write it.
Status check_conf_file(const std::string& path) {
  struct stat known {};
  if (::stat(path.c_str(), &known) != 0)
    return fail(ErrorCode::kNotFound, "cannot read " + path, std::strerror(errno));
  if (!S_ISREG(known.st_mode)) return {};  // who reads it says so
  if (known.st_uid != 0 && known.st_uid != ::geteuid()) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("{} belongs to uid {}", path, known.st_uid),
                "give it to root or to whom the controller runs as");
  }
  const bool is_open =
      (known.st_mode & S_IWOTH) != 0 ||
      ((known.st_mode & S_IWGRP) != 0 && known.st_gid != 0 && known.st_gid != ::getegid());
  if (!is_open) return {};
  return fail(ErrorCode::kFailedPrecondition, fmt::format("{} can be written by others", path),
              "chmod go-w " + path);
}

/// It holds every script and environment: a folder that was there before must be this daemon's
/// alone. `goes_on`: it was so when this cluster began, and what runs does not end because somebody
/// has opened it since.
Status make_state_folder(const std::string& path, bool goes_on) {
  TRY(make_own_folder(path, 0700, "StateSaveLocation"));
  struct stat known {};
  if (::stat(path.c_str(), &known) == 0 && (known.st_mode & 077) == 0) return {};
  if (goes_on && ::chmod(path.c_str(), 0700) == 0) {
    log_line(fmt::format("StateSaveLocation {} was open to others: it is closed again", path));
    return {};
  }
  return fail(ErrorCode::kFailedPrecondition,
              fmt::format("StateSaveLocation {} is open to others", path), "chmod 700 " + path);
}

/// A user's number, given by name or as a number.
std::optional<std::uint32_t> find_uid(std::string_view name) {
  if (const auto number = parse_whole32(name)) return *number;
  const passwd* entry = ::getpwnam(std::string(name).c_str());
  return entry == nullptr ? std::nullopt : std::optional<std::uint32_t>(entry->pw_uid);
}
std::string name_of(std::uint32_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? fmt::format("{}", uid) : entry->pw_name;
}

/// Says of the files beside slurm.conf that nothing follows from them.
void log_companions(const std::string& folder) {
  for (const std::string_view name : companion_files()) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (::access(path.c_str(), R_OK) != 0) continue;
    log_line(fmt::format("{} has no effect: {} (muster config check says it key by key)", path,
                         why_companion_has_no_effect(name)));
  }
}

/// Uids of SlurmUser and MusterOperators beside whom this daemon runs as. `goes_on`: a user who is
/// gone since is no reason to end.
Result<std::vector<std::uint32_t>> find_operators(const DaemonSettings& daemons, bool goes_on) {
  std::vector<std::uint32_t> operators = {::geteuid()};
  if (const auto uid = find_uid(daemons.user)) {
    operators.push_back(*uid);
  } else {
    log_line(fmt::format("SlurmUser={}: there is no such user here, so that nobody has its rights",
                         daemons.user));
  }
  for (const std::string& name : daemons.operators) {
    const auto uid = find_uid(name);
    if (!uid && !goes_on)
      return fail(ErrorCode::kNotFound, "MusterOperators: there is no user " + name,
                  "take the name out, or make the user");
    if (!uid) log_line("MusterOperators: there is no user " + name + " any more");
    if (uid) operators.push_back(*uid);
  }
  return operators;
}

/// Experiments are given what it says, programs that are found by PATH among it, so that it is
/// trusted as slurm.conf is.
Result<SiteDefaults> read_site_defaults(const std::string& path, const ClusterConfig& cluster,
                                        ConfFiles& files) {
  if (path.empty()) return SiteDefaults();
  const auto text = files.read(path);
  if (!text.has_value())
    return fail(text.error().code, "MusterDefaults: " + text.error().message, text.error().detail);
  std::set<std::string> partitions;
  for (const PartitionConfig& partition : cluster.partitions) partitions.insert(partition.name);
  return parse_site_defaults(path, *text, partitions);
}

Result<Setup> set_up(const std::string& path, ConfFiles files, bool goes_on = false) {
  Setup setup;
  const std::string text = TRY(files.read(path));
  const auto read = [&files](const std::string& included) { return files.read(included); };
  auto conf = parse_slurm_conf(path, text, include_reader(path, read));
  if (!conf.has_value()) {
    return fail(conf.error().code, conf.error().message,
                fmt::format("{} (muster config check {} says all that there is)",
                            conf.error().detail, path));
  }
  setup.conf = std::move(conf).value();
  for (const ConfFinding& finding : setup.conf.findings) log_line(conf_finding_text(finding));
  log_companions(folder_of(path));
  show_users(setup.conf.cluster.settings.shown, name_of(::geteuid()), find_uid);
  const std::string folder = folder_of(path);
  const std::string& address = setup.conf.daemons.controller_address;
  setup.options.state_folder = setup.conf.daemons.state_folder;
  // "unix:" names a path; else the sockets lie beside the configuration.
  setup.options.client_socket =
      address.rfind("unix:", 0) == 0 ? address.substr(5) : folder + "/controller.sock";
  setup.options.agent_socket = folder_of(setup.options.client_socket) + "/agents.sock";
  setup.options.host = setup.conf.cluster.settings.controller_host;
  setup.options.version = kVersion;
  setup.options.operator_uid = ::geteuid();
  setup.options.operators = TRY(find_operators(setup.conf.daemons, goes_on));
  setup.options.http = setup.conf.daemons.http;
  setup.options.site_defaults =
      TRY(read_site_defaults(setup.options.http.defaults_file, setup.conf.cluster, files));
  for (const ControllerHost& host : setup.conf.daemons.controllers)
    setup.options.own_hosts.insert(setup.options.own_hosts.end(), {host.name, host.address});
  setup.options.cluster_name = setup.conf.cluster.settings.cluster_name;
  // As they were read: the next run begins with the same texts.
  setup.texts = files.texts();
  return setup;
}

/// Whether two paths lead to one place, however they are written.
bool same_place(const std::string& one, const std::string& other) {
  const auto told = [](std::filesystem::path path) {
    if (!path.has_filename()) path = path.parent_path();  // "state/" is "state"
    std::error_code unresolved;
    const auto real = std::filesystem::weakly_canonical(path, unresolved);
    return unresolved ? path : real;
  };
  return one == other || told(one) == told(other);
}

/// What a run keeps from its start to its end. Errors: kInvalidArgument, by name.
Status check_unmoved(const DaemonOptions& wanted, const DaemonOptions& running) {
  const std::pair<const char*, std::string DaemonOptions::*> places[] = {
      {"StateSaveLocation", &DaemonOptions::state_folder},
      {"MusterController", &DaemonOptions::client_socket}};
  for (const auto& [key, place] : places) {
    if (same_place(wanted.*place, running.*place)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot change while the controller runs", key),
                fmt::format("from {} to {}: stop it, move what is there, and start it again",
                            running.*place, wanted.*place));
  }
  return {};
}

/// What a controller that is to run insists on.
Result<Setup> set_up_to_run(const std::string& path, const Handover& before = {}) {
  Setup setup = TRY(set_up(path, ConfFiles(check_conf_file, before.conf), before.goes_on));
  TRY(make_state_folder(setup.options.state_folder, before.goes_on));
  return setup;
}

/// One controller at a time for one state folder; the lock goes with the process.
void lock_state(const std::string& folder) {
  const std::string path = folder + "/controller.lock";
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) die(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    die(fmt::format("another controller uses {}: stop it first", folder));
}

/// Waits while the disk refuses: without a write there is no lead, and nobody else would start this
/// process again. The reserve is given up first: it is there so that what has ended can still be
/// written.
template <class Attempt>
auto wait_for_room(const DaemonOptions& options, Attempt&& attempt) {
  for (bool is_logged = false;; ::sleep(1)) {
    auto result = attempt();
    if (result.has_value() || result.error().cause != ErrorCause::kNoRoom) return result;
    if (::unlink((options.state_folder + "/journal.reserve").c_str()) == 0) {
      log_line(result.error().text() + ": the reserve is given up for it");
      continue;
    }
    if (!std::exchange(is_logged, true)) log_line(result.error().text() + ": waiting for room");
  }
}

/// Says which file it was.
template <class Opened>
Opened named(const std::string& file, Opened opened) {
  if (!opened.has_value()) opened.error().message = file + ": " + opened.error().message;
  return opened;
}

/// Takes the lead and reads what is stored.
Result<Recovered> recover_parts(const Setup& setup, ClusterState& state, Epoch beyond) {
  Recovered recovered;
  SqliteJournalOptions journal_options;
  journal_options.path = setup.options.state_folder + "/journal.db";
  recovered.journal = TRY(named(journal_options.path, wait_for_room(setup.options, [&] {
                                  return open_sqlite_journal(journal_options);
                                })));
  recovered.history =
      TRY(named(setup.options.state_folder + "/history.db", wait_for_room(setup.options, [&] {
                  return open_sqlite_history(setup.options.state_folder + "/history.db");
                })));
  SqliteLogOptions log_options;
  log_options.path = setup.options.state_folder + "/logs.db";
  recovered.logs =
      TRY(named(log_options.path,
                wait_for_room(setup.options, [&] { return open_sqlite_logs(log_options); })));
  // Before the lead is taken: an epoch that history has met counts as well.
  const HistoryMark mark = TRY(recovered.history->mark());
  recovered.epoch = TRY(wait_for_room(setup.options, [&] {
    return recovered.journal->acquire_leadership(std::max(beyond, mark.epoch));
  }));
  recovered.clock = TRY(recovered.journal->clock());
  recovered.start = TRY(recover_beside_history(*recovered.journal, state, mark));
  if (!recovered.start.verdict.warning.empty()) log_line(recovered.start.verdict.warning);
  // A new job with the same bytes must not be given the damaged ones.
  for (const BlobId damaged : TRY(recovered.journal->recorded_damaged()))
    state.do_not_share(damaged);
  recovered.config = std::make_shared<const ClusterConfig>(setup.conf.cluster);
  return recovered;
}

/// History has everything up to the journal's end, on stable storage, before anything new ends.
void store_unprojected(Recovered& recovered, const BatchMark& last, const DaemonOptions& options) {
  std::vector<HistoryObject> objects;
  for (HistoryRecord& record : recovered.start.unprojected)
    objects.push_back(std::move(record.object));
  const Status stored = wait_for_room(options, [&]() -> Status {
    TRY(recovered.history->acquire(recovered.epoch));
    return recovered.history->append(objects, last);
  });
  if (!stored.has_value()) die(history_refusal(stored.error()));
  const Status synced = wait_for_room(options, [&] { return recovered.history->make_durable(); });
  if (!synced.has_value()) die(history_refusal(synced.error()));
}

/// Of nodes whose configuration says more than that they are there.
std::map<std::string, NodeStatus> first_status(const SlurmConf& conf) {
  std::map<std::string, NodeStatus> first;
  for (std::size_t i = 0; i < conf.initial_nodes.size(); ++i) {
    const InitialNode& initial = conf.initial_nodes[i];
    const int said = initial.conditions & ~node_condition::kUnknown;
    if (said == 0) continue;
    NodeStatus& status = first[conf.cluster.nodes.at(i).name];
    status.conditions = static_cast<std::uint16_t>(said);
    status.reason = initial.reason;
  }
  return first;
}

/// Where the cluster's time stands: it went on while no controller was there.
CoreBeginning begin_core(const Recovered& recovered, const SlurmConf& conf,
                         const ClusterState& state, JobId suspect, bool is_believed) {
  const ClockReading reading = read_clocks();
  // The steady clock begins anew with each boot.
  const bool is_same_boot = recovered.clock && recovered.clock->boot == boot_number() &&
                            recovered.clock->steady <= reading.steady;
  const auto away =
      is_same_boot ? std::optional(reading.steady - recovered.clock->steady) : std::nullopt;
  const ClockStart start = clock_start(state.time(), away, reading.wall, is_believed);
  if (start.step != Duration())
    log_line(fmt::format("the cluster's time goes {} s {}",
                         start.step.seconds() < 0 ? -start.step.seconds() : start.step.seconds(),
                         start.step < Duration() ? "back" : "ahead"));
  const ClusterClock clock(reading, start.time + start.step);
  set_cluster_offset(clock.offset());
  CoreStart core{draw_cluster_id(), start.step, recovered.start.verdict.job_floor, suspect,
                 first_status(conf)};
  return CoreBeginning{recovered.epoch, recovered.config, std::move(core), clock};
}

std::string tokens_path(const DaemonOptions& options) { return options.state_folder + "/tokens"; }

/// A start reads the configuration, so reading it again is a start: clients repeat what they have
/// in flight, nodes come back, and jobs run on. A file that the next run could not begin with
/// changes nothing: this one would be gone, and nobody would start it again. The next run has what
/// was found good here, whatever becomes of the files until it begins.
Status read_again(const std::string& conf_path, const DaemonOptions& running,
                  const ServedHttp& http) {
  Setup setup = TRY(set_up(conf_path, ConfFiles(check_conf_file)));
  TRY(check_unmoved(setup.options, running));
  TRY(make_state_folder(setup.options.state_folder, false));
  TRY(check_http(setup.options, http));
  TRY(TokenStore::check(tokens_path(setup.options)));
  hand_over_conf(std::move(setup.texts));
  // After the answer: the client is to hear that its request was good.
  std::thread([] {
    std::this_thread::sleep_for(kReplyTravels);
    restart_process("scontrol reconfigure");
  }).detach();
  return {};
}

/// Null: what this run dies of will not be known; a full disk is no reason to stay away.
std::unique_ptr<CrashRecord> open_crash_record(const DaemonOptions& options) {
  auto opened = CrashRecord::open(options.state_folder + "/crash_note");
  if (opened.has_value()) return std::move(*opened);
  log_line(opened.error().text() + ": what this run dies of will not be known");
  return nullptr;
}

/// The job over which the last runs died; 0: none. Twice over the same job is no accident.
JobId suspect_of(const CrashRecord* record) {
  const std::uint32_t deaths = record == nullptr ? 0 : record->deaths();
  if (deaths == 0) return JobId();
  log_line(fmt::format("the last run ended while it worked on job {}: {} in a row",
                       record->last_job().value(), deaths));
  return deaths >= kDeathsMax ? record->last_job() : JobId();
}

/// The roles that have a thread each, as they were recovered.
struct Roles {
  SearchRole search;
  LogBook book;
  PlannerRole planner;
};

/// Starts what follows the core. Detached: the threads end with the process. Requires: all of it
/// lives as long.
void start_followers(Channels& channels, Recovered& recovered, Roles& roles,
                     CrashRecord* crash_record, const DaemonOptions& options) {
  std::thread([&] { run_journal(channels, *recovered.journal, options); }).detach();
  if (const auto tidy = recovered.journal->tidy_beside())
    std::thread([&channels, tidy] { run_tidier(channels, tidy); }).detach();
  std::thread([&] { run_forecasts(channels); }).detach();
  std::thread([&] { run_history(channels, *recovered.history); }).detach();
  std::thread([&] { run_logs(channels, *recovered.logs, roles.book); }).detach();
  std::thread([&] { run_lookup(channels); }).detach();
  std::thread([&] { run_mail(channels); }).detach();
  std::thread([&] { run_search(channels, roles.search); }).detach();
  std::thread([&channels, &roles, &recovered, crash_record] {
    run_planner(channels, roles.planner, recovered.start.report, crash_record);
  }).detach();
}

/// What a start cannot do without; it ends here where that cannot be had.
template <class T>
T needed(Result<T> result, const std::string& what = "") {
  if (!result.has_value()) die(what + result.error().text());
  return std::move(*result);
}

/// Opens HTTP's sockets, and lets the core know where it is served.
ServedHttp begin_http(Core& core, const DaemonOptions& options, const Handover& before) {
  // What holds an address without listening shows only now, and a cluster at work outlives it.
  ServedHttp http = needed(wait_for_room(options, [&] { return open_http(options, before); }));
  if (!http.warning.empty()) log_line(http.warning);
  hand_over_sockets({http.listen_fd, http.services_fd});
  core.serve_http(HttpEndpoint{http.address.empty() ? "" : "http://" + http.address, http.token_key,
                               http.cluster_id});
  return http;
}

/// A copy of the state, which shares specifications and other immutable parts.
std::unique_ptr<QueryReplica> make_replica(const DaemonOptions& options, const ServedHttp& http,
                                           const ClusterState& state) {
  auto replica = std::make_unique<QueryReplica>(options.host, options.version, http.address);
  replica->state().copy_from(state);
  return replica;
}

/// Starts what serves HTTP; detached, as the followers.
void start_http(Channels& channels, QueryReplica& replica, TokenStore& tokens,
                const DaemonOptions& options, const ServedHttp& http) {
  for (std::size_t worker = 0; worker < channels.background.size(); ++worker)
    std::thread([&channels, worker] { run_background(channels, worker); }).detach();
  std::thread([&] { run_tokens(channels, tokens); }).detach();
  std::thread([&] { run_http(channels, replica, options, http); }).detach();
}

int run(const std::string& conf_path, const Handover& before) {
  // In an order in which each part finds what it needs: configuration, lock, crash record, stores
  // and lead, replay, history, HTTP's sockets, replicas, the sockets of clients and agents; threads
  // come last.
  Setup setup = needed(set_up_to_run(conf_path, before));
  hand_over_conf(setup.texts);
  const DaemonOptions& options = setup.options;
  // Before anything is opened: two controllers must not write one state.
  lock_state(options.state_folder);

  const std::unique_ptr<CrashRecord> crash_record = open_crash_record(options);
  const JobId suspect = suspect_of(crash_record.get());
  auto channels = std::make_unique<Channels>();
  ServedHttp served;
  ChannelCorePort port(*channels, crash_record.get(), setup.conf.cluster.settings.mail_program,
                       [&] { return read_again(conf_path, options, served); });
  Core::Options core_options;
  core_options.version = options.version;
  Core core(core_options, port, port);
  Recovered recovered =
      needed(recover_parts(setup, core.state(), before.lead_beyond), "recovery: ");
  store_unprojected(recovered, mark_of(core.state()), options);
  core.on_history(recovered.history->watermark());
  Roles roles;
  const std::string metrics_path = options.state_folder + "/metrics.db";
  const auto metrics =
      needed(wait_for_room(options, [&] { return open_sqlite_metrics({metrics_path}); }),
             metrics_path + ": ");
  served = begin_http(core, options, before);
  const ServedHttp& http = served;
  const auto tokens =
      needed(wait_for_room(options,
                           [&] {
                             return TokenStore::open(tokens_path(options), http.token_key,
                                                     core.state().time());
                           }),
             "tokens: ");
  roles.planner.state().copy_from(core.state());
  const auto replica = make_replica(options, http, core.state());
  replica->set_boot_time(wall_time());
  replica->set_http_warning(http.warning);
  channels->is_http_served = http.listen_fd >= 0;
  channels->http_warning = http.warning;
  const auto http_replica =
      channels->is_http_served ? make_replica(options, http, core.state()) : nullptr;
  roles.search.load(core.state());
  roles.book.load(core.state());
  log_line(fmt::format("epoch {}: recovered {} jobs at batch {}", recovered.epoch.value(),
                       core.state().jobs().size(), core.state().seq().value()));

  // Everybody may connect; who it is, the kernel says.
  const int client_fd =
      needed(wait_for_room(options, [&] { return listen_unix(options.client_socket, 0777); }));
  const int agent_fd =
      needed(wait_for_room(options, [&] { return listen_unix(options.agent_socket, 0600); }));

  start_followers(*channels, recovered, roles, crash_record.get(), options);
  std::thread([&] {
    run_core(*channels, core, port, options, agent_fd,
             begin_core(recovered, setup.conf, core.state(), suspect, before.is_clock_believed));
  }).detach();
  std::thread([&] { run_metrics(*channels, *metrics); }).detach();
  if (http_replica != nullptr) start_http(*channels, *http_replica, *tokens, options, http);
  // The gateway has this thread.
  run_gateway(*channels, *replica, options, client_fd);
  return 0;
}

}  // namespace

void log_line(const std::string& text) { fmt::print(stderr, "musterd: {}\n", text); }

void die(const std::string& text) {
  log_line(text);
  std::exit(1);
}

/// The state that the journal makes, at the number that the running controller says it stands at
/// (else at its end).
int check(const std::string& conf_path) {
  // Without a look at owners: whoever only looks needs to trust nobody.
  const auto setup = set_up(conf_path, ConfFiles());
  if (!setup.has_value()) die(setup.error().text());
  std::optional<PingView> live;
  auto io = kj::setupAsyncIo();
  if (auto client = ControllerClient::connect(io, "unix:" + setup->options.client_socket);
      client.has_value()) {
    Query query;
    query.kind = QueryKind::kPing;
    // Asked first: the journal is replayed to where the controller stood then.
    [[maybe_unused]] const Status asked =
        (*client)->query(query, [&](Page page) { live = page.ping; });
  }
  SqliteJournalOptions options;
  options.path = setup->options.state_folder + "/journal.db";
  options.is_read_only = true;
  auto journal = open_sqlite_journal(options);
  if (!journal.has_value()) die(journal.error().text());
  // Opened before the journal is read: what its watermark covers is in it, whatever the controller
  // does meanwhile.
  auto history = open_sqlite_history_to_read(setup->options.state_folder + "/history.db");
  ClusterState state;
  HistoryExpectation ends(state);
  const auto replayed =
      recover(**journal, state, &ends,
              RecoveryBounds{.until = live ? live->seq : Seq(UINT64_MAX), .history = Seq(0)});
  if (!replayed.has_value()) die("the journal is damaged: " + replayed.error().text());
  fmt::print("journal: batch {}, {} jobs, hash {:016x}\n", state.seq().value(), state.jobs().size(),
             state.hash());
  std::vector<std::string> findings = trial_findings(state);
  const auto damaged = (*journal)->damaged_blobs();
  if (!damaged.has_value())
    die("scripts and environments cannot be read: " + damaged.error().text());
  for (const BlobId blob : *damaged) findings.push_back(blob_finding(state, blob));
  if (history.has_value()) {
    const auto missing = ends.missing_from(**history);
    const bool is_damaged = !missing.has_value() && missing.error().code == ErrorCode::kCorruption;
    if (!missing.has_value() && !is_damaged) die(history_refusal(missing.error()));
    if (is_damaged) findings.push_back(history_refusal(missing.error()));
    if (missing.has_value()) findings.insert(findings.end(), missing->begin(), missing->end());
    const auto damage = (*history)->damage();
    if (!damage.has_value()) die(history_refusal(damage.error()));
    findings.insert(findings.end(), damage->begin(), damage->end());
    if (missing.has_value() && missing->empty() && damage->empty())
      fmt::print("history: complete up to batch {}\n", (*history)->watermark().value());
  } else {
    findings.push_back(history.error().text());
  }
  for (const std::string& finding : findings) fmt::print("found: {}\n", finding);
  const int verdict = findings.empty() ? 0 : 1;
  if (!live) {
    fmt::print("controller: not running\n");
    return verdict;
  }
  fmt::print("controller: batch {}, hash {:016x}\n", live->seq.value(), live->state_hash);
  for (const std::string& warning : live->warnings) fmt::print("warning: {}\n", warning);
  if (live->seq == state.seq() && live->state_hash == state.hash()) return verdict;
  fmt::print("they differ: keep {} and report this\n", options.path);
  return 1;
}

/// Offline: the job ends in the journal, and the next start finds it so.
int drop(const std::string& conf_path, const std::string& number) {
  const auto id = parse_whole32(number);
  if (!id || *id == 0) die(fmt::format("--drop-job: '{}' is no job's number", number));
  const auto setup = set_up_to_run(conf_path);
  if (!setup.has_value()) die(setup.error().text());
  lock_state(setup->options.state_folder);
  SqliteJournalOptions options;
  options.path = setup->options.state_folder + "/journal.db";
  auto journal = open_sqlite_journal(options);
  if (!journal.has_value()) die(journal.error().text());
  ClusterState state;
  const auto replayed = recover(**journal, state, nullptr);
  if (!replayed.has_value()) die("the journal is damaged: " + replayed.error().text());
  const auto epoch = (*journal)->acquire_leadership();
  if (!epoch.has_value()) die(epoch.error().text());
  auto batch = drop_job(state, JobId(*id), *epoch, state.time());
  if (!batch.has_value()) die(batch.error().text());
  // With the clock that is stored: for the cluster no time has passed.
  const auto clock = (*journal)->clock();
  const Status stored = (*journal)->append({std::make_shared<const EventBatch>(std::move(*batch))},
                                           clock.has_value() && *clock ? **clock : JournalClock());
  if (!stored.has_value()) die(stored.error().text());
  log_line(fmt::format("job {} is dropped: it ended as CANCELLED in batch {}", *id,
                       state.seq().value()));
  return 0;
}

int main_of(int argc, char** argv) {
  open_standard_streams();
  std::string conf =
      std::getenv("SLURM_CONF") != nullptr ? std::getenv("SLURM_CONF") : "/etc/muster/slurm.conf";
  static const option kOptions[] = {
      {"check", no_argument, nullptr, 'c'},      {"drop-job", required_argument, nullptr, 'd'},
      {"conf", required_argument, nullptr, 'f'}, {"version", no_argument, nullptr, 'V'},
      {"help", no_argument, nullptr, 'h'},       {nullptr, 0, nullptr, 0}};
  bool is_check = false;
  std::string dropped;
  for (int c = 0; (c = ::getopt_long(argc, argv, "f:Vh", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'f': conf = optarg; break;
      case 'c': is_check = true; break;
      case 'd': dropped = optarg; break;
      case 'V': fmt::print("muster {}\n", kVersion); return 0;
      case 'h': fmt::print("{}", kHelp); return 0;
      default: fmt::print(stderr, "{}", kHelp); return 1;
    }
  }
  if (const Status raised = raise_open_files(kDaemonFilesMin); !raised.has_value())
    die(raised.error().text());
  // Files of the state are this user's alone.
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  if (!dropped.empty()) return drop(conf, dropped);
  return is_check ? check(conf) : run(conf, consume_handover(argv));
}

}  // namespace muster::daemon

int main(int argc, char** argv) { return muster::daemon::main_of(argc, argv); }
