// From options to requests. Options are first checked against each other, with Slurm's texts, then
// completed by what they imply, in Slurm's order; only then jobs, steps and environments are made
// of them. What needs the cluster's state is left to the controller.

#include "cli/slurm/job_request.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/lib/program_folder.h"
#include "cli/lib/text_file.h"
#include "cli/slurm/submit_refusal.h"
#include "env/posix/process_runner.h"
#include "slurm/gres_options.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/rank_layout.h"
#include "text/launch_size.h"
#include "text/words.h"

namespace muster::cli {
namespace {

bool is_given(const SubmitOptions& options, std::uint32_t bit) {
  return (options.job.given & bit) != 0;
}

bool has_gpu(const std::vector<GresAmount>& amounts) {
  return std::ranges::any_of(amounts,
                             [](const GresAmount& amount) { return amount.name == "gpu"; });
}

std::uint32_t count_of(const std::vector<GresAmount>& amounts) {
  std::uint32_t total = 0;
  for (const GresAmount& amount : amounts) total += amount.count;
  return total;
}

std::uint32_t gpu_count(const std::vector<GresAmount>& amounts) {
  std::uint32_t total = 0;
  for (const GresAmount& amount : amounts) total += amount.name == "gpu" ? amount.count : 0;
  return total;
}

bool is_written(const SubmitOptions& options, std::string_view name) {
  return std::ranges::find(options.written, name) != options.written.end();
}

/// The option was given without a value, and no other said it.
bool is_left_empty(const SubmitOptions& options, const char* name, JobText text) {
  return options.defined.contains(name) && options.job.get(text).empty();
}

/// The first node that is wanted and to be stayed away from; empty: none.
Result<std::string> wanted_and_excluded(const SubmitOptions& options) {
  // A variable may have given either of them: SALLOC_, SBATCH_ and SRUN_ variables count as
  // options.
  const std::string_view wanted = options.job.get(JobText::kNodeList);
  const std::string_view excluded = options.job.get(JobText::kExcludeList);
  if (wanted.empty() || excluded.empty()) return std::string();
  const auto names = TRY(expand_hostlist(wanted));
  const auto away = TRY(expand_hostlist(excluded));
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return std::ranges::find(away, name) != away.end(); });
  return found == names.end() ? std::string() : *found;
}

