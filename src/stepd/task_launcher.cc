// Streams first decide what pipes there are: a file is opened here with the user's rights and given
// to the task, unless lines need labels or are captured; then the task writes into a pipe and the
// supervisor into the file. Without a file the pipe leads to srun.
#include "stepd/task_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "env/posix/write_whole.h"
#include "slurm/file_pattern.h"
#include "slurm/spool_path.h"
#include "stepd/experiment_folder.h"
#include "stepd/task_environment.h"
#include "stepd/task_view.h"
#include "text/words.h"
#include "trials/service_text.h"

namespace muster {
namespace {

constexpr std::uint8_t kAppend = 2;
constexpr std::uint8_t kTruncate = 1;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  return words;
}

ProcessUser user_of(const JobSpec& job) {
  return ProcessUser{job.user.value(), job.group.value(), std::string(job.get(JobText::kUserName))};
}

FilePatternValues pattern_values(const LaunchStep& launch, std::uint32_t rank) {
  FilePatternValues values;
  values.job = launch.id.job;
  values.array_job = launch.array_job;
  if (launch.array_job.value() != 0) values.array_index = launch.array_index;
  values.step = launch.id.step;
  values.host = launch.node_name;
  values.node_index = launch.node_rank;
  values.task = rank;
  values.user = std::string(launch.job->get(JobText::kUserName));
  values.job_name = std::string(launch.job->name());
  values.restart_count = launch.restart_count;
  return values;
}

std::string absolute(std::string_view folder, std::string path) {
  if (path.empty() || path.front() == '/') return path;
  return std::string(folder) + "/" + path;
}

/// Opens files once each: several tasks may name the same one.
class Files {
 public:
  Files(const LaunchStep& launch, std::string_view work_dir)
      : launch_(launch), work_dir_(work_dir), user_(user_of(*launch.job)) {}
  ~Files() {
    for (const auto& [path, fd] : open_) ::close(fd);
  }
  Result<int> output(std::string_view pattern, std::uint32_t rank, bool is_append) {
    const std::string path =
        absolute(work_dir_, expand_file_pattern(pattern, pattern_values(launch_, rank)));
    // The same file for output and errors, or for several tasks: one descriptor, so that nobody
    // overwrites the others.
    if (const auto found = open_.find(path); found != open_.end()) return found->second;
    const std::string folder = path.substr(0, path.rfind('/'));
    // Before the folder of the file, which may lie in it.
    TRY(make_experiment_folder(launch_, user_));
    if (!folder.empty()) TRY(make_folders_as(user_, folder, 0777 & ~launch_.job->umask));
    // O_APPEND in both modes: two tasks that share a truncated file append to it.
    const int mode = is_append ? O_APPEND : O_TRUNC;
    const int fd =
        TRY(open_as(user_, path, O_WRONLY | O_CREAT | O_APPEND | mode, 0666 & ~launch_.job->umask));
    open_[path] = fd;
    return fd;
  }
  Result<int> input(std::string_view pattern, std::uint32_t rank) {
    const std::string path =
        absolute(work_dir_, expand_file_pattern(pattern, pattern_values(launch_, rank)));
    const int fd = TRY(open_as(user_, path, O_RDONLY, 0));
    // The key only keeps it open until the tasks have it.
    open_[path + "\n" + std::to_string(rank)] = fd;  // each task reads from the beginning
    return fd;
  }

