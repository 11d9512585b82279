// The planner against published schedules, job by job: one pool of processors is one node with so
// many CPUs. Reads ../shared/data beside the source tree; without it the tests say that they are
// skipped.
#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "sched/planner.h"
#include "sched/testing.h"
#include "shared_data.h"

namespace muster::sched {
namespace {

using namespace testing;
using namespace shared_data;

struct TraceJob {
  std::uint32_t id = 0;
  std::int64_t submit = 0;
  std::int64_t run = 0;
  std::uint32_t procs = 0;
  std::int64_t estimate = 0;
};

/// Which of two events at one instant comes first.
enum class TieOrder : std::uint8_t { kSubmitFirst, kEndFirst };

/// A pool of processors: each submission and each termination triggers one pass.
class PoolSimulation {
 public:
  PoolSimulation(std::uint32_t procs, PlanOptions options, TieOrder tie_order)
      : snapshot_(make_snapshot(make_cluster(equal_nodes(1, procs)))),
        options_(options),
        tie_order_(tie_order) {}

  /// Start times by job id. Jobs in order of submission.
  const std::map<std::uint32_t, std::int64_t>& run(const std::vector<TraceJob>& jobs) {
    for (const TraceJob& job : jobs) {
      jobs_[job.id] = job;
      events_.push({job.submit, tie_order_ == TieOrder::kSubmitFirst ? 0 : 1, job.id, true});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      event.is_submit ? submit(jobs_.at(event.job)) : end(event.job);
      pass(event.time);
    }
    return starts_;
  }

 private:
  struct Event {
    std::int64_t time;
    int tie;
    std::uint32_t job;
    bool is_submit;
    friend bool operator<(const Event& a, const Event& b) {
      return std::tuple(b.time, b.tie, b.job) < std::tuple(a.time, a.tie, a.job);
    }
  };
  void submit(const TraceJob& trace) {
    PendingJob job = make_job(trace.id, tasks(1, trace.procs), trace.estimate);
    job.submit_time = at(trace.submit);
    snapshot_.add_pending(std::move(job));
  }
  void end(std::uint32_t job) {
    if (snapshot_.find_running(JobId(job)) != nullptr) snapshot_.end_job(JobId(job));
  }
  void pass(std::int64_t now) {
    snapshot_.advance_time(at(now));
    const Plan made = planner_.plan(snapshot_, at(now), options_);
    if (made.starts.empty()) return;
    while (options_.is_overdue_free && !snapshot_.ends().empty() &&
           snapshot_.ends().front().end <= at(now)) {
      snapshot_.end_job(snapshot_.ends().front().job);
    }
    apply(snapshot_, made);
    for (const Start& start : made.starts) {
      const TraceJob& job = jobs_.at(start.job.value());
      starts_[job.id] = now;
      events_.push({now + job.run, tie_order_ == TieOrder::kSubmitFirst ? 1 : 0, job.id, false});
    }
  }

  ClusterSnapshot snapshot_;
  Planner planner_;
  PlanOptions options_;
  TieOrder tie_order_;
  std::map<std::uint32_t, TraceJob> jobs_;
  std::priority_queue<Event> events_;
  std::map<std::uint32_t, std::int64_t> starts_;
};

struct OracleJob {
  TraceJob job;
  std::int64_t waits[3] = {};
};

std::vector<OracleJob> read_kth() {
  std::vector<OracleJob> result;
  for (const std::string& line : read_lines(data_path("swf_oracle/KTH-SP2_easy_oracle.csv.gz"))) {
    const std::vector<std::string> f = split(line);
    if (f.size() != 8 || f[0] == "id") continue;
    OracleJob row;
    row.job = {static_cast<std::uint32_t>(std::stoul(f[0])), std::stoll(f[1]), std::stoll(f[2]),
               static_cast<std::uint32_t>(std::stoul(f[3])), std::stoll(f[4])};
    for (std::size_t i = 0; i < 3; ++i) row.waits[i] = std::stoll(f[5 + i]);
    result.push_back(row);
  }
  return result;
}

/// How many of the jobs wait exactly as long as the published column says.
void expect_kth(std::size_t column, bool is_clairvoyant, TailOrder tail_order) {
  const std::vector<OracleJob> rows = read_kth();
  if (rows.empty()) GTEST_SKIP() << "no ../shared/data";
  std::vector<TraceJob> jobs;
  for (const OracleJob& row : rows) {
    jobs.push_back(row.job);
    if (is_clairvoyant) jobs.back().estimate = row.job.run;
  }
  PlanOptions options;
  options.is_overdue_free = true;
  options.tail_order = tail_order;
  PoolSimulation simulation(100, options, TieOrder::kSubmitFirst);
  const auto& starts = simulation.run(jobs);
  std::size_t equal = 0;
  for (const OracleJob& row : rows) {
    if (starts.at(row.job.id) - row.job.submit == row.waits[column]) ++equal;
  }
  ::testing::Test::RecordProperty("equal_waits", static_cast<int>(equal));
  std::printf("%zu of %zu waits are equal\n", equal, rows.size());
  EXPECT_EQ(equal, rows.size());
}

TEST(KthOracle, Easy) { expect_kth(0, false, TailOrder::kRank); }
TEST(KthOracle, EasyClairvoyant) { expect_kth(1, true, TailOrder::kRank); }
TEST(KthOracle, EasySjbfClairvoyant) { expect_kth(2, true, TailOrder::kTimeLimit); }

struct Case {
  std::vector<TraceJob> jobs;
  std::map<std::uint32_t, std::int64_t> finishes;
};

std::map<std::string, Case> read_cases() {
  std::map<std::string, Case> cases;
  std::uint32_t id = 1;
  for (const std::string& line : read_lines(data_path("pyss/cases.csv"))) {
    const std::vector<std::string> f = split(line);
    if (f.size() < 7 || f[0] == "case") continue;
    Case& one = cases[f[0]];
    one.jobs.push_back({id, std::stoll(f[1]), std::stoll(f[6]),
                        static_cast<std::uint32_t>(std::stoul(f[5])), std::stoll(f[4])});
    one.finishes[id++] = std::stoll(f[3]);
  }
  return cases;
}

/// Runs every case of the families and compares each job's end.
void expect_cases(const std::vector<std::string>& families, const PlanOptions& options) {
  const std::map<std::string, Case> cases = read_cases();
  if (cases.empty()) GTEST_SKIP() << "no ../shared/data";
  std::size_t count = 0;
  for (const auto& [name, one] : cases) {
    if (std::ranges::find(families, name.substr(0, name.find('.'))) == families.end()) continue;
    PoolSimulation simulation(100, options, TieOrder::kEndFirst);
    const auto& starts = simulation.run(one.jobs);
    for (const TraceJob& job : one.jobs) {
      ++count;
      EXPECT_EQ(starts.at(job.id) + job.run, one.finishes.at(job.id)) << name << " job " << job.id;
    }
  }
  std::printf("%zu jobs compared\n", count);
}

TEST(PyssCases, FirstComeFirstServed) {
  PlanOptions options;
  options.is_backfill = false;
  expect_cases({"basic_input", "fcfs_input"}, options);
}
TEST(PyssCases, Easy) { expect_cases({"basic_input", "bf_input", "easy_bf_input"}, {}); }
TEST(PyssCases, Conservative) {
  expect_cases({"basic_input", "bf_input"}, PlanOptions::conservative());
}

}  // namespace
}  // namespace muster::sched
