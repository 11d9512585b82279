// Readers of option values. Each checks what this command can know, form and range, and leaves to
// the controller what depends on the cluster; texts are stored as they were written where squeue
// and scontrol show them.

#include "cli/slurm/submit_setters.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/lib/console.h"
#include "cli/lib/session.h"
#include "cli/lib/text_file.h"
#include "slurm/array_text.h"
#include "slurm/binding_text.h"
#include "slurm/dependency_text.h"
#include "slurm/duration_text.h"
#include "slurm/environment_text.h"
#include "slurm/feature_text.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/memory_text.h"
#include "slurm/rank_layout.h"
#include "slurm/signal_text.h"
#include "slurm/time_text.h"
#include "text/words.h"

namespace muster::cli::setters {
namespace {

tl::unexpected<Error> unsupported(std::string what) {
  return fail(ErrorCode::kUnimplemented, std::move(what) + " is not supported by Muster yet");
}

Result<std::uint32_t> read_number_of_nodes(Value given) {
  Value text = given;
  std::uint32_t factor = 1;
  // 2k nodes are 2048. Source: sbatch(1), --nodes.
  if (!text.empty() && (to_lower(text.back()) == 'k' || to_lower(text.back()) == 'm')) {
    factor = to_lower(text.back()) == 'k' ? 1024 : 1024 * 1024;
    text.remove_suffix(1);
  }
  // INT32_MAX: beyond it Slurm takes no count; divided, so that the product fits.
  const auto number = parse_whole32(text, INT32_MAX / factor);
  if (!number || *number == 0)
    return fail(ErrorCode::kInvalidArgument, ErrorCause::kNodeCount,
                fmt::format("\"{}\" is not a valid node count", given));
  return *number * factor;
}

constexpr std::size_t kListFileMax = std::size_t{16} << 20;

/// A file with names of hosts, as one list. The error's detail names the file: what stands before
/// it names the option.
Result<std::string> list_file(const std::string& path, std::string_view what) {
  auto text = read_file(path, kListFileMax, what);
  if (!text.has_value()) return fail(text.error().code, text.error().message, text.error().text());
  // One host in a line, or lists.
  std::ranges::replace(*text, '\n', ',');
  return text;
}

/// A host list as written, or the contents of the file when there is a slash in it.
Result<std::string> hosts(Value value) {
  std::string text(value);
  // Source: sbatch(1), --nodelist.
  if (value.find('/') != Value::npos) {
    text = TRY(list_file(text, "the node file "));
  }
  // As one list, since it is stored and shown as such.
  const auto names = TRY(expand_hostlist(text));
  return compress_hostlist(names);
}

Status memory(SubmitOptions& options, MemoryScope scope, Value value) {
  options.job.request.edit()->memory_mib = TRY(parse_memory(value));
  options.job.request.edit()->memory_scope = scope;
  // Another option of memory replaces it, scope and amount.
  options.job.given |= given_option::kMemory;
  return {};
}

Result<TimePoint> read_time(const SubmitOptions& options, Value value) {
  const TimeContext context{options.context.now, *options.context.zone};
  return parse_time(value, context);
}

Status text_of_nodes(SubmitOptions& options, const std::string& names) {
  return text<JobText::kNodeList>(options, names);
}

/// Part of SOCKETS[:CORES[:THREADS]]; "*" and nothing leave it open.
Status read_part(Value text, SubmitOptions& options, std::uint32_t ResourceRequest::*member) {
  if (text == "*" || text.empty()) return {};
  const std::uint32_t count = TRY(read_count(text, 1));
  set_field(options.job, member, count);
  return {};
}

}  // namespace

Result<std::uint32_t> read_count(Value value, std::uint32_t low) {
  // 2^31 - 1.
  const auto number = parse_whole32(value, 0x7fffffff);
  if (!number || *number < low)
    return fail(ErrorCode::kInvalidArgument, ErrorCause::kNotANumber,
                fmt::format("Invalid numeric value \"{}\"", value));
  return *number;
}

Status as_is(SubmitOptions&, Value) { return {}; }

/// SLURM_DEBUG and its like: as many times --verbose.
Status debug(SubmitOptions& options, Value value) {
  options.verbosity = TRY(read_count(value, 0));
  return {};
}

/// Source: sbatch(1), --gres-flags. Nodes tell no cores of their devices, so that binding to them
/// binds to nothing.
Status gres_flags(SubmitOptions& options, Value value) {
  for (const std::string_view word : split_words(value, ',')) {
    const std::string flag = lower(word);
    if (flag == "allow-task-sharing") {
      // --gpu-bind that was given goes before it.
      if (options.step.get(StepText::kGpuBind).empty()) TRY(gpu_bind(options, "none"));
    } else if (flag == "one-task-per-sharing" || flag == "multiple-tasks-per-sharing") {
      return unsupported(fmt::format("--gres-flags={}", word));
    } else if (flag != "disable-binding" && flag != "enforce-binding") {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("unrecognized --gres-flags argument \"{}\"", word));
    }
  }
  return {};
}

