// How many no-op batch jobs a second this machine could run if deciding and talking cost nothing.
// Imitates what the kernel must do for the array that `make bench` runs through a whole cluster:
// warm parents fork a supervisor per job, the supervisor makes a cgroup, writes the script, forks
// the task into the cgroup and into its own mount and host-name namespaces, runs /bin/sh, appends
// the exit to the node's log, and takes everything away again; starts and ends wait for one
// journal's fdatasync, shared by all that came meanwhile, and launches for the node's.
//
//   fork_ceiling [--jobs N] [--nodes N] [--slots N] [--rounds N]
//
// Checks that every job's script ran, then prints jobs/s for each rung of a ladder: forks alone,
// then one more of the kernel's services at a time. The last line is the ceiling. Does not belong
// here: any of Muster's own code.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

/// What a launch record, an exit record and a job's two journal batches weigh in Muster, about.
constexpr std::size_t kSpoolRecordBytes = 128;
constexpr std::size_t kJournalRecordBytes = 1024;
constexpr int kRunSeconds = 120;  ///< no run takes longer: SIGALRM ends every process of it

struct Options {
  int jobs = 1000;
  int nodes = 4;
  int slots = 8;  ///< jobs at once on one node
  int rounds = 5;
};

/// The kernel's services that a run uses beside fork and exec.
struct Rung {
  const char* name;
  bool has_cgroup;
  bool has_namespaces;
  bool has_files;
  bool has_syncs;
};

constexpr Rung kLadder[] = {
    {"two forks and /bin/sh", false, false, false, false},
    {"+ a cgroup", true, false, false, false},
    {"+ mount and host-name namespaces", true, true, false, false},
    {"+ script and exit record", true, true, true, false},
    {"+ journal and spool syncs", true, true, true, true},
};

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "fork_ceiling: {}: {}\n", what, std::strerror(errno));
  std::fflush(stderr);
  ::_exit(1);
}

void write_whole(int fd, const void* data, std::size_t size) {
  if (::write(fd, data, size) != static_cast<ssize_t>(size)) die("write");
}

void put(const std::string& path, const std::string& text, int flags, mode_t mode = 0600) {
  const int fd = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, mode);
  if (fd < 0) die(path);
  write_whole(fd, text.data(), text.size());
  ::close(fd);
}

/// The v1 freezer or the v2 hierarchy, as Muster chooses; empty where we may make no cgroup.
std::string cgroup_root() {
  const bool is_v2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  const std::string root =
      (is_v2 ? "/sys/fs/cgroup/fork_ceiling." : "/sys/fs/cgroup/freezer/fork_ceiling.") +
      std::to_string(::getpid());
  return ::mkdir(root.c_str(), 0755) == 0 ? root : "";
}

/// Where one run writes. Lifetime: main's.
struct Scene {
  Rung rung;
  Options options;
  std::string folder;
  std::string cgroups;
};

struct Job {
  int node;
  int number;
  std::string folder(const Scene& scene) const {
    return fmt::format("{}/job{}.{}", scene.folder, node, number);
  }
  std::string cgroup(const Scene& scene) const {
    return fmt::format("{}/{}_{}.0", scene.cgroups, node, number);
  }
};

std::string exit_log(const Scene& scene, int node) {
  return fmt::format("{}/exits.{}", scene.folder, node);
}

void enter_namespaces(const Scene& scene) {
  const std::string hosts = scene.folder + "/hosts";
  if (::unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
      ::sethostname("node", 4) != 0 ||
      ::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
    die("namespaces");
  }
}

[[noreturn]] void run_task(const Scene& scene, const Job& job) {
  ::signal(SIGCHLD, SIG_DFL);
  ::setsid();
  // The freezer's "tasks" moves one thread, which spares a grace period; the v2 hierarchy has no
  // such file.
  const bool has_tasks = ::access((job.cgroup(scene) + "/tasks").c_str(), W_OK) == 0;
  if (scene.rung.has_cgroup)
    put(job.cgroup(scene) + (has_tasks ? "/tasks" : "/cgroup.procs"), "0", 0);
  if (scene.rung.has_namespaces) enter_namespaces(scene);
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 2; ++fd) ::dup2(null_fd, fd);
  const std::string script =
      scene.rung.has_files ? job.folder(scene) + "/slurm_script" : scene.folder + "/script";
  ::execl("/bin/sh", "/bin/sh", script.c_str(), nullptr);
  die("exec");
}

