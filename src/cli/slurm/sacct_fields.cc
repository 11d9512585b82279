// What each field of sacct shows for a job and for a step. Fields without a function are accepted
// and stay empty, as in a Slurm that does not gather them: formats that name them go on working.

#include "cli/slurm/sacct_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/lib/job_selector.h"
#include "cli/lib/job_text.h"
#include "slurm/duration_text.h"
#include "slurm/file_pattern.h"
#include "slurm/memory_text.h"
#include "text/words.h"

namespace muster::cli {
namespace {

using Row = AccountRow;
using Context = AccountContext;
using Text = std::string;

const JobSpec& spec(const Row& row) { return *row.job->spec; }
bool is_pending(const Row& row) {
  return row.step == nullptr && row.job->state == JobState::kPending;
}

Text id(const Row& row, const Context& context) {
  const Text job = job_id_text(*row.job, context.show.array_text_max);
  return row.step == nullptr ? job : job + "." + step_text(row.step->id.step);
}
Text raw_id(const Row& row, const Context&) {
  const Text job = fmt::format("{}", row.job->id.value());
  return row.step == nullptr ? job : job + "." + step_text(row.step->id.step);
}
Text name(const Row& row, const Context&) {
  return row.step == nullptr ? Text(spec(row).name()) : row.step->name;
}

/// A text of the job, on its own row and those of its steps.
template <JobText Key>
Text text(const Row& row, const Context&) {
  return Text(spec(row).get(Key));
}
/// A text that stands on the job's row alone.
template <JobText Key>
Text job_text(const Row& row, const Context&) {
  return row.step == nullptr ? Text(spec(row).get(Key)) : Text();
}
template <Text JobView::*Member>
Text view_text(const Row& row, const Context&) {
  return row.step == nullptr ? row.job->*Member : Text();
}
Text cluster(const Row&, const Context& context) { return context.show.cluster; }
Text uid(const Row& row, const Context&) {
  return row.step == nullptr ? fmt::format("{}", spec(row).user.value()) : Text();
}
Text gid(const Row& row, const Context&) {
  return row.step == nullptr ? fmt::format("{}", spec(row).group.value()) : Text();
}

Text state(const Row& row, const Context&) {
  const JobState value = row.step == nullptr ? row.job->state : row.step->state;
  const bool is_requeued = row.step == nullptr && value == JobState::kCancelled &&
                           (row.job->flags & job_flag::kRequeueAfter) != 0;
  // A job that goes back to the queue ends its run as REQUEUED.
  if (is_requeued) return "REQUEUED";
  Text word(job_state_name(value));
  if (row.step != nullptr || value != JobState::kCancelled) return word;
  // "CANCELLED by 1000": who did it, by number. Source: sacct(1), State.
  return fmt::format("{} by {}", word, row.job->cancelled_by.value());
}
Text exit(const Row& row, const Context&) {
  return exit_text(row.step == nullptr ? row.job->exit : row.step->exit);
}
Text derived_exit(const Row& row, const Context&) {
  return row.step == nullptr ? exit_text(row.job->derived_exit) : Text();
}
Text reason(const Row& row, const Context&) {
  return row.step == nullptr ? Text(pending_reason_word(row.job->reasons.word)) : Text();
}

// ---- sizes ----

std::uint32_t cpu_count(const Row& row) {
  if (row.step != nullptr) return row.step->cpu_count;
  // Nothing is allocated while it waits, or if it never started.
  return is_pending(row) || !row.job->start_time.is_set() ? 0 : row.job->cpu_count;
}
Text allocated_cpus(const Row& row, const Context&) { return fmt::format("{}", cpu_count(row)); }
Text requested_cpus(const Row& row, const Context&) {
  return fmt::format("{}", row.step == nullptr ? row.job->cpu_count : row.step->cpu_count);
}
std::uint32_t node_count(const Row& row) {
  return row.step == nullptr ? row.job->node_count : row.step->node_count;
}
Text nodes(const Row& row, const Context&) { return fmt::format("{}", node_count(row)); }
Text allocated_nodes(const Row& row, const Context&) {
  return fmt::format("{}", is_pending(row) ? 0 : node_count(row));
}
Text tasks(const Row& row, const Context&) {
  return row.step == nullptr ? Text() : fmt::format("{}", row.step->task_count);
}
Text node_list(const Row& row, const Context&) {
  const Text& list = row.step == nullptr ? row.job->node_list : row.step->node_list;
  // Slurm's words, which scripts compare with.
  return list.empty() ? "None assigned" : list;
}

/// An amount in `unit`: in the unit asked for, with --noconvert in its own, else in the largest
/// that leaves a whole number. Two decimals unless it is whole.
/// Source: sacct(1), --units and --noconvert.
Text memory(std::uint64_t amount, char unit, const Context& context) {
  constexpr std::string_view kUnits = "KMGTP";
  if (amount == 0) return "0";
  std::size_t at = kUnits.find(unit);
  if (context.unit == 0) {
    const bool is_converted = context.show.is_converted;
    // Divided as long as nothing is lost.
    for (; is_converted && amount % 1024 == 0 && at + 1 < kUnits.size(); ++at) amount /= 1024;
    return fmt::format("{}{}", amount, kUnits[at]);
  }
  const std::size_t wanted = kUnits.find(context.unit);
  auto value = static_cast<double>(amount);
  for (; at < wanted; ++at) value /= 1024;
  for (; at > wanted; --at) value *= 1024;
  // A whole number shows without decimals.
  const bool is_whole = value == std::floor(value);
  return is_whole ? fmt::format("{:.0f}{}", value, kUnits[at])
                  : fmt::format("{:.2f}{}", value, kUnits[at]);
}

/// The memory of a list of resources, "cpu=8,mem=8G": empty where it has none.
std::string_view memory_of(std::string_view tres) {
  for (const std::string_view part : split(tres, ',')) {
    if (part.starts_with("mem=")) return part.substr(4);
  }
  return {};
}
/// As the views have it, in the unit that is wanted.
Text shown_memory(std::string_view text, const Context& context) {
  const auto mib = parse_memory(text);
  return mib.has_value() ? memory(*mib, 'M', context) : Text(text);
}
Text shown_tres(const Text& tres, const Context& context) {
  const std::string_view amount = memory_of(tres);
  if (amount.empty()) return tres;
  // The amount stands in the middle of a list of resources: only it is rewritten.
  const auto at = static_cast<std::size_t>(amount.data() - tres.data());
  return tres.substr(0, at) + shown_memory(amount, context) + tres.substr(at + amount.size());
}
Text allocated_tres(const Row& row, const Context& context) {
  return shown_tres(row.step == nullptr ? row.job->allocated_tres : row.step->allocated_tres,
                    context);
}
Text requested_tres(const Row& row, const Context& context) {
  return row.step == nullptr ? shown_tres(row.job->requested_tres, context) : Text();
}
Text requested_memory(const Row& row, const Context& context) {
  if (row.step != nullptr) return "";
  const std::string_view amount = memory_of(row.job->requested_tres);
  return amount.empty() ? "0" : shown_memory(amount, context);
}

// ---- times ----

Duration elapsed(const Row& row, const Context& context) {
  return row.step == nullptr ? run_time(*row.job, context.show.now)
                             : run_time(*row.step, context.show.now);
}
Text elapsed_text(const Row& row, const Context& context) {
  return padded_duration_text(elapsed(row, context));
}
Text elapsed_raw(const Row& row, const Context& context) {
  return fmt::format("{}", elapsed(row, context).seconds());
}
Duration cpu_time(const Row& row, const Context& context) {
  // Of what is allocated: CPU seconds that others could not use.
  return elapsed(row, context) * cpu_count(row);
}
Text cpu_time_text(const Row& row, const Context& context) {
  return padded_duration_text(cpu_time(row, context));
}
Text cpu_time_raw(const Row& row, const Context& context) {
  return fmt::format("{}", cpu_time(row, context).seconds());
}
Text submit(const Row& row, const Context& context) {
  // A step is submitted when it starts.
  return context.show.time(row.step == nullptr ? row.job->submit_time : row.step->start_time,
                           "Unknown");
}
Text eligible(const Row& row, const Context& context) {
  return context.show.time(row.step == nullptr ? row.job->eligible_time : row.step->start_time,
                           "Unknown");
}
Text start(const Row& row, const Context& context) {
  if (is_pending(row)) return "Unknown";
  return context.show.time(row.step == nullptr ? row.job->start_time : row.step->start_time,
                           "Unknown");
}
Text end(const Row& row, const Context& context) {
  const JobState value = row.step == nullptr ? row.job->state : row.step->state;
  // Also a job that is suspended or completing has no end yet.
  if (!is_finished(value)) return "Unknown";
  return context.show.time(row.step == nullptr ? row.job->end_time : row.step->end_time, "Unknown");
}
Text suspended(const Row& row, const Context&) {
  return padded_duration_text(row.job->suspended_before);
}
Text limit(const Row& row, const Context&) {
  return row.step == nullptr ? padded_duration_text(row.job->time_limit) : Text();
}
// In minutes. Source: sacct(1), TimelimitRaw.
Text limit_raw(const Row& row, const Context&) {
  if (row.step != nullptr) return "";
  return row.job->time_limit.is_infinite() ? "UNLIMITED"
                                           : fmt::format("{}", row.job->time_limit.seconds() / 60);
}
Duration planned(const Row& row, const Context& context) {
  // From submission to start, or until now.
  const TimePoint until =
      is_pending(row) || !row.job->start_time.is_set() ? context.show.now : row.job->start_time;
  return until > row.job->submit_time ? until - row.job->submit_time : Duration();
}
Text planned_text(const Row& row, const Context& context) {
  return row.step == nullptr ? padded_duration_text(planned(row, context)) : Text();
}

// ---- use ----

const Usage& usage(const Row& row) {
  return row.step == nullptr ? row.job->usage : row.step->usage;
}

/// "00:01.234", "01:02:03", "1-02:03:04": milliseconds while they matter.
Text cpu_text(std::int64_t microseconds) {
  const std::int64_t seconds = microseconds / 1'000'000;
  // Beyond an hour milliseconds say nothing.
  if (seconds >= 3600) return padded_duration_text(Duration::seconds(seconds));
  return fmt::format("{:02}:{:02}.{:03}", seconds / 60, seconds % 60, microseconds / 1000 % 1000);
}
Text total_cpu(const Row& row, const Context&) {
  return cpu_text(usage(row).user_cpu_us + usage(row).system_cpu_us);
}
Text user_cpu(const Row& row, const Context&) { return cpu_text(usage(row).user_cpu_us); }
Text system_cpu(const Row& row, const Context&) { return cpu_text(usage(row).system_cpu_us); }
Text average_cpu(const Row& row, const Context&) {
  if (row.step == nullptr) return "";
  const std::int64_t total = usage(row).user_cpu_us + usage(row).system_cpu_us;
  // Per task. Source: sacct(1), AveCPU.
  return padded_duration_text(Duration::microseconds(total / std::max(1U, row.step->task_count)));
}

Text max_rss(const Row& row, const Context& context) {
  // Slurm's jobs have no MaxRSS of their own, and steps only once they have ended.
  if (row.step == nullptr || !is_finished(row.step->state)) return "";
  return memory(row.step->usage.max_rss_kib, 'K', context);
}

Text restarts(const Row& row, const Context&) {
  return row.step == nullptr ? fmt::format("{}", row.job->attempt) : Text();
}
Text priority(const Row& row, const Context&) {
  return row.step == nullptr ? fmt::format("{}", row.job->priority) : Text();
}
Text layout(const Row& row, const Context&) {
  if (row.step == nullptr || row.step->spec == nullptr) return "";
  const std::string_view given = row.step->spec->get(StepText::kDistribution);
  return given.empty() ? "Block" : Text(given);
}
Text step_submit_line(const Row& row, const Context& context) {
  if (row.step == nullptr) return text<JobText::kSubmitLine>(row, context);
  return row.step->spec == nullptr ? Text() : Text(row.step->spec->get(StepText::kSubmitLine));
}
Text detail(const Row& row, const Context&) {
  return row.step == nullptr ? row.job->detail : row.step->detail;
}

// In the order of `sacct --helpformat`; negative: left-aligned.
// clang-format off
constexpr AccountField kFields[] = {
    {"Account", 10, text<JobText::kAccount>},
    {"AdminComment", 19, job_text<JobText::kAdminComment>},
    {"AllocCPUS", 10, allocated_cpus},
    {"AllocNodes", 10, allocated_nodes},
    {"AllocTRES", 10, allocated_tres},
    {"AssocID", 7, nullptr},
    {"AveCPU", 10, average_cpu},
    {"AveCPUFreq", 10, nullptr},
    {"AveDiskRead", 14, nullptr},
    {"AveDiskWrite", 14, nullptr},
    {"AvePages", 10, nullptr},
    {"AveRSS", 10, nullptr},
    {"AveVMSize", 10, nullptr},
    {"BlockID", 16, nullptr},
    {"Cluster", 10, cluster},
    {"Comment", 14, job_text<JobText::kComment>},
    {"Constraints", 15, job_text<JobText::kFeatures>},
    {"ConsumedEnergy", 14, nullptr},
    {"ConsumedEnergyRaw", 17, nullptr},
    {"Container", 20, nullptr},
    {"CPUTime", 10, cpu_time_text},
    {"CPUTimeRAW", 10, cpu_time_raw},
    {"DBIndex", 7, nullptr},
    {"DerivedExitCode", 15, derived_exit},
    {"Elapsed", 10, elapsed_text},
    {"ElapsedRaw", 10, elapsed_raw},
    {"Eligible", 19, eligible},
    {"End", 19, end},
    {"ExitCode", 8, exit},
    {"Extra", 20, job_text<JobText::kExtra>},
    {"FailedNode", 15, nullptr},
    {"Flags", 20, nullptr},
    {"GID", 6, gid},
    {"Group", 9, job_text<JobText::kGroupName>},
    {"JobID", -12, id}, {"JobIDRaw", -12, raw_id}, {"JobName", 10, name}, {"Layout", 9, layout},
    {"Licenses", 10, job_text<JobText::kLicenses>},
    {"MaxDiskRead", 12, nullptr},
    {"MaxDiskReadNode", 15, nullptr},
    {"MaxDiskReadTask", 15, nullptr},
    {"MaxDiskWrite", 12, nullptr},
    {"MaxDiskWriteNode", 16, nullptr},
    {"MaxDiskWriteTask", 16, nullptr},
    {"MaxPages", 8, nullptr},
    {"MaxPagesNode", 12, nullptr},
    {"MaxPagesTask", 14, nullptr},
    {"MaxRSS", 10, max_rss},
    {"MaxRSSNode", 10, nullptr},
    {"MaxRSSTask", 10, nullptr},
    {"MaxVMSize", 10, nullptr},
    {"MaxVMSizeNode", 14, nullptr},
    {"MaxVMSizeTask", 14, nullptr},
    {"McsLabel", 10, job_text<JobText::kMcsLabel>},
    {"MinCPU", 10, nullptr},
    {"MinCPUNode", 10, nullptr},
    {"MinCPUTask", 10, nullptr},
    {"NCPUS", 10, allocated_cpus},
    {"NNodes", 8, nodes},
    {"NodeList", 15, node_list},
    {"NTasks", 8, tasks},
    {"Partition", 10, view_text<&JobView::partition>},
    {"Planned", 10, planned_text},
    {"PlannedCPU", 10, nullptr},
    {"PlannedCPURAW", 13, nullptr},
    {"Priority", 10, priority},
    {"QOS", 10, text<JobText::kQos>},
    {"QOSRAW", 10, nullptr},
    {"QOSREQ", 10, job_text<JobText::kQos>},
    {"Reason", 22, reason},
    {"ReqCPUFreq", 10, nullptr},
    {"ReqCPUFreqGov", 13, nullptr},
    {"ReqCPUFreqMax", 13, nullptr},
    {"ReqCPUFreqMin", 13, nullptr},
    {"ReqCPUS", 8, requested_cpus}, {"ReqMem", 10, requested_memory}, {"ReqNodes", 8, nodes},
    {"ReqTRES", 10, requested_tres}, {"Reservation", 20, job_text<JobText::kReservation>},
    {"ReservationId", 14, nullptr},
    {"Reserved", 10, planned_text},
    {"Restarts", 8, restarts},
    {"ResvCPU", 10, nullptr},
    {"ResvCPURAW", 10, nullptr}, {"SLUID", 16, nullptr}, {"Start", 19, start}, {"State", 10, state},
    {"StdErr", 20, view_text<&JobView::std_err>}, {"StdIn", 20, view_text<&JobView::std_in>},
    {"StdOut", 20, view_text<&JobView::std_out>},
    {"Submit", 19, submit},
    {"SubmitLine", 20, step_submit_line},
    {"Suspended", 10, suspended},
    {"SystemComment", 19, detail},
    {"SystemCPU", 10, system_cpu},
    {"Timelimit", 10, limit},
    {"TimelimitRaw", 12, limit_raw},
    {"TotalCPU", 10, total_cpu},
    {"TRESUsageInAve", 14, nullptr},
    {"TRESUsageInMax", 14, nullptr},
    {"TRESUsageInMaxNode", 18, nullptr},
    {"TRESUsageInMaxTask", 18, nullptr},
    {"TRESUsageInMin", 14, nullptr},
    {"TRESUsageInMinNode", 18, nullptr},
    {"TRESUsageInMinTask", 18, nullptr},
    {"TRESUsageInTot", 14, nullptr},
    {"TRESUsageOutAve", 15, nullptr},
    {"TRESUsageOutMax", 15, nullptr},
    {"TRESUsageOutMaxNode", 19, nullptr},
    {"TRESUsageOutMaxTask", 19, nullptr},
    {"TRESUsageOutMin", 15, nullptr},
    {"TRESUsageOutMinNode", 19, nullptr},
    {"TRESUsageOutMinTask", 19, nullptr}, {"TRESUsageOutTot", 15, nullptr}, {"UID", 6, uid},
    {"User", 9, job_text<JobText::kUserName>}, {"UserCPU", 10, user_cpu},
    {"WCKey", 10, job_text<JobText::kWckey>},
    {"WCKeyID", 10, nullptr},
    {"WorkDir", 20, job_text<JobText::kWorkDir>},
};
// clang-format on

}  // namespace

std::span<const AccountField> account_fields() { return kFields; }

const AccountField* find_account_field(std::string_view name) {
  const auto found = std::ranges::find_if(
      kFields, [&](const AccountField& field) { return equal_ignoring_case(field.name, name); });
  return found == std::end(kFields) ? nullptr : found;
}

}  // namespace muster::cli