 private:
  const LaunchStep& launch_;
  std::string_view work_dir_;
  ProcessUser user_;
  std::map<std::string, int> open_;
};

/// Where one of the tasks' output streams goes.
struct OutputRule {
  std::string pattern;    ///< a file of this node; empty: to srun, or nowhere when there is none
  std::string only_task;  ///< of this task alone, the others' nowhere; empty: of all
};

/// The rules and modes of the streams, of the batch script or of the step.
struct Streams {
  std::string_view work_dir;
  OutputRule out;
  OutputRule error;
  std::string in;
  bool is_append = false;
  bool is_piped = false;  ///< what has no file goes to srun
  bool is_labelled = false;
};

Streams streams_of_script(const LaunchStep& launch) {
  const JobSpec& job = *launch.job;
  Streams streams;
  streams.work_dir = job.get(JobText::kWorkDir);
  streams.out.pattern = std::string(job.get(JobText::kStdOut));
  // Source: sbatch(1), --output.
  if (streams.out.pattern.empty())
    streams.out.pattern = launch.array_job.value() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  streams.error.pattern = std::string(job.get(JobText::kStdErr));
  // Errors go with the output where no file was named for them.
  if (streams.error.pattern.empty()) streams.error = streams.out;
  streams.in =
      job.get(JobText::kStdIn).empty() ? "/dev/null" : std::string(job.get(JobText::kStdIn));
  streams.is_append =
      // --open-mode, else JobFileAppend of the configuration.
      job.open_mode == kAppend || (launch.is_file_append && job.open_mode != kTruncate);
  return streams;
}

/// A file that all tasks share is srun's to write: supervisors of several nodes would empty it
/// under each other.
OutputRule output_rule(std::string_view pattern, std::string_view only_task, bool is_piped) {
  return {is_piped && is_gathered(pattern) ? std::string() : std::string(pattern),
          std::string(only_task)};
}

Streams streams_of(const LaunchStep& launch) {
  if (launch.step == nullptr) return streams_of_script(launch);
  const StepSpec& step = *launch.step;
  Streams streams;
  streams.work_dir = step.get(StepText::kWorkDir).empty() ? launch.job->get(JobText::kWorkDir)
                                                          : step.get(StepText::kWorkDir);
  streams.is_piped = !step.get(StepText::kIoAddress).empty();
  streams.out =
      output_rule(step.get(StepText::kStdOut), step.get(StepText::kOutputTask), streams.is_piped);
  const std::string_view error_task = step.get(StepText::kErrorTask);
  // Source: srun(1), --error.
  const bool is_like_output = step.get(StepText::kStdErr).empty() && error_task.empty();
  streams.error = is_like_output
                      ? streams.out
                      : output_rule(step.get(StepText::kStdErr),
                                    error_task == "all" ? "" : error_task, streams.is_piped);
  streams.in = std::string(step.get(StepText::kStdIn));
  if (streams.in == "none") streams.in = "/dev/null";
  streams.is_append = step.open_mode == kAppend;
  streams.is_labelled = step.is_label;
  return streams;
}

/// A pair of connected ends: ours and the task's.
struct Pipe {
  int ours = -1;
  int theirs = -1;
};

Result<Pipe> make_pipe(bool is_input) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail(disk_error("cannot make a pipe", errno));
  return is_input ? Pipe{fds[1], fds[0]} : Pipe{fds[0], fds[1]};
}

/// "NOFILE=1024,CORE=0" from SLURM_RLIMIT_NOFILE=1024 and its like, which the tasks do not see.
std::string extract_limits(Environment& environment) {
  constexpr std::string_view kPrefix = "SLURM_RLIMIT_";
  std::string limits;
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPrefix))
      limits += (limits.empty() ? "" : ",") + variable.substr(kPrefix.size());
  }
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(kPrefix); });
  return limits;
}

class TaskStarter {
 public:
  TaskStarter(const LaunchStep& launch, const StepdOptions& options, const RankLayout& layout,
              TaskBinding binding, const std::string& enter_file, bool is_captured)
      : launch_(launch),
        options_(options),
        ranks_(layout[launch.node_rank]),
        streams_(streams_of(launch)),
        files_(launch, streams_.work_dir),
        binding_(std::move(binding)),
        environment_(node_environment(launch, layout, binding_, options.conf_path)),
        enter_file_(enter_file),
        is_captured_(is_captured) {
    limits_ = extract_limits(environment_);
    const bool is_trial = launch.job->trial.value() != 0;
    // By its mark a step's processes are found where no cgroup knows them (marked_processes.h).
    const std::string mark = step_mark(options.spool, launch.id);
    set_variable(environment_, mark.substr(0, mark.find('=')), mark.substr(mark.find('=') + 1));
    if (is_trial && !options.program_folder.empty())
      set_variable(environment_, "MUSTER_PROGRAMS", options.program_folder);
    // Scripts call muster and srun by name, and who sent them over HTTP has no PATH that knows
    // these.
    const bool is_platforms = is_trial || service_kind(*launch.job).has_value();
    if (is_platforms && !options.program_folder.empty())
      add_search_folder(environment_, options.program_folder);
    if (launch.job->trial.value() != 0)
      set_variable(environment_, "MUSTER_STOP_FILE", stop_path(options.spool, launch.id));
  }