tl::unexpected<Error> contradiction(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

/// Options that say two things about one. What stands in a job's environment gives way to what is
/// written for a step of it.
Status check_contradictions(SubmitOptions& options) {
  JobSpec& job = options.job;
  const bool is_step = options.inside.has_value();
  // A place within the nodes of an allocation means nothing without one.
  if (!is_step && is_written(options, "relative"))
    return contradiction("--relative option invalid for job allocation request");
  if (job.request->tasks_per_gpu != 0 && !options.gpus_per_task.empty()) {
    // Only where one of the two is the step's own wish.
    if (is_step && is_written(options, "gpus-per-task") != is_written(options, "ntasks-per-gpu")) {
      // What the job said is as if it had not been said: not "none", which it would be if the
      // option still counted as given.
      if (is_written(options, "gpus-per-task")) {
        job.request.edit()->tasks_per_gpu = 0;
        job.given &= ~given_option::kTasksPerGpu;
      } else {
        options.gpus_per_task.clear();
        job.given &= ~given_option::kGpusPerTask;
      }
    } else {
      return contradiction(
          "--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU");
    }
  }
  // Both say what a task has. Source: sbatch(1), --tres-per-task.
  if (is_written(options, "tres-per-task")) {
    if (options.has_cpus_of_tres && is_written(options, "cpus-per-task"))
      return contradiction("--cpus-per-task is mutually exclusive with --tres-per-task=cpu");
    if (options.has_gpus_of_tres && is_written(options, "gpus-per-task"))
      return contradiction("--gpus-per-task is mutually exclusive with --tres-per-task=gres/gpu");
  }
  if (!is_step && job.request->tasks_per_gpu != 0 && job.request->tasks_per_node != 0) {
    return contradiction(
        "--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU");
  }
  // A hint is an abbreviation for the others. Source: srun(1), --hint.
  if (is_written(options, "hint")) {
    for (const char* other :
         {"ntasks-per-core", "threads-per-core", "extra-node-info", "cpu-bind"}) {
      if (is_written(options, other))
        return contradiction(fmt::format("--hint and --{} are mutually exclusive.", other));
    }
  }
  // Slurm would let --prefer override --constraint where it can. Source: sbatch(1), --prefer.
  if (is_written(options, "prefer") && is_written(options, "constraint"))
    return fail(refused_option("--prefer together with --constraint"));
  if (!is_step && is_given(options, given_option::kNodes) && !options.gpus.empty() &&
      count_of(options.gpus) < job.request->min_nodes) {
    return contradiction(
        fmt::format("Invalid generic resource (gres) specification: --gpus={} is less than the {} "
                    "nodes of --nodes",
                    count_of(options.gpus), job.request->min_nodes));
  }
  return {};
}

/// What needs more of a node's topology than is known is refused by name; what holds on any node
/// passes.
Status derive_topology(SubmitOptions& options) {
  JobSpec& job = options.job;
  const auto refuse = [](std::string what) { return fail(refused_option(what)); };
  // Within a job these concern tasks on nodes that are there already.
  if (options.inside) return {};
  if (job.tasks_per_core == 1) {
    // A task of one CPU on its own core is what --threads-per-core=1 gives.
    if (job.request->cpus_per_task == 1) job.request.edit()->threads_per_core = 1;
    if (job.request->cpus_per_task % 2 == 1 && job.request->cpus_per_task > 1)
      return refuse("--ntasks-per-core=1 with an odd number of CPUs for each task");
  }
  const std::uint32_t per_socket = job.tasks_per_socket;
  if (per_socket != 0 && job.request->tasks_per_node > per_socket)
    return refuse("--ntasks-per-socket below --ntasks-per-node");
  if (per_socket != 0 && job.request->tasks_per_node == 0 && job.request->task_count > per_socket) {
    // Even one socket of each node suffices.
    const bool is_enough =
        std::uint64_t{per_socket} * std::max(job.request->min_nodes, job.request->max_nodes) >=
        job.request->task_count;
    if (!is_enough)
      return refuse("--ntasks-per-socket for more tasks than one socket of each node holds");
    job.request.edit()->tasks_per_node = per_socket;
  }
  // A job ends with its first lost node; on a single node --no-kill makes no difference.
  if (!job.is_kill_on_node_fail && (job.request->min_nodes > 1 || job.request->max_nodes > 1))
    return refuse("--no-kill for a job of several nodes");
  return {};
}

/// --spread-job: any number of nodes up to one for each task, and the planner takes the most there
/// are.
void derive_spread(JobSpec& job) {
  const bool is_open = (job.given & given_option::kNodes) == 0;
  // One node for each task at most.
  if (job.is_spread && is_open && job.request->task_count > 1)
    job.request.edit()->max_nodes = std::max(job.request->max_nodes, job.request->task_count);
}

Status derive_gres(SubmitOptions& options) {
  // Slurm's message; the cause lets refuse_job choose its lines.
  if (!options.gpus_per_node.empty() && has_gpu(options.gres)) {
    return fail(ErrorCode::kInvalidArgument, ErrorCause::kExclusiveOptions,
                "--gpus-per-node and --gres=gpu are mutually exclusive.");
  }
  std::vector<GresAmount> per_node = options.gres;
  per_node.insert(per_node.end(), options.gpus_per_node.begin(), options.gpus_per_node.end());
  std::ranges::sort(per_node);
  if (const auto nodes = implied_node_count(options.gpus, per_node);
      nodes && !is_given(options, given_option::kNodes)) {
    options.job.request.edit()->min_nodes = *nodes;
    options.job.request.edit()->max_nodes = *nodes;
  }
  options.job.text.set(JobText::kGresPerNode, gres_text(per_node));
  options.job.text.set(JobText::kGresPerJob, gres_text(options.gpus));
  options.job.text.set(JobText::kGresPerTask, gres_text(options.gpus_per_task));
  return {};
}

/// The threads that -B names on each node, one task each. Source: sbatch(1),
/// --extra-node-info; 22.05.8.
std::uint32_t places_per_node(const JobSpec& job) {
  return std::max(1U, job.request->sockets_per_node) * std::max(1U, job.request->cores_per_socket) *
         std::max(1U, job.request->threads_per_core);
}

/// The task count that the other options mean when -n was not given; 0: they say nothing.
std::uint32_t implied_tasks(const SubmitOptions& options) {
  const JobSpec& job = options.job;
  const std::uint32_t nodes = std::max(1U, job.request->min_nodes);
  if (!options.gpus.empty() && !options.gpus_per_task.empty()) {
    // As many tasks as GPUs for each go into all GPUs.
    return count_of(options.gpus) / std::max(1U, count_of(options.gpus_per_task));
  }
  if (job.request->tasks_per_node != 0) return nodes * job.request->tasks_per_node;
  if (is_written(options, "extra-node-info")) return nodes * places_per_node(job);
  if (job.request->tasks_per_gpu != 0 && !options.gpus.empty())
    return count_of(options.gpus) * job.request->tasks_per_gpu;
  if (job.request->tasks_per_gpu != 0 && has_gpu(options.gpus_per_node))
    return nodes * count_of(options.gpus_per_node) * job.request->tasks_per_gpu;
  if (job.request->tasks_per_gpu != 0 && has_gpu(options.gres))
    return nodes * gpu_count(options.gres) * job.request->tasks_per_gpu;
  return 0;
}

/// srun inherits numbers of nodes and tasks from its job: more tasks than --ntasks-per-node allows
/// count for more.
void derive_tasks_per_node(SubmitOptions& options, Words& warnings) {
  JobSpec& job = options.job;
  const bool is_bound = options.by == Submitter::kRun && job.request->tasks_per_node != 0 &&
                        is_given(options, given_option::kNodes) &&
                        job.request->max_nodes == job.request->min_nodes;
  if (!is_bound || job.request->task_count <=
                       std::uint64_t{job.request->tasks_per_node} * job.request->min_nodes)
    return;
  warnings.push_back(
      fmt::format("can't honor --ntasks-per-node set to {} which doesn't match the requested tasks "
                  "{} with the number of "
                  "requested nodes {}. Ignoring --ntasks-per-node.",
                  job.request->tasks_per_node, job.request->task_count, job.request->min_nodes));
  job.request.edit()->tasks_per_node = 0;
}

void derive_tasks(SubmitOptions& options, Words& warnings) {
  JobSpec& job = options.job;
  if (is_given(options, given_option::kTaskCount)) {
    derive_tasks_per_node(options, warnings);
    if (job.request->tasks_per_node != 0 && !is_given(options, given_option::kNodes)) {
      // Enough nodes for that many tasks on each.
      job.request.edit()->min_nodes = std::max(
          job.request->min_nodes, (job.request->task_count + job.request->tasks_per_node - 1) /
                                      job.request->tasks_per_node);
    }
    if (job.request->task_count < job.request->min_nodes) {
      // The warning is for who has written --nodes; from a variable it would come at each step.
      if (options.is_nodes_written) {
        warnings.push_back(fmt::format("can't run {} processes on {} nodes, setting nnodes to {}",
                                       job.request->task_count, job.request->min_nodes,
                                       job.request->task_count));
      }
      job.request.edit()->min_nodes = job.request->task_count;
      if (job.request->max_nodes != 0) job.request.edit()->max_nodes = job.request->task_count;
    }
    return;
  }
  const std::uint32_t implied = implied_tasks(options);
  // One task on each node, as in Slurm.
  job.request.edit()->task_count = implied != 0 ? implied : std::max(1U, job.request->min_nodes);
  if (implied != 0 && !follows_nodes(job)) job.given |= given_option::kTaskCount;
  if (job.request->tasks_per_node != 0 && !is_given(options, given_option::kNodes)) {
    job.request.edit()->min_nodes = std::max(
        job.request->min_nodes,
        (job.request->task_count + job.request->tasks_per_node - 1) / job.request->tasks_per_node);
  }
}

/// A list of more nodes than there are tasks is cut down to its first ones. Source: sbatch(1),
/// --nodelist; 22.05.8.
Status derive_nodes(SubmitOptions& options, Words& warnings) {
  JobSpec& job = options.job;
  const std::string_view wanted = job.get(JobText::kNodeList);
  if (wanted.empty()) return {};
  // Sorted: the first nodes of the list are those with the lowest names.
  std::vector<std::string> names = sorted_hosts(TRY(expand_hostlist(wanted)));
  const auto listed = static_cast<std::uint32_t>(names.size());
  if (is_given(options, given_option::kNodes) && job.request->max_nodes < listed) {
    return fail(ErrorCode::kInvalidArgument,
                "Required nodelist includes more nodes than permitted by max-node count",
                fmt::format("({} > {})", listed, job.request->max_nodes));
  }
  // Without a number of tasks each node of the list gets one.
  const std::uint32_t count = is_given(options, given_option::kTaskCount)
                                  ? std::min(listed, job.request->task_count)
                                  : listed;
  if (count < listed) {
    const bool is_given = options.is_nodes_written &&
                          job.request->task_count < job.request->min_nodes;  // derive_tasks does
    if (!is_given) {
      warnings.push_back(fmt::format("can't run {} processes on {} nodes, setting nnodes to {}",
                                     count, listed, count));
    }
    names.resize(count);
    job.text.set(JobText::kNodeList, compress_hostlist(names));
  }
  job.request.edit()->min_nodes =
      is_given(options, given_option::kNodes) ? std::max(job.request->min_nodes, count) : count;
  return {};
}

/// With the folder of Muster's programs where a login shell would not find them: a script's srun is
/// the one of its sbatch.
std::string login_path() {
  constexpr std::string_view kStandard = "/usr/local/bin:/usr/bin:/bin";
  const std::string own = program_folder();
  const std::vector<std::string_view> known = split(kStandard, ':');
  if (own.empty() || std::ranges::find(known, own) != known.end()) return std::string(kStandard);
  return fmt::format("{}:{}", own, kStandard);
}

/// The variables that a login gives, for --export without ALL.
void add_login_variables(Environment& variables) {
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!get_variable(variables, name)) set_variable(variables, name, value);
  };
  if (const passwd* user = ::getpwuid(::getuid())) {
    add("HOME", user->pw_dir);
    add("USER", user->pw_name);
    add("LOGNAME", user->pw_name);
    add("SHELL", user->pw_shell);
  }
  add("PATH", login_path());
}

