// What is found in the output of trials: by policies and as reports, whatever the pieces and
// whatever was read before.
#include "platform/logs/log_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>

#include "platform/logs/testing.h"
#include "store/logs/sqlite_logs.h"

namespace muster {
namespace {

using testing::batch_of;
using testing::piece_of;
using testing::watched_trial;

constexpr const char* kPolicies =
    R"("log_policies": [{"name": "oom", "pattern": "CUDA out of memory", "action": "cancel_retries"},
       {"name": "bad-node", "pattern": ".*NCCL.*(error|timeout)$", "action": "exclude_node"}, {"name": "ECC Error"}], )";

struct LogWatchTest : ::testing::Test {
  LogWatchTest() {
    char name[] = "/tmp/muster-log-watch.XXXXXX";
    folder = ::mkdtemp(name);
    store = open_sqlite_logs({.path = folder / "logs.db"}).value();
    watch = std::make_unique<LogWatch>(*store, book);
  }
  ~LogWatchTest() override { std::filesystem::remove_all(folder); }
  /// What was found, one word for each: "policy RUN ACTION: LINE" or "GROUP STEP NAME=VALUE...".
  std::vector<std::string> read(const LogFragment& fragment) {
    std::vector<std::string> words;
    const std::vector<LogFinding> findings = watch->read(NodeIndex(2), fragment).value();
    for (const LogFinding& finding : findings) {
      if (const auto* note = get_if<RecordLogMatch>(&finding)) {
        EXPECT_EQ(note->node, NodeIndex(2));
        EXPECT_EQ(note->trial, TrialId(1));
        words.push_back(note->match.policy + " " + std::to_string(note->match.run) + " " +
                        std::to_string(static_cast<int>(note->match.action)) + ": " +
                        note->match.line);
        continue;
      }
      const auto& report = std::get<MetricReport>(finding);
      EXPECT_EQ(report.report_time, testing::at(1));
      words.push_back(report.group + " " + std::to_string(report.steps_completed));
      for (const Metric& metric : report.metrics)
        words.back() += " " + metric.name + "=" + std::to_string(std::get<double>(metric.value));
    }
    return words;
  }
  std::vector<std::string> read(const std::string& bytes, std::uint64_t offset) {
    return read(piece_of(bytes, offset));
  }
  using Words = std::vector<std::string>;

  std::filesystem::path folder;
  std::unique_ptr<LogStore> store;
  LogBook book;
  std::unique_ptr<LogWatch> watch;
};

// ---- policies ----

TEST_F(LogWatchTest, TheFirstLineOfARunMatches) {
  book.apply(watched_trial(kPolicies));
  EXPECT_EQ(
      read("all well\nRuntimeError: CUDA out of memory. Tried\nCUDA out of memory again\nNCCL went "
           "an error\n",
           0),
      (Words{"oom 1 1: RuntimeError: CUDA out of memory. Tried", "bad-node 1 2: NCCL went an error",
             "CUDA OOM 1 0: RuntimeError: CUDA out of memory. Tried"}))
      << "one of the defaults is among them";
  EXPECT_EQ(read("CUDA out of memory\nNCCL error\n", 93), Words{});
  LogFragment later = piece_of("CUDA out of memory\n");
  later.run = 2;
  EXPECT_EQ(read(later),
            (Words{"oom 2 1: CUDA out of memory", "CUDA OOM 2 0: CUDA out of memory"}));
}

TEST_F(LogWatchTest, AnyRankAndStreamMatches) {
  book.apply(watched_trial(kPolicies));
  LogFragment piece = piece_of("NCCL timeout\nNCCL timeout!\n");
  piece.rank = 63;
  piece.stream = LogStream::kStderr;
  EXPECT_EQ(read(piece).size(), 1U);
}