/// Source: srun(1), --hint.
Status hint(SubmitOptions& options, Value value) {
  const std::string word = lower(value);
  const bool is_one_thread = word == "nomultithread" || word == "compute_bound";
  if (word == "memory_bound") return unsupported("--hint=memory_bound (one core of each socket)");
  if (!is_one_thread && word != "multithread") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unrecognized --hint argument \"{}\", see --hint=help", value),
                "compute_bound, nomultithread and multithread are known");
  }
  // Hyperthreads off, or free: what was said of threads before gives way.
  options.job.request.edit()->threads_per_core = is_one_thread ? 1 : 0;
  options.job.given &= ~given_option::kThreadsPerCore;
  if (is_one_thread) options.job.given |= given_option::kThreadsPerCore;
  options.hint = word;
  return {};
}

/// A place for each task. Only what comes out in the cluster's own order can be laid so: each host
/// the same number of times.
Status host_file(SubmitOptions& options, Value value) {
  const std::string text = TRY(list_file(std::string(value), "the host file "));
  const std::vector<std::string> places = TRY(expand_hostlist(text));
  const std::vector<std::string> hosts = sorted_hosts(places);
  // Each host of the list stands for one task.
  if (hosts.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("the host file {} names no host", value));
  const std::size_t each = places.size() / hosts.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Anything else would be the arbitrary distribution.
    if (each * hosts.size() != places.size() || places[i] != hosts[i / each]) {
      return unsupported("a host file with an order of tasks of its own (arbitrary distribution)");
    }
  }
  auto request = options.job.request.edit();
  request->tasks_per_node = static_cast<std::uint32_t>(each);
  request->min_nodes = request->max_nodes = static_cast<std::uint32_t>(hosts.size());
  options.job.given |= given_option::kTasksPerNode | given_option::kNodes;
  return text_of_nodes(options, compress_hostlist(hosts));
}

/// Local memory is what tasks get anyway. Source: srun(1), --mem-bind.
Status mem_bind(SubmitOptions&, Value value) {
  for (const std::string_view word : split_words(value, ',')) {
    const std::string type = lower(word);
    if (type == "none" || type == "no" || type == "local" || type == "quiet" || type == "q" ||
        type == "nosort")
      continue;
    return unsupported(fmt::format("--mem-bind={}", value));
  }
  return {};
}

Status no_kill(SubmitOptions& options, Value value) {
  const bool is_off = equal_ignoring_case(value, "off") || equal_ignoring_case(value, "no");
  if (!value.empty() && !is_off && !equal_ignoring_case(value, "set")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unrecognized --no-kill argument \"{}\"", value));
  }
  // Off means that the job is ended with its node, which is the default.
  options.job.is_kill_on_node_fail = is_off;
  return {};
}

Status tres_bind(SubmitOptions& options, Value value) {
  constexpr Value kOfGpus = "gres/gpu:";
  // "+" joins bindings of several resources: only GPUs can be bound.
  if (!value.starts_with(kOfGpus) || value.find('+') != Value::npos)
    return unsupported(fmt::format("--tres-bind={}", value));
  return gpu_bind(options, value.substr(kOfGpus.size()));
}

/// "NAME:HOST:PORT:VERSION", as srun sets it for itself where there are several clusters.
Status working_cluster(SubmitOptions& options, Value value) {
  return clusters(options, value.substr(0, value.find(':')));
}