/// What a login shell of the user's has; what is there already stays. Source: sbatch(1),
/// --get-user-env.
Status add_user_environment(Environment& variables) {
  const passwd* user = ::getpwuid(::getuid());
  if (user == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("--get-user-env: there is no user {}", ::getuid()));
  // An empty shell in passwd(5) means /bin/sh.
  const std::string_view shell = *user->pw_shell == '\0' ? "/bin/sh" : user->pw_shell;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, "pipe", std::strerror(errno));
  ProcessSpec process;
  // Bounded: a profile that waits for input would keep the job out for ever. env -0, since values
  // may have line breaks.
  process.arguments = {"timeout", "10", std::string(shell), "-l", "-c", "env -0"};
  // As little as login gives: the rest is the profile's to set.
  process.environment = {fmt::format("HOME={}", user->pw_dir),
                         fmt::format("USER={}", user->pw_name),
                         fmt::format("LOGNAME={}", user->pw_name), fmt::format("SHELL={}", shell),
                         "PATH=" + login_path()};
  process.work_dir = "/";
  process.standard_out = ends[1];
  process.user = ProcessUser{::getuid(), ::getgid(), user->pw_name};
  const auto pid = start_process(process);
  ::close(ends[1]);
  std::string text;
  // Read while it runs: a large environment would fill the pipe.
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0;
       pid.has_value() && (size = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  if (!pid.has_value() || ::waitpid(*pid, &status, 0) != *pid || status != 0) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("--get-user-env: the login shell {} gave no environment", shell));
  }
  for (const std::string& variable : parse_environment(text)) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    // They tell of the shell that was asked, not of the user.
    const bool is_of_the_shell =
        name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_";
    if (!is_of_the_shell && !get_variable(variables, name))
      set_variable(variables, name, variable.substr(equals + 1));
  }
  return {};
}

