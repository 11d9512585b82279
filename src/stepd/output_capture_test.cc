#include "stepd/output_capture.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "codec/spool_path.h"

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
  std::string kept() const {
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
  EXPECT_EQ(kept(), std::string("first\nse") + kTenMissing + "third\nfourth\n");
}

TEST_F(OutputCaptureTest, TellsOfALossAtTheEndAtTheLatest) {
  {
    FullDisk disk(0);
    capture->add(0, LogStream::kStdout, "ten bytes\n");
  }
  EXPECT_EQ(kept(), "");
  capture->finish();
  EXPECT_EQ(kept(), kTenMissing);
}

}  // namespace
}  // namespace muster