  Result<StartedTasks> start(ExitStatus& failed_with) {
    view_ = TRY(make_task_view(launch_, options_, user_of(*launch_.job)));
    StartedTasks started;
    for (std::uint32_t local = 0; local < ranks_.size(); ++local) {
      auto task = start_one(local);
      // A stream ends when nobody holds its other end, and neither may we.
      close_theirs();
      if (!task.has_value()) {
        // All tasks of a step start, or none.
        for (const StartedTask& earlier : started.tasks) ::kill(earlier.pid, SIGKILL);
        // Slurm's exit for a program that cannot be executed is the error's number.
        failed_with = ExitStatus::exited(exec_error_ != 0 ? exec_error_ : 1);
        if (launch_.step == nullptr && notice_fd_ >= 0)
          notify(fmt::format("slurmstepd: error: {}\n", task.error().text()));
        return fail(task.error());
      }
      started.tasks.push_back(*task);
    }
    if (launch_.step == nullptr && notice_fd_ >= 0)
      // A copy: files_ close with this object, and a notice may come later.
      started.notice_fd = ::fcntl(notice_fd_, F_DUPFD_CLOEXEC, 10);
    return started;
  }

 private:
  Result<StartedTask> start_one(std::uint32_t local) {
    StartedTask task;
    task.rank = ranks_[local];
    ProcessSpec spec = process(local);
    TRY(connect(spec, task));
    const int error = spec.standard_error;
    // In the child, which alone knows its own id.
    spec.finish_environment = [this, local, error](std::vector<std::string>& variables, pid_t pid) {
      add_task_variables(variables, launch_, binding_, {ranks_[local], local, pid});
      const std::string notice = binding_notice(binding_, launch_, local, ranks_[local], pid);
      if (!notice.empty() && error >= 0) [[maybe_unused]]
        const auto ignored = ::write(error, notice.data(), notice.size());
    };
    spec.arguments = TRY(arguments(task.rank));
    task.pid = TRY(start_process(spec, &exec_error_));
    return task;
  }
  void notify(const std::string& text) const {
    [[maybe_unused]] const auto ignored = ::write(notice_fd_, text.data(), text.size());
  }

  ProcessSpec process(std::uint32_t local) {
    const JobSpec& job = *launch_.job;
    ProcessSpec spec;
    spec.environment = environment_;
    spec.work_dir = std::string(streams_.work_dir);
    spec.umask = launch_.step == nullptr ? job.umask : launch_.step->umask;
    // srun's own limits, else those of the submission.
    spec.limits = limits_.empty() ? std::string(job.get(JobText::kRlimits)) : limits_;
    spec.user = user_of(job);
    spec.enter_file = enter_file_;
    spec.view = view_;
    spec.cpus = real_cpus(binding_.cpus[local]);
    return spec;
  }

  Status connect(ProcessSpec& spec, StartedTask& task) {
    if (!streams_.in.empty()) {
      spec.standard_in = TRY(files_.input(streams_.in, task.rank));
    } else if (streams_.is_piped && accepts_input(task.rank)) {
      const Pipe pipe = TRY(make_pipe(true));
      task.input = pipe.ours;
      spec.standard_in = theirs(pipe.theirs);
    }
    TRY(connect_output(streams_.out, task.rank,
                       OutputEnds{spec.standard_out, task.output, task.output_file}));
    TRY(connect_output(streams_.error, task.rank,
                       OutputEnds{spec.standard_error, task.error, task.error_file}));
    return {};
  }