/// One job's supervisor. Its exit status, 0 or not, is all that `ends` is told.
[[noreturn]] void supervise(const Scene& scene, const Job& job, int ends) {
  ::signal(SIGCHLD, SIG_DFL);
  ::setsid();
  if (scene.rung.has_cgroup && ::mkdir(job.cgroup(scene).c_str(), 0755) != 0)
    die("mkdir of a cgroup");
  if (scene.rung.has_files) {
    if (::mkdir(job.folder(scene).c_str(), 0755) != 0) die("mkdir");
    put(job.folder(scene) + "/slurm_script",
        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n", O_CREAT, 0700);
  }
  const pid_t task = ::fork();
  if (task == 0) run_task(scene, job);
  int status = 1;
  if (task < 0 || ::waitpid(task, &status, 0) != task) die("task");
  const char code = status == 0 ? 0 : 1;
  if (scene.rung.has_files) {
    put(exit_log(scene, job.node), std::string(kSpoolRecordBytes, 'e'), O_CREAT | O_APPEND);
    ::unlink((job.folder(scene) + "/slurm_script").c_str());
    ::rmdir(job.folder(scene).c_str());
  }
  if (scene.rung.has_cgroup) ::rmdir(job.cgroup(scene).c_str());
  write_whole(ends, &code, 1);
  ::_exit(0);
}

/// What a node asks of the journal: so many starts or ends to be made durable, then an answer on
/// its own pipe.
struct JournalNote {
  int node;
  int records;
};

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) die("pipe");
  return {fds[0], fds[1]};
}

/// Group commit: all notes that have gathered share one fdatasync. Ends when the last node has
/// closed its end.
[[noreturn]] void run_journal(const Scene& scene, int notes, const std::vector<Pipe>& answers) {
  const int fd =
      ::open((scene.folder + "/journal").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) die("journal");
  JournalNote gathered[256];
  for (ssize_t got = 0; (got = ::read(notes, gathered, sizeof gathered)) > 0;) {
    const auto count = static_cast<std::size_t>(got) / sizeof(JournalNote);
    std::size_t records = 0;
    for (std::size_t i = 0; i < count; ++i)
      records += static_cast<std::size_t>(gathered[i].records);
    const std::string bytes(records * kJournalRecordBytes, 'j');
    write_whole(fd, bytes.data(), bytes.size());
    if (::fdatasync(fd) != 0) die("fdatasync");
    for (std::size_t i = 0; i < count; ++i)
      write_whole(answers[static_cast<std::size_t>(gathered[i].node)].write, "", 1);
  }
  ::_exit(0);
}