std::string limits_kept(std::string_view all, std::string_view propagate) {
  // Source: sbatch(1), --propagate.
  if (equal_ignoring_case(propagate, "ALL")) return std::string(all);
  if (equal_ignoring_case(propagate, "NONE")) return "";
  std::string kept;
  const auto wanted = split_words(propagate, ',');
  for (const std::string_view limit : split_words(all, ',')) {
    const std::string_view name = limit.substr(0, limit.find('='));
    // Names are compared without case: nofile, NOFILE.
    if (std::ranges::none_of(wanted,
                             [&](std::string_view w) { return equal_ignoring_case(w, name); }))
      continue;
    kept += (kept.empty() ? "" : ",") + std::string(limit);
  }
  return kept;
}

/// The limits that hold where srun is called go with the step, as SLURM_RLIMIT_NOFILE and its like;
/// the supervisor takes them out.
void add_limits(Environment& variables, std::string_view limits) {
  for (const std::string_view limit : split_words(limits, ',')) {
    const std::size_t equals = limit.find('=');
    set_variable(variables, fmt::format("SLURM_RLIMIT_{}", limit.substr(0, equals)),
                 limit.substr(equals + 1));
  }
}

std::string absolute_path(const SubmittingProcess& scene, std::string_view path) {
  return path.empty() || path.front() == '/' ? std::string(path)
                                             : scene.work_dir + "/" + std::string(path);
}

}  // namespace