  struct OutputEnds {
    int& theirs;
    int& ours;
    int& file;
  };
  Status connect_output(const OutputRule& rule, std::uint32_t rank, OutputEnds ends) {
    if (!rule.only_task.empty() && rule.only_task != std::to_string(rank)) return {};
    if (!rule.pattern.empty()) {
      const int file = TRY(files_.output(rule.pattern, rank, streams_.is_append));
      if (&rule == &streams_.error) notice_fd_ = file;
      if (!streams_.is_labelled && !is_captured_) {
        ends.theirs = file;
        return {};
      }
      // Moved above the standard streams.
      ends.file = ::fcntl(file, F_DUPFD_CLOEXEC, 10);
    } else if (!streams_.is_piped) {
      return {};
    }
    const Pipe pipe = TRY(make_pipe(false));
    ends.ours = pipe.ours;
    ends.theirs = theirs(pipe.theirs);
    return {};
  }

  bool accepts_input(std::uint32_t rank) const {
    const std::string_view only = launch_.step->get(StepText::kInputTask);
    return only.empty() || only == std::to_string(rank);
  }

  Result<std::vector<std::string>> arguments(std::uint32_t) {
    if (launch_.step != nullptr) return words_of(launch_.step->get(StepText::kCommand));
    const std::string path = TRY(write_script());
    std::vector<std::string> words = {path};
    const std::string_view more = launch_.job->get(JobText::kScriptArgs);
    if (!more.empty()) {
      for (std::string& word : words_of(more)) words.push_back(std::move(word));
    }
    return words;
  }

  /// The script as a file of the user's own, in the node's spool.
  Result<std::string> write_script() {
    const std::string folder = run_folder(options_.spool, launch_.id);
    // An earlier launch may have made it.
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      return fail(disk_error("could not make " + folder, errno));
    const std::string path = script_path(options_.spool, launch_.id);
    ::unlink(path.c_str());  // an earlier try's
    // 0700 and the user's: it is executed with his rights.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    if (fd < 0) return fail(disk_error("could not write " + path, errno));
    const int error = write_whole(fd, *launch_.script);
    // An ordinary user's agent owns it anyway.
    [[maybe_unused]] const int ignored =
        ::fchown(fd, launch_.job->user.value(), launch_.job->group.value());
    ::close(fd);
    if (error != 0) return fail(disk_error("could not write " + path, error));
    return path;
  }

  int theirs(int fd) {
    theirs_.push_back(fd);
    return fd;
  }
  void close_theirs() {
    for (const int fd : theirs_) ::close(fd);
    theirs_.clear();
  }

  const LaunchStep& launch_;
  const StepdOptions& options_;
  const std::vector<std::uint32_t>& ranks_;
  Streams streams_;
  Files files_;
  TaskBinding binding_;
  Environment environment_;
  std::string enter_file_;
  bool is_captured_;
  std::string limits_;  ///< that srun was called under; empty: the job's
  MountView view_;
  int notice_fd_ = -1;
  int exec_error_ = 0;
  std::vector<int> theirs_;
};

}  // namespace

Bitmap real_cpus(const Bitmap& cpus) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};
  // Muster's CPU numbers may exceed the machine's (pretended nodes): modulo what this process may
  // use.
  std::vector<std::size_t> real;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mine)) real.push_back(cpu);
  }
  Bitmap result;
  if (!real.empty()) cpus.for_each([&](std::size_t cpu) { result.set(real[cpu % real.size()]); });
  return result;
}

Result<StartedTasks> start_tasks(const LaunchStep& launch, const StepdOptions& options,
                                 const RankLayout& layout, const std::string& enter_file,
                                 bool is_captured, ExitStatus& failed_with) {
  failed_with = ExitStatus::exited(1);
  const auto task_count = static_cast<std::uint32_t>(layout[launch.node_rank].size());
  TaskBinding binding = TRY(bind_tasks(launch, task_count, options.shape));
  return TaskStarter(launch, options, layout, std::move(binding), enter_file, is_captured)
      .start(failed_with);
}

}  // namespace muster