Status array(SubmitOptions& options, Value value) {
  TRY(parse_array(value, 4'000'001));  // MaxArraySize is the controller's to check
  return text<JobText::kArray>(options, value);
}

Status begin(SubmitOptions& options, Value value) {
  options.job.begin_time = TRY(read_time(options, value));
  return {};
}

Status clusters(SubmitOptions& options, Value value) {
  const std::string own = find_cluster().cluster_name;
  // Remembered also when it was not named: --parsable prints it.
  options.cluster = own;
  if (equal_ignoring_case(value, own) || equal_ignoring_case(value, "all")) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("No cluster '{}' known by database.", value),
              fmt::format("this cluster is '{}'; Muster submits to one cluster", own));
}

Status constraint(SubmitOptions& options, Value value) {
  TRY(parse_features(value));
  return text<JobText::kFeatures>(options, value);
}

Status prefer(SubmitOptions& options, Value value) {
  TRY(parse_features(value));
  return text<JobText::kPrefer>(options, value);
}

Status cpus_per_task(SubmitOptions& options, Value value) {
  return count<&ResourceRequest::cpus_per_task, given_option::kCpusPerTask>(options, value);
}

Status deadline(SubmitOptions& options, Value value) {
  // Relative times count from when the command began.
  options.job.deadline = TRY(read_time(options, value));
  if (options.job.deadline > options.context.now) return {};
  // Slurm's controller refuses it; the text is its own.
  return fail(ErrorCode::kFailedPrecondition,
              "Requested time limit is invalid (missing or exceeds some limit)",
              "the deadline has passed");
}

Status dependency(SubmitOptions& options, Value value) {
  TRY(parse_dependency(value));
  return text<JobText::kDependency>(options, value);
}

Status directory(SubmitOptions& options, Value value) {
  options.job.text.set(JobText::kWorkDir, value);
  options.step.text.set(StepText::kWorkDir, value);
  return {};
}

/// A job's environment has a plane's size in a variable of its own.
Status distribution(SubmitOptions& options, Value value) {
  std::string whole(value);
  // SLURM_DIST_PLANESIZE belongs to a job's "plane".
  const auto size = environment_value("SLURM_DIST_PLANESIZE");
  if (equal_ignoring_case(value, "plane") && !size.empty()) whole += "=" + std::string(size);
  TRY(parse_distribution(whole));
  options.step.text.set(StepText::kDistribution, whole);
  return text<JobText::kDistribution, given_option::kDistribution>(options, whole);
}

Status exclude(SubmitOptions& options, Value value) {
  const std::string names = TRY(hosts(value));
  return text<JobText::kExcludeList>(options, names);
}

Status exclusive(SubmitOptions& options, Value value) {
  // user, mcs and topo would need placement that is not there.
  if (!value.empty() && !equal_ignoring_case(value, "true"))
    return unsupported(fmt::format("--exclusive={}", value));
  options.is_exclusive = true;
  options.job.given |= given_option::kExclusive;
  return {};
}

Status export_list(SubmitOptions& options, Value value) {
  // A list that cannot be applied is refused here; it is applied when all options are known.
  TRY(apply_export(value, {}));
  options.is_export_given = true;
  return text<JobText::kExport>(options, value);
}

Status export_file(SubmitOptions& options, Value value) {
  // Slurm takes an open descriptor by its number.
  if (parse_whole(value)) return unsupported("--export-file with a file descriptor");
  options.export_file = std::string(value);
  return {};
}

Status extra_node_info(SubmitOptions& options, Value value) {
  const auto parts = split(value, ':');
  if (parts.size() > 3) return fail(ErrorCode::kInvalidArgument, "more than sockets:cores:threads");
  TRY(read_part(parts[0], options, &ResourceRequest::sockets_per_node));
  if (parts.size() > 1) TRY(read_part(parts[1], options, &ResourceRequest::cores_per_socket));
  if (parts.size() > 2) TRY(read_part(parts[2], options, &ResourceRequest::threads_per_core));
  return {};
}

Status cpu_bind(SubmitOptions& options, Value value) {
  TRY(parse_cpu_bind(value));
  return step_text<StepText::kCpuBind>(options, value);
}