// In this order: devices may fix the number of nodes, and nodes that of tasks.
Status complete_request(SubmitOptions& options, Words& warnings) {
  TRY(check_contradictions(options));
  TRY(derive_gres(options));
  TRY(derive_nodes(options, warnings));
  derive_tasks(options, warnings);
  TRY(derive_topology(options));
  derive_spread(options.job);
  if (options.is_exclusive) options.job.sharing = Sharing::kExclusive;
  return {};
}

namespace {

/// What is said for each GPU needs some, and GPUs for each task need a number of tasks.
/// Source: 22.05.8.
Status check_gpu_options(const SubmitOptions& options) {
  // Steps inherit GPUs of their job.
  if (options.inside) return {};
  const JobSpec& job = options.job;
  const auto refuse = [](std::string_view why) {
    return contradiction(fmt::format("{}\nInvalid generic resource (gres) specification", why));
  };
  const bool has_task_count = is_given(options, given_option::kTaskCount);
  const bool has_gpus = gpu_count(options.gpus) + gpu_count(options.gpus_per_node) +
                            gpu_count(options.gpus_per_task) + gpu_count(options.gres) >
                        0;
  const bool is_node_or_task_said =
      has_task_count || is_given(options, given_option::kNodes) || job.request->tasks_per_node != 0;
  if (job.request->tasks_per_gpu != 0 && !has_gpus && !is_node_or_task_said) {
    return refuse(
        "--ntasks-per-gpu needs either a GRES GPU specification or a node/ntask specification");
  }
  // An amount for each GPU without any GPU.
  if (job.request->memory_scope == MemoryScope::kPerGpu && !has_gpus &&
      job.request->tasks_per_gpu == 0) {
    return refuse(fmt::format("Requested mem_per_tres=gres:gpu:{} but did not request any GPU.",
                              job.request->memory_mib));
  }
  if (options.defined.contains("gpus-per-task") && gpu_count(options.gpus) == 0 &&
      !is_node_or_task_said) {
    return refuse(
        "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is "
        "not allowed.");
  }
  if (options.by == Submitter::kRun && job.request->cpus_per_gpu != 0 && !has_gpus &&
      job.request->tasks_per_gpu == 0) {
    return refuse("--cpus-per-gpu without a GPU: ask for some by --gpus or --gres=gpu");
  }
  return {};
}

}  // namespace

