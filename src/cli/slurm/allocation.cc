// What srun and salloc do alike: wait for a start without losing the job when the controller
// restarts, keep the job alive while this process lives, and cancel it when somebody gives up. A
// lease that nobody renews ends the job, which is what is left behind by a killed client.

#include "cli/slurm/allocation.h"

#include <fmt/format.h>
#include <kj/async-unix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "slurm/rank_layout.h"
#include "slurm/requested_variables.h"
#include "text/words.h"

namespace muster::cli {
namespace {

// Several renewals fit into a lease: a single one may be lost.
constexpr auto kLeaseRenewal = 20 * kj::SECONDS;
/// Starts sooner than this need no message that they wait.
constexpr auto kQueuedAfter = 300 * kj::MILLISECONDS;

/// As long as Slurm's clients wait for an answer. Source: slurm.conf(5), MessageTimeout.
constexpr auto kGoodbyeTimeout = 10 * kj::SECONDS;

/// False: the controller could not be told.
bool cancel_job(const Console& console, Session& session, JobId job) {
  CancelJobs cancel;
  cancel.filter.jobs.push_back(JobSelector{job, {}, false, std::nullopt});
  // Not there any more is as good as cancelled.
  cancel.is_lenient = true;
  if (submit_when_room(session, cancel)) return true;
  console.error(
      fmt::format("the controller does not answer: job {0} ends when nobody has renewed its lease, "
                  "or by scancel {0}",
                  job.value()));
  return false;
}

/// What ends the wait for a start.
struct Outcome {
  std::optional<WaitAnswer> answer;
  int signal = 0;
  bool is_too_late = false;  ///< --immediate
};

}  // namespace

kj::Promise<WaitAnswer> wait_until(kj::AsyncIoContext& io, std::string address, WaitFor wanted) {
  // An answer with nothing says that the controller's wait is over: it is asked again.
  return call_until_answered<WaitAnswer>(
             io, address, [wanted](ControllerClient& client) { return client.wait_async(wanted); })
      .then([&io, address, wanted](WaitAnswer&& answer) -> kj::Promise<WaitAnswer> {
        if (answer.job || answer.step || answer.error) return kj::mv(answer);
        return wait_until(io, address, wanted);
      });
}

kj::Promise<void> renew_lease(kj::AsyncIoContext& io, std::string address, JobId job) {
  return io.provider->getTimer()
      .afterDelay(kLeaseRenewal)
      .then([&io, address, job] {
        // A lease that is refused is renewed no less: the wait for the job's end is what reports.
        return submit_until_answered(io, address, RenewLease{job}).ignoreResult();
      })
      .then([&io, address, job] { return renew_lease(io, address, job); });
}

kj::Promise<Reply> submit_until_answered(kj::AsyncIoContext& io, std::string address,
                                         Request request) {
  // One id for all attempts: the request is done once.
  const RequestId id = fresh_request_id();
  return call_until_answered<std::vector<Reply>>(
             io, address,
             [id, request](ControllerClient& client) { return client.submit_async({request}, id); })
      .then([](std::vector<Reply>&& replies) {
        return replies.empty() ? Reply{} : std::move(replies.front());
      });
}

bool submit_when_room(Session& session, Request request) {
  auto& io = session.io();
  auto told =
      submit_until_answered(io, session.cluster().controller, std::move(request)).then([](Reply&&) {
        // Whatever the answer: the request has been heard.
        return true;
      });
  // A second Ctrl-C leaves at once.
  auto given_up =
      any_signal(io.unixEventPort, cancelling_signals()).then([](int) { return false; });
  auto late = io.provider->getTimer().afterDelay(kGoodbyeTimeout).then([] { return false; });
  return told.exclusiveJoin(kj::mv(given_up)).exclusiveJoin(kj::mv(late)).wait(io.waitScope);
}

bool is_program(const std::string& name, const std::string& work_dir) {
  const auto is_one = [](const std::string& path) {
    struct stat found {};
    // Executable for this user, and no folder.
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos)
    return is_one(name.front() == '/' ? name : work_dir + "/" + name);
  return std::ranges::any_of(split(environment_value("PATH"), ':'), [&](std::string_view folder) {
    // An empty entry of PATH is the working directory.
    return is_one(fmt::format("{}/{}", folder.empty() ? "." : folder, name));
  });
}

StartWait wait_for_start(const Console& console, Session& session, const SubmitOptions& options,
                         JobId job) {
  auto& io = session.io();
  bool is_said = false;
  auto started = wait_until(io, session.cluster().controller,
                            WaitFor{StepId{job, UINT32_MAX, 0}, WaitUntil::kStarted})
                     .then([](WaitAnswer&& answer) {
                       return Outcome{std::move(answer), 0, false};
                     });
  auto stopped = any_signal(io.unixEventPort, cancelling_signals()).then([](int number) {
    return Outcome{std::nullopt, number, false};
  });
  kj::Promise<Outcome> first = started.exclusiveJoin(kj::mv(stopped));
  if (options.immediate_seconds) {
    auto late =
        io.provider->getTimer().afterDelay(*options.immediate_seconds * kj::SECONDS).then([] {
          return Outcome{std::nullopt, 0, true};
        });
    first = first.exclusiveJoin(kj::mv(late));
  }
  // Only once it is clear that the start takes longer: an idle cluster starts at once.
  auto told =
      io.provider->getTimer()
          .afterDelay(kQueuedAfter)
          .then([&] {
            is_said = true;
            if (options.by == Submitter::kAllocate)
              console.say(fmt::format("Pending job allocation {}", job.value()));
            console.say(fmt::format("job {} queued and waiting for resources", job.value()));
          })
          .eagerlyEvaluate(nullptr);
  // From the first moment: a job that waits long would lose its lease before it starts.
  const auto lease =
      renew_lease(io, session.cluster().controller, job).eagerlyEvaluate([](kj::Exception&&) {});
  const Outcome outcome = first.wait(io.waitScope);

  StartWait result;
  if (!outcome.answer) {
    // Before anything is said: a job that nobody waits for must not start.
    const bool is_cancelled = cancel_job(console, session, job);
    if (outcome.is_too_late) {
      // Slurm's text and exit code. Source: srun(1), --immediate and SLURM_EXIT_IMMEDIATE.
      console.error("Unable to allocate resources: Requested nodes are busy");
      result.exit_code = environment_number("SLURM_EXIT_IMMEDIATE", console.exit_error());
    } else {
      if (options.by == Submitter::kAllocate) console.say("Job aborted due to signal");
      // Said only of what is certain.
      if (is_cancelled)
        console.say(fmt::format("Job allocation {} has been revoked.", job.value()));
      if (is_cancelled && options.by == Submitter::kRun)
        console.say(fmt::format("Force Terminated JobId={}", job.value()));
      result.exit_code = console.exit_error();
    }
    return result;
  }
  result.exit_code = console.exit_error();
  if (outcome.answer->error) {
    console.error(fmt::format("Unable to allocate resources: {}", outcome.answer->error->text()));
  } else if (!outcome.answer->job->start_time.is_set() ||
             outcome.answer->job->state == JobState::kPending) {
    const JobView& ended = *outcome.answer->job;
    console.error(fmt::format("Job allocation {} has been revoked.", job.value()));
    if (!ended.detail.empty()) console.error(ended.detail);
  } else {
    if (is_said) console.say(fmt::format("job {} has been allocated resources", job.value()));
    result.job = outcome.answer->job;
    result.exit_code = 0;
  }
  return result;
}

namespace {

std::string counts_of(const JobView& job, std::span<const NodeView> nodes, bool is_tasks) {
  std::vector<std::uint32_t> counts;
  for (const NodeGrant& grant : job.grants) {
    const std::size_t cpus = grant.cpus.count();
    const bool is_known = grant.node.value() < nodes.size();
    // Without --threads-per-core all CPUs of a grant are usable.
    const std::uint32_t usable =
        is_known ? usable_cpus(*job.spec, cpus, nodes[grant.node.value()].config)
                 : static_cast<std::uint32_t>(cpus);
    counts.push_back(is_tasks ? job_tasks_on(*job.spec, grant, usable) : usable);
  }
  return counts_text(counts);
}

}  // namespace

void add_allocation_variables(Environment& environment, const JobView& job,
                              std::span<const NodeView> nodes, const SubmittingProcess& scene,
                              const std::string& cluster, const std::string& cluster_id) {
  const JobSpec& spec = *job.spec;
  const auto set = [&](const char* name, std::string_view value) {
    if (!value.empty()) set_variable(environment, name, value);
  };
  // Slurm sets both the newer and the older names, which scripts still read.
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"})
    set(name, fmt::format("{}", job.id.value()));
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, job.node_list);
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
    set(name, fmt::format("{}", job.node_count));
  set("SLURM_JOB_NAME", spec.name());
  set("SLURM_JOB_CPUS_PER_NODE", counts_of(job, nodes, false));
  set("SLURM_TASKS_PER_NODE", counts_of(job, nodes, true));
  set("SLURM_JOB_PARTITION", job.partition);
  set("SLURM_JOB_ACCOUNT", spec.get(JobText::kAccount));
  set("SLURM_JOB_QOS", spec.get(JobText::kQos));
  // Source: salloc(1), OUTPUT ENVIRONMENT VARIABLES.
  set("SLURM_JOB_START_TIME", fmt::format("{}", job.start_time.seconds()));
  if (job.end_time.is_set() && !job.end_time.is_never())
    set("SLURM_JOB_END_TIME", fmt::format("{}", job.end_time.seconds()));
  set("SLURM_JOB_USER", spec.get(JobText::kUserName));
  set("SLURM_JOB_UID", fmt::format("{}", spec.user.value()));
  set("SLURM_JOB_GID", fmt::format("{}", spec.group.value()));
  set("SLURM_CLUSTER_NAME", cluster);
  set("MUSTER_CLUSTER_ID", cluster_id);
  set("SLURM_SUBMIT_DIR", scene.work_dir);
  set("SLURM_SUBMIT_HOST", scene.host);
  add_requested_variables(environment, spec);
  // Where the tasks follow from the nodes that there came to be.
  if (follows_nodes(spec)) {
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"})
      set(name, fmt::format("{}", task_count_on(spec, job.node_count)));
  }
}

}  // namespace muster::cli