Status gpu_bind(SubmitOptions& options, Value value) {
  TRY(parse_gpu_bind(value));
  // As scontrol shows it in TresBind.
  options.job.text.set(JobText::kTresBind, fmt::format("gres/gpu:{}", value));
  options.step.text.set(StepText::kGpuBind, value);
  return {};
}

Status gpus(SubmitOptions& options, Value value) {
  options.gpus = TRY(parse_gpus(value));
  options.job.given |= given_option::kGpus;
  return {};
}
Status gpus_per_node(SubmitOptions& options, Value value) {
  options.gpus_per_node = TRY(parse_gpus(value));
  options.job.given |= given_option::kGpusPerNode;
  return {};
}
Status gpus_per_task(SubmitOptions& options, Value value) {
  options.gpus_per_task = TRY(parse_gpus(value));
  options.job.given |= given_option::kGpusPerTask;
  return {};
}
Status gres(SubmitOptions& options, Value value) {
  options.gres = TRY(parse_gres(value));
  options.job.given |= given_option::kGres;
  return {};
}

Status ignore_signals(SubmitOptions& options, Value value) {
  for (const std::string_view word : split_words(value, ',')) {
    options.ignored_signals.push_back(TRY(parse_signal(word)));
  }
  return {};
}

Status immediate(SubmitOptions& options, Value value) {
  // Without a value one second. Source: salloc(1), --immediate.
  options.immediate_seconds = value.empty() ? 1 : TRY(read_count(value, 1));
  options.step.is_immediate = true;
  return {};
}

Status inside_job(SubmitOptions& options, Value value) {
  options.inside = JobId(TRY(read_count(value, 1)));
  return {};
}

Status kill_command(SubmitOptions& options, Value value) {
  // 15: SIGTERM.
  options.kill_signal = value.empty() ? std::uint16_t{15} : TRY(parse_signal(value));
  return {};
}

Status kill_on_bad_exit(SubmitOptions& options, Value value) {
  // Any number but 0 is yes.
  const std::uint32_t number = value.empty() ? 1 : TRY(read_count(value, 0));
  options.step.kill_on_bad_exit = number == 0 ? 0 : 1;
  return {};
}

Status kill_on_invalid_dependency(SubmitOptions& options, Value value) {
  if (!equal_ignoring_case(value, "yes") && !equal_ignoring_case(value, "no")) {
    return fail(ErrorCode::kInvalidArgument, "write yes or no");
  }
  options.job.kill_on_invalid_dependency = equal_ignoring_case(value, "yes");
  return {};
}

Status mail_type(SubmitOptions& options, Value value) {
  static constexpr std::string_view kKnown[] = {
      "NONE",          "BEGIN",          "END",        "FAIL",       "REQUEUE",
      "ALL",           "INVALID_DEPEND", "STAGE_OUT",  "TIME_LIMIT", "TIME_LIMIT_90",
      "TIME_LIMIT_80", "TIME_LIMIT_50",  "ARRAY_TASKS"};
  std::string canonical;
  for (const std::string_view word : split_words(value, ',')) {
    const auto known = std::ranges::find_if(
        kKnown, [&](std::string_view k) { return equal_ignoring_case(k, word); });
    if (known == std::end(kKnown))
      return fail(ErrorCode::kInvalidArgument, fmt::format("no mail type '{}'", word));
    // In capitals, as Slurm shows them.
    canonical += (canonical.empty() ? "" : ",") + std::string(*known);
  }
  return text<JobText::kMailType>(options, canonical);
}

Status memory_per_node(SubmitOptions& options, Value value) {
  return memory(options, MemoryScope::kPerNode, value);
}
Status memory_per_cpu(SubmitOptions& options, Value value) {
  return memory(options, MemoryScope::kPerCpu, value);
}
Status memory_per_gpu(SubmitOptions& options, Value value) {
  return memory(options, MemoryScope::kPerGpu, value);
}

Status mpi(SubmitOptions& options, Value value) {
  // No plugin of MPI is here: programs start by srun's own means, or mpirun's.
  if (value != "none" && value != "list") return unsupported(fmt::format("--mpi={}", value));
  return step_text<StepText::kMpi>(options, value);
}