Status check_together(const SubmitOptions& options) {
  const bool is_run = options.by == Submitter::kRun;
  // The same CPUs as whole cores and as single ones.
  if (is_run && (options.step.is_exact || options.is_exclusive) && options.is_whole)
    return contradiction("--exact and --whole are mutually exclusive.");
  if (is_run && is_written(options, "overlap") && is_written(options, "exclusive")) {
    return contradiction("--exclusive and --overlap are mutually exclusive");
  }
  const bool is_both =
      options.inside ? is_written(options, "cpus-per-task") && is_written(options, "cpus-per-gpu")
                     : is_given(options, given_option::kCpusPerTask) &&
                           is_given(options, given_option::kCpusPerGpu);
  if (is_both)
    return contradiction(
        "--cpus-per-gpu is mutually exclusive with --cpus-per-task\nInvalid generic resource "
        // A step's options stand beside its job's variables: only what was written counts.
        "(gres) specification");
  if (!options.inside) return {};
  // Slurm's words, with their two blanks.
  if (is_left_empty(options, "nodelist", JobText::kNodeList))
    return contradiction("Hostlist is empty!  Can not run job.");
  const std::string both = TRY(wanted_and_excluded(options));
  if (!both.empty())
    return contradiction(
        fmt::format("Requested node {} is also in the excluded list.\nJob not submitted.", both));
  return {};
}

Status check_acceptable(const SubmitOptions& options) {
  if (options.inside) return {};
  const auto refuse = [](const char* message, std::string detail) {
    return fail(ErrorCode::kInvalidArgument, message, std::move(detail));
  };
  // -p "" names a partition that is not there.
  if (is_left_empty(options, "partition", JobText::kPartition)) {
    return fail(ErrorCode::kInvalidArgument, ErrorCause::kUnknownPartition,
                "Invalid partition name specified", "invalid partition specified: (null)");
  }
  // With a number of nodes it asks for nothing more. Source: Slurm 22.05.8.
  if (is_left_empty(options, "nodelist", JobText::kNodeList) &&
      !is_given(options, given_option::kNodes)) {
    return refuse("Node count specification invalid",
                  "--nodelist names no node: name some, or leave it out");
  }
  const std::string both = TRY(wanted_and_excluded(options));
  if (!both.empty()) {
    return refuse(
        "Invalid node name specified",
        fmt::format("node {} stands in --nodelist and in --exclude: take it out of one", both));
  }
  // By name: who relies on a reservation or license must know that none is kept.
  if (!options.reservation.empty()) {
    return refuse(
        "Requested reservation is invalid",
        fmt::format(
            "there is no reservation '{}': Muster has no reservations yet; leave --reservation out",
            options.reservation));
  }
  if (!options.licenses.empty()) {
    return refuse(
        "Invalid license specification",
        fmt::format("there is no license '{}': Muster counts no licenses yet; leave --licenses out",
                    options.licenses));
  }
  return {};
}

std::optional<int> complete_or_report(const Console& console, SubmitOptions& options) {
  if (options.verbosity > 0) {
    const std::string rule = fmt::format("{0} {0}", std::string(20, '-'));
    console.say("defined options");
    console.say(rule);
    // Source: sbatch(1), --verbose; Slurm's table of options that were set.
    for (const auto& [name, value] : options.defined)
      console.say(fmt::format("{:<20}: {}", name, value));
    console.say(rule);
    console.say("end of defined options");
  }
  if (const Status sound = check_together(options); !sound.has_value())
    return console.fail(sound.error());
  if (const Status acceptable = check_acceptable(options); !acceptable.has_value())
    return refuse_job(console, options.by, acceptable.error());
  // Looked at as it was written, and said after what excludes each other, as Slurm does.
  const Status of_gpus = check_gpu_options(options);
  Words warnings;
  // Slurm ends with fatal and 1 here, whatever SLURM_EXIT_ERROR says.
  if (const Status completed = complete_request(options, warnings); !completed.has_value()) {
    console.fatal(completed.error().text());
    return 1;
  }
  if (!of_gpus.has_value()) return console.fail(of_gpus.error());
  for (const std::string& warning : warnings) console.warn(warning);
  return std::nullopt;
}

