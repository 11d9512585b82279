// The supervisor's program with real tasks, driven as an agent drives it: launches go to its
// standard input, ends come from the exit log. As root, whose tasks are another user's, and as an
// ordinary user.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "env/posix/process_runner.h"
#include "model/agent_message.h"
#include "records/log_record.h"
#include "records/page_codec.h"
#include "slurm/spool_path.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kOrdinaryUser = 65534;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TimePoint now() {
  return TimePoint::from_microseconds(std::chrono::duration_cast<std::chrono::microseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

/// A node's spool and its spawner. `uid`: the spawner's.
class Node {
 public:
  Node(std::uint32_t uid, const std::string& wrapper) : uid_(uid) {
    char name[] = "/tmp/muster-stepd-test.XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directories(folder_ / "spool");
    fs::create_directories(folder_ / "work");
    // A copy, because the folder that it was built in, this program's, may be closed to others.
    fs::copy_file(fs::read_symlink("/proc/self/exe").parent_path() / "muster-stepd",
                  folder_ / "muster-stepd");
    std::ofstream(folder_ / "hosts") << "127.0.0.1 localhost n1\n";
    for (const auto& path : {folder_, folder_ / "spool"}) own(path, uid);
    fs::permissions(folder_ / "work", fs::perms(0777));
    start(wrapper);
  }
  ~Node() {
    ::close(fd_);
    EXPECT_TRUE(is_spool_clean());
    fs::remove_all(folder_);
  }

  const fs::path& folder() const { return folder_; }
  fs::path work() const { return folder_ / "work"; }

  /// Runs a script as the ordinary user; what it prints is in work()/NAME.
  LaunchStep script(std::uint32_t job, const std::string& text) {
    auto spec = std::make_shared<JobSpec>();
    spec->kind = JobKind::kBatch;
    const bool is_other = ::geteuid() == 0;
    spec->user = UserId(is_other ? kOrdinaryUser : ::geteuid());
    spec->group = GroupId(is_other ? kOrdinaryUser : ::getegid());
    spec->text.set(JobText::kWorkDir, work().string());
    spec->text.set(JobText::kStdOut, (work() / std::to_string(job)).string());
    LaunchStep launch;
    launch.id = StepId{JobId(job), 0, kBatchStep};
    launch.job = spec;
    launch.script = std::make_shared<const std::string>("#!/bin/sh\n" + text);
    launch.environment = std::make_shared<const std::string>();
    launch.node_name = "n1";
    launch.job_cpus = launch.job_tasks = launch.step_tasks = {1};
    launch.end_time = TimePoint::never();
    launch.kill_wait = Duration::seconds(1);
    return launch;
  }

  void launch(const LaunchStep& step) {
    std::string bytes = (folder_ / "spool" / "exits").string();
    bytes.push_back('\0');
    bytes += std::to_string(now().microseconds());
    bytes.push_back('\0');
    bytes += records::encode_message(ToAgent(step));
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::string message(reinterpret_cast<const char*>(&size), sizeof size);
    message += bytes;
    ASSERT_EQ(::send(fd_, message.data(), message.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(message.size()));
  }

  StepDone wait(std::uint32_t job) {
    for (int i = 0; i < 600; ++i) {
      const std::vector<StepDone> ends = ends_of(job);
      if (!ends.empty()) return ends.back();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << "job " << job << " did not end";
    return {};
  }

  /// All that the exit log has of it.
  std::vector<StepDone> ends_of(std::uint32_t job) const {
    std::vector<StepDone> ends;
    records::each_log_record(text_of(folder_ / "spool" / "exits"), [&](std::string_view record) {
      const auto message = records::decode_from_agent(record);
      if (!message.has_value()) return;
      const auto* done = get_if<StepDone>(&*message);
      if (done != nullptr && done->id.job == JobId(job)) ends.push_back(*done);
    });
    return ends;
  }

  StepDone run(const LaunchStep& step) {
    launch(step);
    return wait(step.id.job.value());
  }
  std::string printed(std::uint32_t job) const { return text_of(work() / std::to_string(job)); }
  /// The supervisor leaves a little after it has told the end.
  bool is_spool_clean() const {
    for (int i = 0; i < 100; ++i) {
      bool is_clean = true;
      for (const auto& entry : fs::directory_iterator(folder_ / "spool")) {
        is_clean = is_clean && !entry.path().filename().string().starts_with("view");
      }
      if (is_clean) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  /// As root alone.
  static void own(const fs::path& path, std::uint32_t uid) {
    fs::permissions(path, fs::perms(0755));
    if (::geteuid() != 0) return;
    ASSERT_EQ(::chown(path.c_str(), uid, uid), 0);
  }

 private:
  void start(const std::string& wrapper) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ProcessSpec spec;
    spec.arguments = {"/bin/sh",
                      "-c",
                      (wrapper.empty() ? "exec" : wrapper) + " \"$@\"",
                      "sh",
                      (folder_ / "muster-stepd").string(),
                      "--spool",
                      (folder_ / "spool").string(),
                      "--conf",
                      "/none",
                      "--cluster",
                      folder_.filename().string(),
                      "--hosts",
                      (folder_ / "hosts").string()};
    spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    spec.user = ProcessUser{uid_, uid_, ""};
    spec.standard_in = fds[1];
    spec.standard_error = STDERR_FILENO;
    const auto pid = start_process(spec);
    ASSERT_TRUE(pid.has_value()) << pid.error().text();
    ::close(fds[1]);
    fd_ = fds[0];
  }

  std::uint32_t uid_;
  fs::path folder_;
  int fd_ = -1;
};

/// By the name of whose supervisor it is.
class StepdTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool is_root = ::geteuid() == 0;
    if (std::string(GetParam()) == "root" && !is_root) GTEST_SKIP() << "needs root";
    node = std::make_unique<Node>(std::string(GetParam()) == "root" ? 0
                                  : is_root                         ? kOrdinaryUser
                                                                    : ::geteuid(),
                                  "");
  }
  std::unique_ptr<Node> node;
};
INSTANTIATE_TEST_SUITE_P(As, StepdTest, ::testing::Values("root", "user"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(StepdTest, EveryStepHasAPrivateFolderOfItsOwn) {
  const char* script =
      "cat /run/determined/info/a.json; ls /run/determined; stat -c '%a %u' "
      "/run/determined/info/a.json\n"
      "echo $SLURM_JOB_ID > /run/determined/mine; sleep 1; cat /run/determined/mine\n";
  for (const std::uint32_t job : {1U, 2U}) {
    LaunchStep launch = node->script(job, script);
    launch.private_folders = {"/run/determined"};
    launch.files = {{"/run/determined/info/a.json", "{\"job\": " + std::to_string(job) + "}\n"}};
    node->launch(launch);
  }
  for (const std::uint32_t job : {1U, 2U}) {
    const StepDone done = node->wait(job);
    EXPECT_EQ(done.error, "");
    const std::string uid = std::to_string(::geteuid() == 0 ? kOrdinaryUser : ::geteuid());
    EXPECT_EQ(node->printed(job), "{\"job\": " + std::to_string(job) + "}\ninfo\n600 " + uid +
                                      "\n" + std::to_string(job) + "\n");
  }
  EXPECT_FALSE(fs::exists("/run/determined/mine"));
}

TEST_P(StepdTest, ABindIsShownWhereTheHostHasNothing) {
  const fs::path source = node->work() / "shared" / "fs";
  LaunchStep launch = node->script(
      1,
      "echo kept > /muster_shared_fs/deep/note && ls / | grep -c . && cat /etc/hosts && hostname\n"
      "echo no > /new 2>&1 || echo refused\ncat /muster_seen/fs/deep/note\n"
      "touch /muster_seen/x 2>/dev/null || echo read-only\n");
  launch.private_folders = {"/muster_shared_fs/deep/private"};
  launch.binds = {{source.string(), "/muster_shared_fs", false},
                  {(node->work() / "shared").string(), "/muster_seen", true}};
  (void)fs::create_directories(source / "deep");
  for (const auto& path : {source.parent_path(), source, source / "deep"}) {
    Node::own(path, kOrdinaryUser);
  }
  const StepDone done = node->run(launch);
  EXPECT_EQ(done.error, "");
  const std::string told = node->printed(1);
  EXPECT_NE(told.find("127.0.0.1 localhost n1\nn1\n"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("refused\nkept\nread-only\n")) << told;
  EXPECT_EQ(text_of(source / "deep" / "note"), "kept\n");
  EXPECT_FALSE(fs::exists("/muster_shared_fs"));
  EXPECT_FALSE(fs::exists("/muster_seen"));
}

TEST_P(StepdTest, TheRestOfTheHostIsAsItWas) {
  const std::string probe =
      "pwd; ls -d /run/*/ | sort; readlink /bin; findmnt -rno TARGET /proc; cat /proc/self/cgroup "
      "| grep -c .\n"
      "test -w /tmp && echo writable; grep -c processor /proc/cpuinfo; ls /proc/self/fd | tr '\\n' "
      "' '; ulimit -n\n";
  LaunchStep plain = node->script(1, probe);
  ASSERT_EQ(node->run(plain).error, "");
  LaunchStep apart = node->script(
      2, probe +
             "echo here > /tmp/$MUSTER_PROBE\ngrep -E '^(NoNewPrivs|CapEff):' /proc/self/status\n");
  const std::string name = node->folder().filename().string() + ".probe";
  apart.environment = std::make_shared<const std::string>(
      "MUSTER_PROBE=" + name + std::string(1, '\0') + "PATH=/usr/bin:/bin" + std::string(1, '\0'));
  apart.private_folders = {"/run/muster_private"};
  ASSERT_EQ(node->run(apart).error, "");
  std::string expected = node->printed(1);
  const std::string runs = "/run/muster_private/\n";
  std::string got = node->printed(2);
  const auto place = got.find(runs);
  ASSERT_NE(place, std::string::npos) << got;
  got.erase(place, runs.size());
  EXPECT_EQ(got, expected + "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
  EXPECT_EQ(text_of("/tmp/" + name), "here\n");
  fs::remove("/tmp/" + name);
}

/// The launch as a trial's.
LaunchStep of_trial(LaunchStep launch) {
  auto job = std::make_shared<JobSpec>(*launch.job);
  job->trial = TrialId(5);
  launch.job = job;
  return launch;
}

TEST_P(StepdTest, WhatATrialWritesIsKeptByRankAndStream) {
  const LaunchStep launch = of_trial(node->script(
      1, "echo out; echo err >&2; echo '[rank=2] two'; printf '[rank=3] three'; printf '[ra'"));
  EXPECT_EQ(node->run(launch).error, "");
  const auto stored = [&](std::uint32_t rank, LogStream stream) {
    return text_of(node->folder() / "spool" / "output" /
                   output_file_text({launch.id, TrialId(5), 0, rank, stream}));
  };
  EXPECT_EQ(stored(0, LogStream::kStdout), "out\n");
  EXPECT_EQ(stored(0, LogStream::kStderr), "err\n");
  EXPECT_EQ(stored(2, LogStream::kStdout), "two\n");
  EXPECT_EQ(stored(3, LogStream::kStdout), "three[ra");
  // The two streams are two pipes: where what comes by the one stands in the file among the other's
  // is chance.
  std::string printed = node->printed(1);
  const auto err = printed.find("err\n");
  ASSERT_NE(err, std::string::npos) << printed;
  EXPECT_EQ(printed.erase(err, 4), "out\n[rank=2] two\n[rank=3] three[ra");
  ASSERT_EQ(node->run(node->script(2, "echo no trial")).error, "");
  EXPECT_EQ(std::distance(fs::directory_iterator(node->folder() / "spool" / "output"),
                          fs::directory_iterator()),
            4);
}

TEST_P(StepdTest, AStreamThatSomebodyElseHoldsOpenDelaysTheEndALittle) {
  node->launch(of_trial(node->script(1, "echo $$; sleep 1\n")));
  for (int i = 0; i < 100 && node->printed(1).empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int held =
      ::open(("/proc/" + std::to_string(std::atoi(node->printed(1).c_str())) + "/fd/1").c_str(),
             O_WRONLY | O_CLOEXEC);
  ASSERT_GE(held, 0) << node->printed(1);
  EXPECT_EQ(node->wait(1).tasks.front(), ExitStatus::exited(0));
  ::close(held);
}

TEST_P(StepdTest, PathsThatCannotBeAreNamed) {
  auto refusal = [&, job = 0U](auto&& change) mutable {
    LaunchStep launch = node->script(++job, "echo ran\n");
    launch.private_folders = {"/run/determined"};
    change(launch);
    const StepDone done = node->run(launch);
    EXPECT_EQ(node->printed(job), "");
    EXPECT_FALSE(done.is_node_fault) << done.error;
    return done.error;
  };
  EXPECT_NE(
      refusal([](LaunchStep& l) { l.private_folders.push_back("run/x"); }).find("path 'run/x'"),
      std::string::npos);
  EXPECT_NE(refusal([](LaunchStep& l) {
              l.private_folders.push_back("/run/../x");
            }).find("path '/run/../x'"),
            std::string::npos);
  EXPECT_NE(refusal([](LaunchStep& l) {
              l.files = {{"/etc/passwd", ""}};
            }).find("/etc/passwd is not below a private folder"),
            std::string::npos);
  EXPECT_NE(refusal([](LaunchStep& l) {
              l.binds = {{"/tmp", "/run/determined", false}};
            }).find("two things"),
            std::string::npos);
  EXPECT_NE(refusal([](LaunchStep& l) {
              l.binds = {{"/proc/none/x", "/mnt", false}};
            }).find("could not make the folder /proc/none/x"),
            std::string::npos);
}

/// Its table of hosts is the node's own: that it is not there is no fault of the job.
TEST_P(StepdTest, ATableOfHostsThatIsGoneIsTheNodesFault) {
  if (std::string(GetParam()) != "root")
    GTEST_SKIP() << "an ordinary user's own agent shows it only where it can";
  fs::remove(node->folder() / "hosts");
  const StepDone done = node->run(node->script(1, "echo ran\n"));
  EXPECT_EQ(node->printed(1).find("ran\n"), std::string::npos) << node->printed(1);
  EXPECT_NE(done.error.find("/etc/hosts"), std::string::npos) << done.error;
  EXPECT_TRUE(done.is_node_fault) << done.error;
}

TEST_P(StepdTest, NobodySeesThroughABindWhatHeMayNotReach) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a folder of another user";
  const fs::path closed = node->folder() / "closed";
  fs::create_directories(closed / "open");
  fs::permissions(closed, fs::perms(0700));
  LaunchStep launch = node->script(1, "ls /mnt\n");
  launch.binds = {{(closed / "open").string(), "/mnt", false}};
  const StepDone done = node->run(launch);
  EXPECT_NE(done.error.find("could not make the folder " + (closed / "open").string()),
            std::string::npos)
      << done.error;
  EXPECT_NE(done.error.find("Permission denied"), std::string::npos) << done.error;
}

TEST_P(StepdTest, APrivateFolderIsBoundedWhereTheNodeCanBoundIt) {
  if (std::string(GetParam()) != "root")
    GTEST_SKIP() << "an ordinary user's own disk is all that it can fill";
  LaunchStep launch = node->script(1,
                                   "stat -f -c '%T %b %S' /run/determined; echo x > "
                                   "/run/determined/mine && cat /run/determined/mine\n");
  launch.private_folders = {"/run/determined"};
  const StepDone done = node->run(launch);
  EXPECT_EQ(done.error, "");
  std::istringstream printed(node->printed(1));
  std::string kind;
  std::uint64_t blocks = 0;
  std::uint64_t size = 0;
  std::string written;
  printed >> kind >> blocks >> size >> written;
  EXPECT_EQ(kind, "tmpfs");
  EXPECT_LE(blocks * size, std::uint64_t{1} << 30);
  EXPECT_EQ(written, "x");
}

TEST_P(StepdTest, AFifoWithoutAPartnerEndsTheStepWithTheReason) {
  for (const bool is_output : {true, false}) {
    const std::uint32_t job = is_output ? 1 : 2;
    const fs::path fifo = node->work() / ("fifo" + std::to_string(job));
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
    fs::permissions(fifo, fs::perms(0666));
    LaunchStep launch = node->script(job, "cat\n");
    auto spec = std::make_shared<JobSpec>(*launch.job);
    spec->text.set(is_output ? JobText::kStdOut : JobText::kStdIn, fifo.string());
    launch.job = spec;
    const StepDone done = node->run(launch);
    EXPECT_NE(done.error.find(is_output ? "nobody reads from" : "nobody writes to"),
              std::string::npos)
        << done.error;
    EXPECT_FALSE(done.is_node_fault);
  }
}

TEST_P(StepdTest, AFifoWithAPartnerIsAFileLikeAnyOther) {
  const fs::path fifo = node->work() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  fs::permissions(fifo, fs::perms(0666));
  const int partner = ::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  LaunchStep writer = node->script(1, "echo hello\n");
  auto spec = std::make_shared<JobSpec>(*writer.job);
  spec->text.set(JobText::kStdOut, fifo.string());
  writer.job = spec;
  EXPECT_EQ(node->run(writer).error, "");
  LaunchStep reader = node->script(2, "read line; echo got $line\n");
  spec = std::make_shared<JobSpec>(*reader.job);
  spec->text.set(JobText::kStdIn, fifo.string());
  reader.job = spec;
  EXPECT_EQ(node->run(reader).error, "");
  EXPECT_EQ(node->printed(2), "got hello\n");
  ::close(partner);
}

/// An agent whose spool has lost the first launch may be told to launch the step again.
TEST_P(StepdTest, ASecondSupervisorOfAStepLeavesTheFirstAlone) {
  const LaunchStep step = node->script(1, "echo begins\nsleep 2\necho ends\n");
  node->launch(step);
  for (int i = 0; i < 200 && node->printed(1).empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  node->launch(step);
  const StepDone done = node->wait(1);
  EXPECT_FALSE(done.is_lost) << done.error;
  EXPECT_EQ(done.tasks, std::vector{ExitStatus::exited(0)});
  EXPECT_EQ(node->printed(1), "begins\nends\n");
  EXPECT_TRUE(node->is_spool_clean());
  EXPECT_EQ(node->ends_of(1).size(), 1U);
}

int unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

/// -1: it failed.
int listening(const std::string& path, mode_t mode) {
  const int listener = unix_socket();
  const sockaddr_un address = unix_address(path);
  const bool is_open =
      ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::chmod(path.c_str(), mode) == 0 && ::listen(listener, 1) == 0;
  return is_open ? listener : -1;
}

/// A step whose output goes to `path`.
LaunchStep dialling(Node& node, const std::string& path) {
  LaunchStep launch = node.script(1, "true\n");
  auto step = std::make_shared<StepSpec>();
  step->text.set(StepText::kCommand, "true");
  step->text.set(StepText::kIoAddress, "unix:" + path);
  launch.step = step;
  launch.id.step = 0;
  return launch;
}

TEST_P(StepdTest, AnAddressWhereNobodyAnswersIsNotWaitedFor) {
  const std::string path = (node->folder() / "full.sock").string();
  const int listener = listening(path, 0666);
  ASSERT_GE(listener, 0);
  const sockaddr_un address = unix_address(path);
  std::vector<int> dialled;
  bool is_full = false;
  while (!is_full && dialled.size() < 100) {
    dialled.push_back(unix_socket());
    is_full =
        ::connect(dialled.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  }
  ASSERT_TRUE(is_full && errno == EAGAIN) << "who dialled now without SOCK_NONBLOCK would wait";
  const StepDone done = node->run(dialling(*node, path));
  EXPECT_NE(done.error.find("cannot reach srun"), std::string::npos) << done.error;
  dialled.push_back(listener);
  for (const int fd : dialled) ::close(fd);
}

TEST_P(StepdTest, AnAddressIsDialledWithTheRightsOfItsUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make another user's socket";
  const std::string path = (node->folder() / "closed.sock").string();
  const int listener = listening(path, 0600);
  ASSERT_GE(listener, 0);
  const StepDone done = node->run(dialling(*node, path));
  EXPECT_NE(done.error.find("cannot reach srun"), std::string::npos) << done.error;
  EXPECT_NE(done.error.find("Permission denied"), std::string::npos) << done.error;
  EXPECT_LT(::accept(listener, nullptr, nullptr), 0);  // nobody came, as root or otherwise
  ::close(listener);
}

TEST(StepdLimits, WhatAClientAsksForStaysBelowTheHardLimitsOfTheNode) {
  Node node(::geteuid(), "ulimit -n 1000 && exec");
  LaunchStep launch = node.script(1, "ulimit -Hn; ulimit -Sn\n");
  auto job = std::make_shared<JobSpec>(*launch.job);
  job->text.set(JobText::kRlimits, "NOFILE=5000,CORE=0");
  launch.job = job;
  EXPECT_EQ(node.run(launch).error, "");
  EXPECT_EQ(node.printed(1), "1000\n1000\n");
}

TEST(StepdWithoutNamespaces, FailsInWords) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to have the limit of a user namespace";
  // In a user namespace of its own the supervisor is root, and may not make another mount
  // namespace.
  Node node(0,
            "exec unshare -r sh -c 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$@\"' sh");
  LaunchStep launch = node.script(1, "echo ran\n");
  auto job = std::make_shared<JobSpec>(*launch.job);
  job->user = UserId(0);
  job->group = GroupId(0);
  launch.job = job;
  launch.private_folders = {"/run/determined"};
  const StepDone done = node.run(launch);
  EXPECT_NE(done.error.find("this host allows no mount namespace"), std::string::npos)
      << done.error;
  EXPECT_FALSE(done.is_node_fault) << "the node is of use to whoever needs no folders of his own";
  EXPECT_EQ(node.printed(1), "");
  LaunchStep plain = node.script(2, "echo ran\n");
  auto of_root = std::make_shared<JobSpec>(*plain.job);
  of_root->user = UserId(0);
  of_root->group = GroupId(0);
  plain.job = of_root;
  EXPECT_EQ(node.run(plain).error, "") << "the names of nodes are not shown where nothing can be";
  EXPECT_EQ(node.printed(2), "ran\n");
}

}  // namespace
}  // namespace muster
