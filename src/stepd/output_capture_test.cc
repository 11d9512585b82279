#include "stepd/output_capture.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "slurm/spool_path.h"

namespace muster {
namespace {

/// While it lives, no file grows beyond `most`: a full disk, but for this process alone.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

struct OutputCaptureTest : ::testing::Test {
  OutputCaptureTest() {
    std::string pattern = ::testing::TempDir() + "muster-capture-XXXXXX";
    options.spool = ::mkdtemp(pattern.data());
    auto job = std::make_shared<JobSpec>();
    job->trial = TrialId(7);
    launch.id = StepId{JobId(1), 0, 0};
    launch.job = job;
    launch.job_cpus = {1};
    capture = OutputCapture::make(launch, options);
  }
  ~OutputCaptureTest() override { std::filesystem::remove_all(options.spool); }
  std::string stored() const {
    const OutputFileName name{launch.id, launch.job->trial,  0,
                              0,         LogStream::kStdout, launch.job->runs_before};
    std::ifstream file(output_folder(options.spool) + "/" + output_file_text(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  StepdOptions options;
  LaunchStep launch;
  std::unique_ptr<OutputCapture> capture;
};

constexpr const char* kTenMissing =
    "\n[muster: 10 bytes of output are missing here: the node's disk did not take them]\n";

TEST_F(OutputCaptureTest, SaysWhereAndHowMuchAFullDiskLost) {
  capture->add(0, LogStream::kStdout, "first\n");
  {
    FullDisk disk(8);
    capture->add(0, LogStream::kStdout, "second\n");  // two of its bytes fit
    capture->add(0, LogStream::kStdout, "lost\n");
  }
  capture->add(0, LogStream::kStdout, "third\n");
  capture->add(0, LogStream::kStdout, "fourth\n");
  EXPECT_EQ(stored(), std::string("first\nse") + kTenMissing + "third\nfourth\n");
}

TEST_F(OutputCaptureTest, TellsOfALossAtTheEndAtTheLatest) {
  {
    FullDisk disk(0);
    capture->add(0, LogStream::kStdout, "ten bytes\n");
  }
  EXPECT_EQ(stored(), "");
  capture->finish();
  EXPECT_EQ(stored(), kTenMissing);
}

/// A disk of its own, mounted for this process.
TEST(OutputCaptureOnAFullDisk, TellsWhatIsMissingThoughItStaysFull) {
  if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0)
    GTEST_SKIP() << "needs root to mount a small disk";
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  std::string disk = ::testing::TempDir() + "muster-disk-XXXXXX";
  ASSERT_NE(::mkdtemp(disk.data()), nullptr);
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k"), 0);
  StepdOptions options;
  options.spool = disk;
  auto job = std::make_shared<JobSpec>();
  job->trial = TrialId(7);
  LaunchStep launch;
  launch.id = StepId{JobId(1), 0, 0};
  launch.job = job;
  launch.job_cpus = {1};
  constexpr std::size_t kWritten = 200'000;
  auto capture = OutputCapture::make(launch, options);
  for (std::size_t i = 0; i < kWritten / 100; ++i)
    capture->add(0, LogStream::kStdout, std::string(99, 'x') + "\n");
  capture->finish();
  const OutputFileName name{launch.id, launch.job->trial,  0,
                            0,         LogStream::kStdout, launch.job->runs_before};
  std::ifstream file(output_folder(disk) + "/" + output_file_text(name));
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  const std::size_t told = kept.find("\n[muster: ");
  ASSERT_NE(told, std::string::npos) << kept.size();
  EXPECT_EQ(kept.substr(told + 10),
            std::to_string(kWritten - told) +
                " bytes of output are missing here: the node's disk did not take them]\n");
  capture.reset();
  ::umount(disk.c_str());
  ::rmdir(disk.c_str());
}

}  // namespace
}  // namespace muster