/// A node: launches while it has free slots, waits for ends.
class Node {
 public:
  Node(const Scene& scene, int index, int jobs, int notes, int answer)
      : scene_(scene),
        index_(index),
        left_(jobs),
        free_(scene.options.slots),
        notes_(notes),
        answer_(answer),
        ends_(make_pipe()) {
    spool_ = ::open(fmt::format("{}/spool.{}", scene.folder, index).c_str(),
                    O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (spool_ < 0) die("spool");
  }

  void run() {
    ::signal(SIGCHLD, SIG_IGN);
    int ended = 0;
    while (left_ > 0 || free_ < scene_.options.slots) {
      const int batch = std::min(left_, free_);
      make_durable(batch + ended);
      launch(batch);
      ended = wait_for_ends();
    }
    make_durable(ended);
  }

 private:
  void make_durable(int records) {
    if (!scene_.rung.has_syncs || records == 0) return;
    const JournalNote note{index_, records};
    write_whole(notes_, &note, sizeof note);
    char answer = 0;
    if (::read(answer_, &answer, 1) != 1) die("journal's answer");
  }
  void launch(int count) {
    if (count == 0) return;
    if (scene_.rung.has_syncs) {
      const std::string records(static_cast<std::size_t>(count) * kSpoolRecordBytes, 's');
      write_whole(spool_, records.data(), records.size());
      if (::fdatasync(spool_) != 0) die("fdatasync");
    }
    for (int i = 0; i < count; ++i) {
      const Job job{index_, next_++};
      const pid_t supervisor = ::fork();
      if (supervisor < 0) die("fork");
      if (supervisor == 0) supervise(scene_, job, ends_.write);
    }
    left_ -= count;
    free_ -= count;
  }
  /// At least one end, and all that are there.
  int wait_for_ends() {
    char codes[256];
    const ssize_t got = ::read(ends_.read, codes, sizeof codes);
    if (got <= 0) die("ends");
    if (std::any_of(codes, codes + got, [](char code) { return code != 0; })) die("a job failed");
    free_ += static_cast<int>(got);
    return static_cast<int>(got);
  }

  const Scene& scene_;
  int index_;
  int left_;
  int free_;
  int next_ = 0;
  int notes_;
  int answer_;
  int spool_ = -1;
  Pipe ends_;
};

/// The size of a file that every job has added `bytes` to says how many there were.
void check_exits(const Scene& scene) {
  std::size_t records = 0;
  for (int node = 0; node < scene.options.nodes; ++node) {
    struct stat status {};
    if (::stat(exit_log(scene, node).c_str(), &status) == 0)
      records += static_cast<std::size_t>(status.st_size) / kSpoolRecordBytes;
    ::unlink(exit_log(scene, node).c_str());
  }
  if (records != static_cast<std::size_t>(scene.options.jobs)) {
    errno = 0;
    die(fmt::format("{} of {} jobs left an exit record", records, scene.options.jobs));
  }
}

/// Jobs a second of one run. Every process of it ends with it.
double run(const Scene& scene) {
  const auto begin = std::chrono::steady_clock::now();
  const Pipe notes = make_pipe();
  std::vector<Pipe> answers;
  for (int node = 0; node < scene.options.nodes; ++node) answers.push_back(make_pipe());
  std::vector<pid_t> children;
  const auto start = [&children](auto body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) die("fork");
    if (child == 0) {
      ::alarm(kRunSeconds);
      body();
      ::_exit(0);
    }
    children.push_back(child);
  };
  start([&] {
    ::close(notes.write);
    run_journal(scene, notes.read, answers);
  });
  for (int node = 0; node < scene.options.nodes; ++node) {
    const int share = scene.options.jobs / scene.options.nodes +
                      (node < scene.options.jobs % scene.options.nodes ? 1 : 0);
    start([&, node, share] {
      Node(scene, node, share, notes.write, answers[static_cast<std::size_t>(node)].read).run();
    });
  }
  ::close(notes.write);
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) {
      errno = 0;
      die("a process of the run failed");
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ::close(notes.read);
  for (const Pipe& answer : answers) {
    ::close(answer.read);
    ::close(answer.write);
  }
  if (scene.rung.has_files) check_exits(scene);
  return scene.options.jobs / seconds;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int value = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--jobs") == 0) options.jobs = value;
    if (std::strcmp(argv[i], "--nodes") == 0) options.nodes = value;
    if (std::strcmp(argv[i], "--slots") == 0) options.slots = value;
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = value;
  }
  return options;
}

/// The ladder as far as this user may climb: cgroups and namespaces need root here, as they do in
/// Muster.
std::vector<Rung> ladder(bool has_cgroups) {
  const bool is_root = ::geteuid() == 0;
  std::vector<Rung> rungs;
  for (Rung rung : kLadder) {
    const bool is_allowed = (!rung.has_cgroup || has_cgroups) && (!rung.has_namespaces || is_root);
    rung.has_cgroup = rung.has_cgroup && has_cgroups;
    rung.has_namespaces = rung.has_namespaces && is_root;
    if (is_allowed || rung.has_files) rungs.push_back(rung);
  }
  return rungs;
}

void climb(const Options& options, const std::string& folder, const std::string& cgroups) {
  put(folder + "/script", "true\n", O_CREAT, 0700);
  put(folder + "/hosts", "127.0.0.1 localhost\n", O_CREAT, 0644);
  for (const Rung& rung : ladder(!cgroups.empty())) {
    std::vector<double> rates;
    for (int round = 0; round < options.rounds; ++round)
      rates.push_back(run({rung, options, folder, cgroups}));
    std::sort(rates.begin(), rates.end());
    fmt::print("{:<36} {:6.0f} jobs/s  ({:.0f} to {:.0f})\n", rung.name, rates[rates.size() / 2],
               rates.front(), rates.back());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  char folder[] = "/tmp/fork_ceiling.XXXXXX";
  if (::mkdtemp(folder) == nullptr) die("mkdtemp");
  const std::string cgroups = cgroup_root();
  // In a child, so that what was made is taken away whatever happens to the runs.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    climb(parse(argc, argv), folder, cgroups);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!cgroups.empty()) ::rmdir(cgroups.c_str());
  return status == 0 ? 0 : 1;
}
