#include "cli/slurm/squeue_columns.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/lib/testing.h"
#include "records/page_codec.h"

namespace muster::cli {
namespace {

using namespace testing;

std::string table(std::string_view format, const JobView& job) {
  const auto parsed = parse_short_format(format);
  EXPECT_TRUE(parsed.has_value());
  const auto layout = layout_of(*parsed, job_columns(), "job");
  EXPECT_TRUE(layout.unknown.empty()) << format;
  return header_line(layout) + row_line(layout, job, test_context());
}

std::string queue_cell(std::string_view name, const JobView& job) {
  const auto layout =
      layout_of(parse_long_format(std::string(name) + ":").value(), job_columns(), "job");
  EXPECT_TRUE(layout.unknown.empty()) << name;
  return layout.columns.empty() ? "" : layout.columns.front().first->show(job, test_context());
}

TEST(SqueueColumns, DefaultIsByteExact) {
  EXPECT_EQ(table(kSqueueFormat, pending_job()),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
            "                12       gpu    train      ada PD       0:00      2 (Resources)\n");
  EXPECT_EQ(table(kSqueueFormat, running_job()),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
            "                12       gpu    train      ada  R       1:05      2 n[1-2]\n");
}

TEST(SqueueColumns, LongAndStart) {
  EXPECT_EQ(table(kSqueueLongFormat, running_job()),
            "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES "
            "NODELIST(REASON)\n"
            "                12       gpu    train      ada  RUNNING       1:05 1-00:00:00      2 "
            "n[1-2]\n");
  EXPECT_EQ(table(kSqueueStartFormat, pending_job()),
            "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES "
            "SCHEDNODES           NODELIST(REASON)\n"
            "                12       gpu    train      ada PD                 N/A      2 (null)   "
            "            (Resources)\n");
}

TEST(SqueueColumns, AllOfThem) {
  const ColumnFormat format = all_columns(job_columns());
  EXPECT_EQ(format.columns.size(), 52U);
  const auto layout = layout_of(format, job_columns(), "job");
  EXPECT_TRUE(
      header_line(layout).starts_with("ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|"));
  EXPECT_TRUE(header_line(layout).ends_with("|SCHEDNODES|WORK_DIR\n"));
}

TEST(SqueueColumns, TimesOfAPendingJob) {
  JobView job = pending_job();
  EXPECT_EQ(queue_cell("EndTime", job), "N/A");
  job.reasons.expected_start = job.submit_time;
  EXPECT_EQ(queue_cell("StartTime", job), queue_cell("SubmitTime", job));
  EXPECT_EQ(queue_cell("EndTime", job), "2026-08-22T15:00:00");
  EXPECT_NE(queue_cell("EligibleTime", job), "N/A");
  job.flags |= job_flag::kUserHeld;
  EXPECT_EQ(queue_cell("EligibleTime", job), "N/A");
}

TEST(SqueueColumns, ArrayIds) {
  EXPECT_EQ(queue_cell("JobArrayID", array_job()), "12_[3-15%4]");
  EXPECT_EQ(queue_cell("ArrayTaskID", array_job()), "3-15%4");
  JobView element = array_job();
  element.id = JobId(15);
  element.array_index = 2;
  EXPECT_EQ(queue_cell("JobArrayID", element), "12_2");
  EXPECT_EQ(queue_cell("JobID", element), "15");
  EXPECT_EQ(queue_cell("ArrayJobID", element), "12");
  EXPECT_EQ(queue_cell("ArrayTaskID", running_job()), "N/A");
}

TEST(SqueueColumns, SingleFields) {
  const JobView job = running_job();
  const struct {
    const char* name;
    const char* text;
  } cases[] = {
      {"Account", "(null)"},
      {"tres-per-node", "gres/gpu:h100:2"},
      {"BatchHost", "n1"},
      {"MinMemory", "4G"},
      {"NumCPUs", "8"},
      {"TimeLeft", "23:58:55"},
      {"SubmitTime", "2026-08-21T15:00:00"},
      {"EndTime", "2026-08-22T15:58:55"},
      {"SCT", "*:*:*"},
      {"StateCompact", "R"},
      {"State", "RUNNING"},
      {"UserID", "1000"},
      {"WorkDir", "/home/ada"},
      {"Dependency", "(null)"},
      {"OverSubscribe", "OK"},
      {"tres-per-job", "N/A"},
      {"PriorityLong", "1"},
      {"Cluster", "tiny"},
      {"STDOUT", "/home/ada/slurm-12.out"},
      {"AllocSID", "login:77"},
      {"reason", "None"},
      {"GroupName", "lab"},
  };
  for (const auto& [name, text] : cases) EXPECT_EQ(queue_cell(name, job), text) << name;
}

TEST(SqueueColumns, CompletingShowsItsNodes) {
  JobView job = running_job();
  job.state = JobState::kFailed;
  job.flags = job_flag::kCompleting;
  EXPECT_EQ(queue_cell("ReasonList", job), "n[1-2]");
  EXPECT_EQ(queue_cell("StateCompact", job), "CG");
  job.flags = 0;
  job.reasons.word = PendingReason::kNonZeroExitCode;
  EXPECT_EQ(queue_cell("ReasonList", job), "(NonZeroExitCode)");
}

TEST(SqueueColumns, EveryLetterAndNameIsThereOnce) {
  std::set<char> letters;
  std::set<std::string> names;
  for (const auto& column : job_columns()) {
    if (column.letter != 0) {
      EXPECT_TRUE(letters.insert(column.letter).second) << column.letter;
    }
    EXPECT_TRUE(names.insert(lower(column.name)).second) << column.name;
    EXPECT_NO_FATAL_FAILURE(column.show(pending_job(), test_context()));
    EXPECT_NO_FATAL_FAILURE(column.show(running_job(), test_context()));
  }
  // All letters of squeue(1) -o.
  for (const char letter : std::string("aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"))
    EXPECT_TRUE(letters.contains(letter)) << letter;
}

/// A job with something in every field that a column shows.
JobView crowded_job(JobView job) {
  JobSpec spec = test_spec();
  for (std::size_t key = 0; key < TextPack<JobText>::kSize; ++key) {
    spec.text.set(static_cast<JobText>(key), fmt::format("text{}", key));
  }
  spec.nice = 3;
  spec.request.edit()->cpus_per_gpu = 5;
  spec.core_spec = 1;
  spec.request.edit()->max_nodes = 6;
  spec.request.edit()->tmp_disk_mib = 7;
  spec.request.edit()->tasks_per_node = spec.tasks_per_core = spec.tasks_per_socket = 2;
  spec.request.edit()->min_cpus_per_node = 9;
  spec.request.edit()->sockets_per_node = 2;
  spec.request.edit()->cores_per_socket = 2;
  spec.request.edit()->threads_per_core = 2;
  spec.request.edit()->is_contiguous = spec.is_reboot = true;
  spec.is_requeue = false;
  spec.kind = JobKind::kInteractive;
  spec.sharing = Sharing::kExclusive;
  spec.deadline = test_now();
  job.spec = std::make_shared<const JobSpec>(spec);
  job.attempt = 2;
  job.reasons.expected_start = test_now() + Duration::hours(1);
  job.exit = job.derived_exit = ExitStatus::exited(4);
  job.cancelled_by = UserId(5);
  job.detail = "why";
  job.array_job = JobId(10);
  job.dependency = "afterok:3";
  job.planned_node_list = "n9";
  job.suspended_before = Duration::seconds(5);
  return job;
}

TEST(SqueueColumns, EachColumnShowsTheSameFromAsMuchOfAJobAsItAsksFor) {
  JobView element = array_job();
  element.array_index = 4;
  JobView suspended = running_job();
  suspended.state = JobState::kSuspended;
  suspended.suspend_time = test_now() - Duration::seconds(20);
  for (const JobView& plain : {pending_job(), running_job(), array_job(), element, suspended}) {
    const JobView job = crowded_job(plain);
    Page page;
    page.jobs.push_back(job);
    for (const auto& column : job_columns()) {
      const auto seen = records::decode_page(records::encode_page(page, column.detail));
      ASSERT_TRUE(seen.has_value() && seen->jobs.size() == 1);
      EXPECT_EQ(column.show(seen->jobs[0], test_context()), column.show(job, test_context()))
          << column.name;
      if (column.number != nullptr) {
        EXPECT_EQ(column.number(seen->jobs[0], test_context()), column.number(job, test_context()))
            << column.name;
      }
    }
  }
}

TEST(SqueueColumns, LinesComeSortedAndStartAnew) {
  const auto layout = layout_of(parse_short_format("%i").value(), job_columns(), "job");
  const ShowContext context = test_context();
  TableLines<JobView> lines(layout, RowOrder<JobView>::create("-p", job_columns()).value(),
                            context);
  const auto printed = [&] {
    std::string text;
    lines.print_sorted([&](std::string_view piece) { text += piece; });
    return text;
  };
  JobView job = pending_job();
  lines.add(job);
  lines.clear();
  for (std::uint32_t i = 1; i <= 3; ++i) {
    job.id = JobId(i);
    job.priority = i == 2 ? 9 : 1;
    lines.add(job);
  }
  EXPECT_EQ(printed(), "2\n1\n3\n");
}

TEST(SqueueColumns, AnUnknownColumnIsToldAndTheOthersShow) {
  const auto by_name =
      layout_of(parse_long_format("JobID:,Nope,NumNodes:").value(), job_columns(), "job");
  EXPECT_EQ(by_name.unknown, std::vector<std::string>{"Invalid job format specification: Nope"});
  EXPECT_EQ(header_line(by_name) + row_line(by_name, pending_job(), test_context()),
            "JOBIDNODES\n122\n");
  const auto by_letter =
      layout_of(parse_short_format("<%j %.5Z|%A>").value(), step_columns(), "step");
  EXPECT_EQ(by_letter.unknown, std::vector<std::string>{"Invalid step format specification: Z"});
  EXPECT_EQ(row_line(by_letter, batch_step(), test_context()), "<batch %.5Z|1>\n");
}

TEST(SqueueColumns, SortsByPartitionStatePriority) {
  JobView low = pending_job();
  JobView high = pending_job();
  high.priority = 9;
  JobView other = running_job();
  other.partition = "cpu";
  std::vector<JobView> rows = {low, high, other};
  ASSERT_TRUE(sort_rows(rows, "P,t,-p", job_columns(), test_context()).has_value());
  EXPECT_EQ(rows[0].partition, "cpu");
  EXPECT_EQ(rows[1].priority, 9);
  EXPECT_FALSE(sort_rows(rows, "?", job_columns(), test_context()).has_value());
}

TEST(SqueueColumns, Steps) {
  const auto layout =
      layout_of(parse_short_format(kSqueueStepFormat).value(), step_columns(), "step");
  EXPECT_EQ(header_line(layout) + row_line(layout, batch_step(), test_context()),
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "       12.batch    batch       gpu      ada      1:00 n1\n");
}

}  // namespace
}  // namespace muster::cli