Status nice(SubmitOptions& options, Value value) {
  const bool is_negative = !value.empty() && value.front() == '-';
  // 100 without a value; the bounds are those of Slurm.
  const auto number = value.empty() ? std::optional(100U)
                                    : parse_whole32(value.substr(is_negative ? 1 : 0), 2147483645U);
  if (!number)
    return fail(ErrorCode::kInvalidArgument, ErrorCause::kNotANumber,
                fmt::format("Invalid numeric value \"{}\"", value));
  options.job.nice = static_cast<std::int32_t>(*number) * (is_negative ? -1 : 1);
  return {};
}

Status no_requeue(SubmitOptions& options, Value) {
  options.job.is_requeue = false;
  options.job.given |= given_option::kRequeue;
  return {};
}

Status node_list(SubmitOptions& options, Value value) {
  const std::string names = TRY(hosts(value));
  return text<JobText::kNodeList>(options, names);
}

Status node_file(SubmitOptions& options, Value value) {
  // Without a slash node_list would read a host's name.
  const std::string path =
      value.find('/') == Value::npos ? "./" + std::string(value) : std::string(value);
  return node_list(options, path);
}

Status nodes(SubmitOptions& options, Value value) {
  const auto dash = value.find('-');
  options.job.request.edit()->min_nodes = TRY(read_number_of_nodes(value.substr(0, dash)));
  // A single number is both.
  options.job.request.edit()->max_nodes = dash == Value::npos
                                              ? options.job.request->min_nodes
                                              : TRY(read_number_of_nodes(value.substr(dash + 1)));
  options.job.given |= given_option::kNodes;
  if (options.job.request->max_nodes >= options.job.request->min_nodes) return {};
  return fail(ErrorCode::kInvalidArgument, ErrorCause::kNodeCount,
              fmt::format("Maximum node count {} is less than minimum node count {}",
                          options.job.request->max_nodes, options.job.request->min_nodes));
}

Status open_mode(SubmitOptions& options, Value value) {
  if (value.empty() || (to_lower(value[0]) != 'a' && to_lower(value[0]) != 't')) {
    return fail(ErrorCode::kInvalidArgument, "write append or truncate");
  }
  // 0 stays for what the cluster's configuration says.
  options.job.open_mode = options.step.open_mode = to_lower(value[0]) == 'a' ? 2 : 1;
  options.job.given |= given_option::kOpenMode;
  return {};
}

Status overlap(SubmitOptions& options, Value value) {
  // SLURM_OVERLAP and older scripts give it a value.
  static constexpr std::string_view kOn[] = {"", "force", "1", "yes", "true", "on"};
  static constexpr std::string_view kOff[] = {"0", "no", "false", "off"};
  const auto is_among = [&](const auto& words) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return equal_ignoring_case(value, word); });
  };
  if (!is_among(kOn) && !is_among(kOff))
    return fail(ErrorCode::kInvalidArgument, "write force or nothing");
  options.step.is_overlap = is_among(kOn);
  return {};
}

Status priority(SubmitOptions& options, Value value) {
  if (equal_ignoring_case(value, "TOP")) return unsupported("--priority=TOP");
  options.job.priority = TRY(read_count(value, 0));
  // Priority 0 holds a job. Source: sbatch(1), --priority.
  options.job.is_held = options.job.is_held || options.job.priority == 0;
  return {};
}

Status propagate(SubmitOptions& options, Value value) {
  static constexpr std::string_view kNames[] = {"ALL",    "NONE",  "AS",    "CORE",
                                                "CPU",    "DATA",  "FSIZE", "MEMLOCK",
                                                "NOFILE", "NPROC", "RSS",   "STACK"};
  for (const std::string_view word : split_words(value, ',')) {
    const bool is_known = std::ranges::any_of(
        kNames, [&](std::string_view name) { return equal_ignoring_case(name, word); });
    if (!is_known)
      return fail(ErrorCode::kInvalidArgument, fmt::format("Bad rlimit name: {}", word));
  }
  // Without a value all of them. Source: sbatch(1), --propagate.
  options.propagate = value.empty() ? "ALL" : std::string(value);
  return {};
}

