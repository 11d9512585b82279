#include "env/posix/crash_record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace muster {
namespace {

class CrashRecordTest : public ::testing::Test {
 protected:
  CrashRecordTest() {
    std::string folder = "/tmp/crash-note-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    path_ = folder + "/note";
  }
  ~CrashRecordTest() override {
    ::unlink(path_.c_str());
    ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
  /// A run of the process that does this. Returns how it ended.
  int run(const std::function<void(CrashRecord&)>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto record = CrashRecord::open(path_);
      if (!record.has_value()) ::_exit(99);
      (*record)->watch_this_thread();
      work(**record);
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  /// What the next run finds.
  std::pair<JobId, std::uint32_t> found() {
    const auto record = CrashRecord::open(path_);
    EXPECT_TRUE(record.has_value());
    return {(*record)->last_job(), (*record)->deaths()};
  }

  std::string path_;
};

void die_of(CrashRecord& record, JobId job) {
  record.works_on(job);
  std::abort();
}

TEST_F(CrashRecordTest, TwoDeathsInARowOfOneJobAreCounted) {
  EXPECT_EQ(run([](CrashRecord& record) { die_of(record, JobId(7)); }), SIGABRT);
  EXPECT_EQ(run([](CrashRecord& record) {
              if (record.last_job() != JobId(7) || record.deaths() != 1) ::_exit(1);
              die_of(record, JobId(7));
            }),
            SIGABRT);
  EXPECT_EQ(found(), std::pair(JobId(7), 2U));
}

TEST_F(CrashRecordTest, ARunThatDidWellBeginsTheCountAnew) {
  run([](CrashRecord& record) { die_of(record, JobId(7)); });
  run([](CrashRecord& record) { die_of(record, JobId(7)); });
  const auto record = CrashRecord::open(path_, Duration());
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ((*record)->deaths(), 1U) << "any run has gone on for longer than no time";
}

TEST_F(CrashRecordTest, AnotherJobBeginsTheCountAnew) {
  run([](CrashRecord& record) { die_of(record, JobId(7)); });
  run([](CrashRecord& record) { die_of(record, JobId(8)); });
  EXPECT_EQ(found(), std::pair(JobId(8), 1U));
}

TEST_F(CrashRecordTest, ASegmentationFaultIsADeathToo) {
  EXPECT_EQ(run([](CrashRecord& record) {
              record.works_on(JobId(7));
              ::raise(SIGSEGV);
            }),
            SIGSEGV);
  EXPECT_EQ(found().first, JobId(7));
}

TEST_F(CrashRecordTest, WhatDoesNotEndOfAJobIsNobodysFault) {
  run([](CrashRecord& record) { record.works_on(JobId(7)); });
  EXPECT_EQ(found().first, JobId());
  EXPECT_EQ(run([](CrashRecord& record) {
              record.works_on(JobId(7));
              ::raise(SIGKILL);  // from outside
            }),
            SIGKILL);
  EXPECT_EQ(found().first, JobId());
  EXPECT_EQ(run([](CrashRecord& record) {
              record.works_on(JobId(7));
              std::thread([] { std::abort(); }).join();
            }),
            SIGABRT);
  EXPECT_EQ(found().first, JobId());
}

TEST_F(CrashRecordTest, EachWatchedThreadHasItsOwnJob) {
  EXPECT_EQ(run([](CrashRecord& record) {
              record.works_on(JobId(7));
              std::thread([&] {
                record.watch_this_thread();
                record.work_of_this_thread() = JobId(8);
                std::abort();
              }).join();
            }),
            SIGABRT);
  EXPECT_EQ(found().first, JobId(8));
}

}  // namespace
}  // namespace muster