JobSpec job_of(const SubmitOptions& options, const SubmittingProcess& scene) {
  JobSpec job = options.job;
  // The job's files get the mask of whoever submits it.
  job.umask = options.umask.value_or(scene.umask);
  job.submit_session = scene.session;
  job.text.set(JobText::kWorkDir, job.get(JobText::kWorkDir).empty()
                                      ? scene.work_dir
                                      : absolute_path(scene, job.get(JobText::kWorkDir)));
  // SLURM_SUBMIT_DIR and WorkDir differ where --chdir was given.
  if (job.get(JobText::kWorkDir) != scene.work_dir)
    job.text.set(JobText::kSubmitDir, scene.work_dir);
  // As scontrol shows it in SubmitLine.
  job.text.set(JobText::kSubmitLine, fmt::format("{}", fmt::join(scene.command_line, " ")));
  job.text.set(JobText::kSubmitHost, scene.host);
  job.text.set(JobText::kRlimits, limits_kept(scene.limits, options.propagate));
  if (options.immediate_seconds) job.is_immediate = true;
  return job;
}

namespace {

void copy_texts(StepSpec& step, const JobSpec& job) {
  step.text.set(StepText::kNodeList, job.get(JobText::kNodeList));
  step.text.set(StepText::kExcludeList, job.get(JobText::kExcludeList));
  step.text.set(StepText::kGresPerNode, job.get(JobText::kGresPerNode));
  step.text.set(StepText::kGresPerTask, job.get(JobText::kGresPerTask));
  step.text.set(StepText::kGresPerStep, job.get(JobText::kGresPerJob));
  step.text.set(StepText::kDistribution, job.get(JobText::kDistribution));
  step.text.set(StepText::kComment, job.get(JobText::kComment));
}

/// Where a standard stream goes: "" and "all" to srun, "none" to /dev/null, a task's number is that
/// task's stream alone. Anything else is a file, a number that no task has too.
void set_stream(StepSpec& step, std::string_view text, StepText path, StepText only_task) {
  if (const auto task = parse_whole32(text); task && *task < step.task_count) {
    step.text.set(only_task, fmt::format("{}", *task));
  } else {
    // Source: srun(1), --output, IO REDIRECTION.
    step.text.set(path, text == "all"    ? std::string_view()
                        : text == "none" ? std::string_view("/dev/null")
                                         : text);
  }
}

void set_streams(StepSpec& step, const JobSpec& job) {
  set_stream(step, job.get(JobText::kStdOut), StepText::kStdOut, StepText::kOutputTask);
  set_stream(step, job.get(JobText::kStdErr), StepText::kStdErr, StepText::kErrorTask);
  set_stream(step, job.get(JobText::kStdIn), StepText::kStdIn, StepText::kInputTask);
  if (job.get(JobText::kStdErr) == "all") step.text.set(StepText::kErrorTask, "all");
}

/// Devices that were asked for and are none ("--gres=none", "--gpus=0") differ from nothing said,
/// which gives a step all.
void set_no_devices(StepSpec& step, const JobSpec& job) {
  constexpr std::uint32_t kDevices = given_option::kGpus | given_option::kGpusPerNode |
                                     given_option::kGpusPerTask | given_option::kGres;
  const bool has_some = !job.get(JobText::kGresPerJob).empty() ||
                        !job.get(JobText::kGresPerNode).empty() ||
                        !job.get(JobText::kGresPerTask).empty();
  if ((job.given & kDevices) != 0 && !has_some) step.text.set(StepText::kGresPerStep, "none");
}

/// --ntasks-per-gpu says how tasks share GPUs, unless a binding does.
void set_gpu_bind(StepSpec& step, const JobSpec& job) {
  // What was written goes before what follows from another option.
  if (!step.get(StepText::kGpuBind).empty() || (job.given & given_option::kTasksPerGpu) == 0)
    return;
  step.text.set(StepText::kGpuBind, fmt::format("single:{}", job.request->tasks_per_gpu));
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

StepSpec step_of(const SubmitOptions& options, const SubmittingProcess& scene,
                 const Words& command) {
  const JobSpec& job = options.job;
  StepSpec step = options.step;
  step.task_count = job.request->task_count;
  copy_texts(step, job);
  set_streams(step, job);
  set_no_devices(step, job);
  set_gpu_bind(step, job);
  const std::string_view name = job.get(JobText::kName);
  // A step is named after its program, as in Slurm.
  step.text.set(StepText::kName, name.empty() ? base_name(command.front()) : std::string(name));
  step.text.set(StepText::kCommand, joined_by_nul(command));
  step.text.set(StepText::kWorkDir, step.get(StepText::kWorkDir).empty()
                                        ? scene.work_dir
                                        : absolute_path(scene, step.get(StepText::kWorkDir)));
  step.text.set(StepText::kSubmitHost,
                scene.address);  // tasks are told of an address, never of a name
  step.text.set(StepText::kSubmitLine, fmt::format("{}", fmt::join(scene.command_line, " ")));
  // 0: as many nodes as the job has.
  step.min_nodes = is_given(options, given_option::kNodes) || !job.get(JobText::kNodeList).empty()
                       ? job.request->min_nodes
                       : 0;
  step.max_nodes = is_given(options, given_option::kNodes) ? job.request->max_nodes : 0;
  step.tasks_per_node = job.request->tasks_per_node;
  step.is_task_count_given = is_given(options, given_option::kTaskCount);
  step.is_cpus_per_task_given = is_given(options, given_option::kCpusPerTask);
  // 0: the step's CPUs follow from the job.
  step.cpus_per_task = step.is_cpus_per_task_given ? job.request->cpus_per_task : 0;
  step.is_gpus_given = !job.get(JobText::kGresPerJob).empty() ||
                       !job.get(JobText::kGresPerTask).empty() ||
                       !job.get(JobText::kGresPerNode).empty();
  step.memory_scope = job.request->memory_scope;
  step.memory_mib = job.request->memory_mib;
  step.is_overcommit = job.request->is_overcommit;
  // A written number of CPUs for each task implies --exact. Source: srun(1), --cpus-per-task.
  step.is_exact =
      !options.is_whole && (step.is_exact || options.is_exclusive || step.is_cpus_per_task_given);
  step.umask = options.umask.value_or(scene.umask);
  return step;
}

void add_step_defaults(Environment& environment, const SubmitOptions& options) {
  const std::string_view gpu_bind = options.step.get(StepText::kGpuBind);
  if (!gpu_bind.empty()) set_variable(environment, "SLURM_GPU_BIND", gpu_bind);
  if (options.job.request->is_overcommit) set_variable(environment, "SLURM_OVERCOMMIT", "1");
  if (!options.hint.empty()) set_variable(environment, "SLURM_HINT", options.hint);
}

Result<Environment> exported_environment(const SubmitOptions& options,
                                         const SubmittingProcess& scene) {
  // The file alone: nothing of the caller's environment. Source: sbatch(1), --export-file.
  if (!options.export_file.empty()) {
    Environment alone = parse_environment(
        TRY(read_file(options.export_file, kEnvironmentBytesMax, "the export file ")));
    add_step_defaults(alone, options);
    return alone;
  }
  // Only where a new job is made from within another: srun in a job wants the job's variables.
  const bool is_nested = options.by != Submitter::kRun && scene.is_inside_job();
  const Environment base = is_nested ? without_job_variables(scene.environment) : scene.environment;
  ExportedEnvironment exported = TRY(apply_export(options.job.get(JobText::kExport), base));
  if (exported.wants_login_environment) add_login_variables(exported.variables);
  if (options.by == Submitter::kRun) {
    // It has been applied: tasks that call srun again start from what they have.
    unset_variable(exported.variables, "SLURM_EXPORT_ENV");
    add_limits(exported.variables, limits_kept(scene.limits, options.propagate));
  } else if (options.is_export_given) {
    // srun within the job exports the same. Source: sbatch(1), SLURM_EXPORT_ENV.
    set_variable(exported.variables, "SLURM_EXPORT_ENV", options.job.get(JobText::kExport));
  }
  add_step_defaults(exported.variables, options);
  // Slurm's variable for the nice value of whoever submitted.
  set_variable(exported.variables, "SLURM_PRIO_PROCESS", std::to_string(scene.nice));
  if (options.is_login_environment) TRY(add_user_environment(exported.variables));
  return exported.variables;
}

std::string joined_by_nul(const Words& words) {
  std::string text;
  for (const std::string& word : words)
    text += (&word == &words.front() ? "" : std::string(1, '\0')) + word;
  return text;
}

}  // namespace muster::cli