TEST_F(LogWatchTest, DefaultsMatchUntilANameAloneTurnsThemOff) {
  book.apply(watched_trial());
  EXPECT_EQ(read("uncorrectable ECC error encountered\nCUDA out of memory\n", 0),
            (Words{"CUDA OOM 1 0: CUDA out of memory",
                   "ECC Error 1 0: uncorrectable ECC error encountered"}));
  const std::string missing =
      "StorageError: cannot list objects in s3://b: An error occurred (NoSuchBucket) when calling "
      "the ListObjectsV2 operation";
  EXPECT_EQ(
      read(missing + "\nAn error occurred (SlowDown) when calling the PutObject operation\n", 55),
      (Words{"Storage misconfigured 1 1: " + missing}));
  LogBook other;
  other.apply(watched_trial(kPolicies));
  std::vector<std::string> names;
  for (const auto& one : other.rules_of(TrialId(1))->policies) names.push_back(one.policy.name);
  EXPECT_EQ(names, (Words{"oom", "bad-node", "CUDA OOM", "Storage misconfigured"}));
}

TEST_F(LogWatchTest, ThePrintedConfigurationIsNoMatch) {
  book.apply(watched_trial(kPolicies));
  EXPECT_EQ(read("config: {'log_policies': [{'pattern': 'CUDA out of "
                 "memory'}]}\n{\"log_policies\": [{\"pattern\": \"CUDA out of memory\"}]}\n"
                 "\\\"log_policies\\\": CUDA out of memory\n",
                 0),
            Words{});
  EXPECT_EQ(read("log_policies say nothing of CUDA out of memory\n", 161).size(), 2U);
}

TEST_F(LogWatchTest, APolicyWithoutANameIsItsPattern) {
  book.apply(
      watched_trial(R"("log_policies": [{"pattern": "^bad.*", "action": "cancel_retries"}], )"));
  EXPECT_EQ(read("not bad\nbad luck\n", 0), (Words{"^bad.* 1 1: bad luck"}));
}

TEST_F(LogWatchTest, ALongLineIsCutWhereItIsKept) {
  book.apply(watched_trial(kPolicies));
  const std::string line =
      "CUDA out of memory" + std::string(237, 'x') + "\xc3\xa9\xc3\xa9\xff tail";
  EXPECT_EQ(read(line + "\n", 0).at(0),
            "oom 1 1: CUDA out of memory" + std::string(237, 'x') + "...");
}

TEST_F(LogWatchTest, WhatIsInTheStateIsNotFoundAgain) {
  testing::Log log;
  testing::add_everything(log);
  book.load(log.state());
  const TrialId first(1);
  EXPECT_TRUE(book.is_matched(first, 1, "oom"));
  EXPECT_FALSE(book.is_matched(first, 2, "oom"));
  EXPECT_FALSE(book.is_matched(TrialId(2), 1, "oom"));
  EXPECT_FALSE(book.is_matched(TrialId(99), 1, "oom"));
  EXPECT_FALSE(book.has_session(first, 1)) << "run 1 is over";
}

// ---- reports ----

TEST_F(LogWatchTest, LinesOfRankZeroAreReports) {
  book.apply(watched_trial());
  EXPECT_EQ(read("hello\nstep=1 loss=0.5\nthe step=2 failed\n{\"step\": 2, \"val_loss\": 0.25, "
                 "\"acc\": NaN}\nsteps=3\nstep=3 loss=inf\n",
                 0),
            (Words{"training 1 loss=0.500000", "validation 2 val_loss=0.250000 acc=nan",
                   "training 3 loss=inf"}));
  LogFragment other = piece_of("step=9 loss=1\n");
  other.rank = 1;
  EXPECT_EQ(read(other), Words{});
  other.rank = 0;
  other.stream = LogStream::kStderr;
  EXPECT_EQ(read(other), Words{});
  other.stream = LogStream::kStdout;
  other.owner.id = 2;
  EXPECT_EQ(read(other), Words{}) << "nobody knows such a trial";
}

