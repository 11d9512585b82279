#include "env/posix/crash_note.h"

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

class CrashNoteTest : public ::testing::Test {
 protected:
  CrashNoteTest() {
    std::string folder = "/tmp/crash-note-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    path_ = folder + "/note";
  }
  ~CrashNoteTest() override {
    ::unlink(path_.c_str());
    ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
  /// A run of the process that does this. Returns how it ended.
  int run(const std::function<void(CrashNote&)>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto note = CrashNote::open(path_);
      if (!note.has_value()) ::_exit(99);
      (*note)->watch_this_thread();
      work(**note);
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  /// What the next run finds.
  std::pair<JobId, std::uint32_t> found() {
    const auto note = CrashNote::open(path_);
    EXPECT_TRUE(note.has_value());
    return {(*note)->last_job(), (*note)->deaths()};
  }

  std::string path_;
};

void die_of(CrashNote& note, JobId job) {
  note.works_on(job);
  std::abort();
}

TEST_F(CrashNoteTest, TwoDeathsInARowOfOneJobAreCounted) {
  EXPECT_EQ(run([](CrashNote& note) { die_of(note, JobId(7)); }), SIGABRT);
  EXPECT_EQ(run([](CrashNote& note) {
              if (note.last_job() != JobId(7) || note.deaths() != 1) ::_exit(1);
              die_of(note, JobId(7));
            }),
            SIGABRT);
  EXPECT_EQ(found(), std::pair(JobId(7), 2U));
}

TEST_F(CrashNoteTest, ARunThatDidWellBeginsTheCountAnew) {
  run([](CrashNote& note) { die_of(note, JobId(7)); });
  run([](CrashNote& note) { die_of(note, JobId(7)); });
  const auto note = CrashNote::open(path_, Duration());
  ASSERT_TRUE(note.has_value());
  EXPECT_EQ((*note)->deaths(), 1U) << "any run has gone on for longer than no time";
}

TEST_F(CrashNoteTest, AnotherJobBeginsTheCountAnew) {
  run([](CrashNote& note) { die_of(note, JobId(7)); });
  run([](CrashNote& note) { die_of(note, JobId(8)); });
  EXPECT_EQ(found(), std::pair(JobId(8), 1U));
}

TEST_F(CrashNoteTest, ASegmentationFaultIsADeathToo) {
  EXPECT_EQ(run([](CrashNote& note) {
              note.works_on(JobId(7));
              ::raise(SIGSEGV);
            }),
            SIGSEGV);
  EXPECT_EQ(found().first, JobId(7));
}

TEST_F(CrashNoteTest, WhatDoesNotEndOfAJobIsNobodysFault) {
  run([](CrashNote& note) { note.works_on(JobId(7)); });
  EXPECT_EQ(found().first, JobId());
  EXPECT_EQ(run([](CrashNote& note) {
              note.works_on(JobId(7));
              ::raise(SIGKILL);  // from outside
            }),
            SIGKILL);
  EXPECT_EQ(found().first, JobId());
  EXPECT_EQ(run([](CrashNote& note) {
              note.works_on(JobId(7));
              std::thread([] { std::abort(); }).join();
            }),
            SIGABRT);
  EXPECT_EQ(found().first, JobId());
}

TEST_F(CrashNoteTest, EachWatchedThreadHasItsOwnJob) {
  EXPECT_EQ(run([](CrashNote& note) {
              note.works_on(JobId(7));
              std::thread([&] {
                note.watch_this_thread();
                note.work_of_this_thread() = JobId(8);
                std::abort();
              }).join();
            }),
            SIGABRT);
  EXPECT_EQ(found().first, JobId(8));
}

}  // namespace
}  // namespace muster