Status requeue(SubmitOptions& options, Value value) {
  // As a variable it has a value, of which Slurm makes nothing. `--requeue=expedite` is of
  // Slurm 25.
  if (!is_switched_on(value)) return unsupported(fmt::format("--requeue={}", value));
  options.job.is_requeue = true;
  options.job.given |= given_option::kRequeue;
  return {};
}

Status relative(SubmitOptions& options, Value value) {
  options.step.relative_node = TRY(read_count(value, 0));
  return {};
}

Status shared(SubmitOptions& options, Value) {
  options.job.sharing = Sharing::kShared;
  return {};
}

Status signal(SubmitOptions& options, Value value) {
  // Both: within a job the step is signalled, else the job.
  const SignalOption parsed = TRY(parse_signal_option(value));
  if (parsed.is_at_reservation)
    return unsupported(fmt::format("--signal={} (at a reservation's start)", value));
  options.job.signal_number = options.step.signal_number = parsed.number;
  options.job.signal_seconds = options.step.signal_seconds = parsed.seconds;
  options.job.signal_batch_only = parsed.is_batch_only;
  return {};
}

Status tasks_per_tres(SubmitOptions& options, Value value) {
  return count<&ResourceRequest::tasks_per_gpu, given_option::kTasksPerGpu>(options, value);
}

Status time_limit(SubmitOptions& options, Value value) {
  options.job.time_limit = options.step.time_limit = TRY(parse_time_limit(value));
  options.job.given |= given_option::kTimeLimit;
  return {};
}

Status tmp_disk(SubmitOptions& options, Value value) {
  const std::uint64_t mib = TRY(parse_memory(value));
  // MiB in 32 bits.
  if (mib > UINT32_MAX) return fail(ErrorCode::kInvalidArgument, "no node has so much");
  options.job.request.edit()->tmp_disk_mib = static_cast<std::uint32_t>(mib);
  return {};
}

Status tres_per_task(SubmitOptions& options, Value value) {
  std::string devices;
  // cpu and GPUs are the two that tasks can be given.
  for (const std::string_view part : split_words(value, ',')) {
    if (part.substr(0, 4) == "cpu:" || part.substr(0, 4) == "cpu=") {
      TRY(cpus_per_task(options, part.substr(4)));
      options.has_cpus_of_tres = true;
    } else if (part.substr(0, 8) == "gres/gpu" || part.substr(0, 8) == "gres:gpu") {
      devices += (devices.empty() ? "" : ",") + std::string(part);
    } else {
      return unsupported(fmt::format("--tres-per-task={}", part));
    }
  }
  if (devices.empty()) return {};
  options.gpus_per_task = TRY(parse_gres(devices));
  options.has_gpus_of_tres = true;
  options.job.given |= given_option::kGpusPerTask;
  return {};
}

/// Source: srun(1), SLURM_SRUN_REDUCE_TASK_EXIT_MSG: "set and non-zero".
Status brief_exit_report(SubmitOptions& options, Value value) {
  options.is_exit_report_brief = parse_whole32(value).value_or(0) != 0;
  return {};
}

Status umask(SubmitOptions& options, Value value) {
  std::uint32_t mask = 0;
  for (const char digit : value) {
    if (digit < '0' || digit > '7' || mask > 0777)
      return fail(ErrorCode::kInvalidArgument, "write an octal number");
    mask = mask * 8 + static_cast<std::uint32_t>(digit - '0');
  }
  options.umask = mask & 0777;
  return {};
}

Status verbose(SubmitOptions& options, Value) {
  ++options.verbosity;
  return {};
}

Status wait_for_tasks(SubmitOptions& options, Value value) {
  options.step.wait_seconds = TRY(read_count(value, 0));
  return {};
}

Status wait_all_nodes(SubmitOptions& options, Value value) {
  const std::uint32_t number = TRY(read_count(value, 0));
  // Nodes are always ready: both are accepted.
  if (number > 1) return fail(ErrorCode::kInvalidArgument, "write 0 or 1");
  options.job.wait_all_nodes = number == 1;
  return {};
}

Status wrap(SubmitOptions& options, Value value) {
  options.wrap = std::string(value);
  return {};
}

}  // namespace muster::cli::setters