TEST_F(LogWatchTest, ARunThatReportsByItselfIsNotRead) {
  book.apply(watched_trial());
  book.apply(batch_of(RunSignalled{JobId(1), RunSignal::kSession}));
  EXPECT_EQ(read("step=1 loss=0.5\n", 0), Words{});
  book.apply(batch_of(JobRequeued{JobId(1), testing::at(2), 0}));
  LogFragment next = piece_of("step=1 loss=0.5\n");
  next.run = 2;
  EXPECT_EQ(read(next).size(), 1U);
  EXPECT_TRUE(concerns_logs(batch_of(RunSignalled{JobId(1), RunSignal::kSession})));
  EXPECT_FALSE(concerns_logs(batch_of(JobSuspended{JobId(1)})));
}

TEST_F(LogWatchTest, ReadingReportsCanBeTurnedOff) {
  book.apply(watched_trial(
      R"("environment": {"environment_variables": ["A=1", "MUSTER_OUTPUT_METRICS=1", "MUSTER_OUTPUT_METRICS=0"]}, )"));
  EXPECT_EQ(read("step=1 loss=0.5\nCUDA out of memory\n", 0).size(), 1U);
}

// ---- pieces ----

TEST_F(LogWatchTest, HowTheBytesArriveMakesNoDifference) {
  book.apply(watched_trial());
  const std::string text = "a\r\nstep=1 loss=1\rstep=2 loss=2\r\n\nstep=3 loss=3\nstep=4 loss=4";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    watch->forget_all();
    Words all;
    for (std::size_t at = 0; at < text.size(); at += size) {
      LogFragment piece = piece_of(text.substr(at, size), at);
      piece.is_end = at + size >= text.size();
      for (std::string& word : read(piece)) all.push_back(std::move(word));
    }
    EXPECT_EQ(all, (Words{"training 1 loss=1.000000", "training 2 loss=2.000000",
                          "training 3 loss=3.000000", "training 4 loss=4.000000"}))
        << size;
  }
}

TEST_F(LogWatchTest, WhatWasReadSaysNothingAgain) {
  book.apply(watched_trial());
  EXPECT_EQ(read("step=1 loss=1\nstep=2 l", 0).size(), 1U);
  EXPECT_EQ(read("step=1 loss=1\nstep=2 l", 0), Words{});
  EXPECT_EQ(read("", 0), Words{});  // how much is stored, is asked
  EXPECT_EQ(read("ep=2 loss=2\n", 16), (Words{"training 2 loss=2.000000"}));
  LogFragment end = piece_of("", 28);
  end.is_end = true;
  EXPECT_EQ(read(end), Words{});
}

TEST_F(LogWatchTest, WhatIsMissingEndsTheLineBeforeIt) {
  book.apply(watched_trial());
  EXPECT_EQ(read("step=1 loss=1", 0), Words{});
  EXPECT_EQ(read("23\nstep=2 loss=2\n", 100),
            (Words{"training 1 loss=1.000000", "training 2 loss=2.000000"}));
}

TEST_F(LogWatchTest, ALineWithoutAnEndTakesNoMoreThanItsBound) {
  book.apply(watched_trial());
  const std::string part(10'000, 'x');
  EXPECT_EQ(read(part, 0), Words{});
  EXPECT_EQ(read(part + "CUDA out of memory", 10'000).size(), 1U);
  EXPECT_EQ(read(part, 20'018), Words{});
}

TEST_F(LogWatchTest, AfterAStartItGoesOnWhereTheStoreIs) {
  book.apply(watched_trial());
  const std::string first = "step=1 loss=1\nstep=2 lo";
  ASSERT_TRUE(store->append({piece_of(first)}).has_value());
  LogWatch fresh(*store, book);
  EXPECT_EQ(fresh.read(NodeIndex(0), piece_of(first)).value().size(), 0U);
  const auto found = fresh.read(NodeIndex(0), piece_of("ss=2\n", first.size())).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(std::get<MetricReport>(found[0]).steps_completed, 2);
}

}  // namespace
}  // namespace muster
