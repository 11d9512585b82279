// scontrol: shows objects, changes them, and turns host lists into names and back.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/lib/commands.h"
#include "cli/lib/filters.h"
#include "cli/lib/job_selector.h"
#include "cli/lib/option_reader.h"
#include "cli/lib/session.h"
#include "cli/lib/text_file.h"
#include "cli/slurm/record_text.h"
#include "env/posix/conf_files.h"
#include "env/posix/write_whole.h"
#include "slurm/array_text.h"
#include "slurm/conf/conf_shown.h"
#include "slurm/hostlist.h"
#include "slurm/time_text.h"
#include "slurm/update_keys.h"
#include "text/words.h"

namespace muster::cli {
namespace {

struct ScontrolOptions {
  bool is_one_line = false;
  std::uint32_t details = 0;
  bool is_quiet = false;
  bool is_cluster_named = false;
};

using O = ScontrolOptions;

Status one_line(O& options, std::string_view) {
  options.is_one_line = true;
  return {};
}
Status details(O& options, std::string_view) {
  ++options.details;
  return {};
}
Status quiet(O& options, std::string_view) {
  options.is_quiet = true;
  return {};
}
Status clusters(O& options, std::string_view value) {
  options.is_cluster_named = true;
  return check_clusters(value);
}

constexpr OptionRow<O> kOptions[] = {
    {"all", 'a', Takes::kNothing, holds_anyway, "hidden partitions too (they always show)"},
    {"clusters", 'M', Takes::kValue, clusters, "this cluster's own name; there are no others"},
    {"details", 'd', Takes::kNothing, details, "devices and CPUs of each node"},
    {"future", 'F', Takes::kNothing, holds_anyway, ""},
    {"hide", 0, Takes::kNothing, holds_anyway, ""},
    {"json", 0, Takes::kMaybe, nullptr, ""},
    {"local", 0, Takes::kNothing, holds_anyway, ""},
    {"oneliner", 'o', Takes::kNothing, one_line, "each object on one line"},
    {"quiet", 'Q', Takes::kNothing, quiet, "say nothing about what failed"},
    {"sibling", 0, Takes::kNothing, nullptr, ""},
    {"uid", 'u', Takes::kValue, nullptr, ""},
    {"verbose", 'v', Takes::kNothing, holds_anyway, ""},
    {"yaml", 0, Takes::kMaybe, nullptr, ""},
};

/// What every verb works with. The session is made when it is first needed: host lists need no
/// controller.
struct Call {
  const Console& console;
  const O& options;
  Words words;  ///< after the verb
  std::optional<Session> session = {};
  Session& controller() {
    if (!session) session.emplace(console);
    return *session;
  }
  ShowContext context() { return show_context(controller().cluster().cluster_name); }
  std::string word(std::size_t index) const {
    return index < words.size() ? words[index] : std::string();
  }

  /// Says what failed on standard error without the command's name, where Slurm does so.
  int failed(std::string_view text) const {
    // Answers that were printed stand before it.
    std::fflush(stdout);
    const std::string line = fmt::format("{}\n", text);
    // -Q silences the text, not the exit code.
    if (!options.is_quiet) std::fwrite(line.data(), 1, line.size(), stderr);
    return 1;
  }
};

// ---- host lists ----

/// The list named, or that of the job that we are inside of.
std::string list_or_own(const Call& call) {
  if (!call.word(0).empty()) return call.word(0);
  // Without a list the job's own. Source: scontrol(1), show hostnames.
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (const auto value = environment_value(name); !value.empty()) return std::string(value);
  }
  return "";
}

int show_hostnames(Call& call) {
  const std::string list = list_or_own(call);
  if (list.empty()) return call.failed("must specify hostnames list or set SLURM_NODELIST");
  const auto names = expand_hostlist(list);
  if (!names.has_value()) return call.failed(names.error().text());
  for (const std::string& name : *names) print(name + "\n");
  return 0;
}

int compress(Call& call, bool is_sorted) {
  std::string text = call.word(0);
  if (text.empty()) return call.failed("host list not specified");
  // A path is a file of names.
  if (text.front() == '/') {
    auto read = read_file(text);
    if (!read.has_value()) return call.failed(read.error().text());
    text = std::move(*read);
  }
  const auto names = expand_hostlist(text);
  if (!names.has_value()) return call.failed(names.error().text());
  print((is_sorted ? sorted_hostlist(*names) : compress_hostlist(*names)) + "\n");
  return 0;
}
int show_hostlist(Call& call) { return compress(call, false); }
int show_hostlist_sorted(Call& call) { return compress(call, true); }

// ---- jobs and steps ----

/// An array's record without elements stands for nothing any more.
bool is_shown(const JobView& job) {
  return job.array_job.value() == 0 || job.array_index || job.array_remaining_count != 0;
}

int show_jobs(Call& call) {
  Query query;
  if (!call.words.empty()) {
    const auto selector = parse_job_selector(call.words.front());
    // Slurm's texts of slurm_load_jobs and its like: scripts look for them.
    if (!selector.has_value())
      return call.failed("scontrol_print_job error: Invalid job id specified");
    query.filter.jobs.push_back(*selector);
  }
  const auto page = call.controller().query(query);
  if (!page.has_value())
    return call.failed(fmt::format("slurm_load_jobs error: {}", page.error().message));
  const ShowContext context = call.context();
  std::size_t count = 0;
  for (const JobView& job : page->jobs) {
    if (!is_shown(job)) continue;
    print(job_record(job, context, call.options.details > 0, call.options.is_one_line));
    ++count;
  }
  if (count > 0) return 0;
  if (query.filter.jobs.empty()) {
    // Nothing to show is no failure without an id.
    print("No jobs in the system\n");
    return 0;
  }
  return call.failed(fmt::format("Job {} not found", selector_text(query.filter.jobs.front())));
}

int show_steps(Call& call) {
  Query query;
  query.kind = QueryKind::kSteps;
  std::optional<std::uint32_t> step_number;
  if (!call.words.empty()) {
    const auto selector = parse_job_selector(call.words.front());
    if (!selector.has_value())
      return call.failed(fmt::format("Invalid job id specified: {}", call.words.front()));
    step_number = selector->step;
    query.filter.jobs.push_back(*selector);
    // The controller is asked for the job, and the step is found here: the same number may be of
    // several runs.
    query.filter.jobs.back().step.reset();
  }
  const auto page = call.controller().query(query);
  if (!page.has_value())
    return call.failed(fmt::format("slurm_get_job_steps error: {}", page.error().message));
  const ShowContext context = call.context();
  std::size_t count = 0;
  for (const StepView& step : page->steps) {
    if (step_number && step.id.step != *step_number) continue;
    print(step_record(step, context, call.options.is_one_line));
    ++count;
  }
  if (count > 0) return 0;
  if (call.words.empty()) {
    print("No job steps in the system\n");
    return 0;
  }
  return call.failed(fmt::format("Job step {} not found", call.words.front()));
}

// ---- nodes, partitions, the controller ----

int show_nodes(Call& call) {
  Query query;
  query.kind = QueryKind::kNodes;
  std::vector<std::string> wanted;
  if (!call.words.empty()) {
    if (const Status done = add_nodes(call.words.front(), wanted); !done.has_value())
      return call.failed(done.error().text());
  }
  const auto page = call.controller().query(query);
  if (!page.has_value())
    return call.failed(fmt::format("slurm_load_node error: {}", page.error().message));
  const ShowContext context = call.context();
  const auto show = [&](const NodeView& node) {
    print(node_record(node, context, call.options.details > 0, call.options.is_one_line));
  };
  // Without names every node, in the order of the configuration.
  if (wanted.empty()) std::ranges::for_each(page->nodes, show);
  int code = 0;
  for (const std::string& name : wanted) {
    const auto node =
        std::ranges::find(page->nodes, name, [](const NodeView& view) { return view.config.name; });
    if (node == page->nodes.end()) {
      // On standard output, as Slurm has it.
      print(fmt::format("Node {} not found\n", name));
      code = 1;
    } else {
      show(*node);
    }
  }
  return code;
}

int show_partitions(Call& call) {
  Query query;
  query.kind = QueryKind::kPartitions;
  const auto page = call.controller().query(query);
  if (!page.has_value())
    return call.failed(fmt::format("slurm_load_partitions error: {}", page.error().message));
  bool is_found = call.words.empty();
  for (const PartitionView& partition : page->partitions) {
    if (!call.words.empty() && partition.config.name != call.words.front()) continue;
    print(partition_record(partition, call.options.is_one_line));
    is_found = true;
  }
  if (is_found) return 0;
  print(fmt::format("Partition {} not found\n", call.words.front()));
  return 1;
}

int ping(Call& call) {
  Query query;
  query.kind = QueryKind::kPing;
  const auto page = call.controller().query(query);
  // A controller that answers while it still starts counts as down.
  const bool is_up = page.has_value() && page->ping && page->ping->is_ready;
  // Without an answer the address from the configuration.
  const std::string host =
      page.has_value() && page->ping ? page->ping->host : call.controller().cluster().controller;
  print(fmt::format("Slurmctld(primary) at {} is {}\n", host, is_up ? "UP" : "DOWN"));
  // Beside the answer, which programs read.
  if (is_up) {
    for (const std::string& warning : page->ping->warnings) call.console.warn(warning);
  }
  // Exit code 1 when it is down: scripts wait by it.
  return is_up ? 0 : 1;
}

std::optional<std::uint32_t> find_uid(std::string_view name) {
  if (const auto number = parse_whole32(name)) return *number;
  const passwd* entry = ::getpwnam(std::string(name).c_str());
  return entry == nullptr ? std::nullopt : std::optional<std::uint32_t>(entry->pw_uid);
}

/// Whether the controller goes by what the file says now. Source: scontrol(1), HASH_VAL.
std::string_view compare_with_file(const std::string& path, ShownConfig theirs) {
  const auto text = read_conf_file(path);
  // Without the file nothing can be compared.
  if (!text.has_value()) return "(null)";
  ShownConfig ours = read_slurm_conf(path, *text, include_reader(path)).cluster.settings.shown;
  show_users(ours, "", find_uid);
  // They differ by nature, or between numbers and names.
  for (const std::string_view key : {"BOOT_TIME", "NEXT_JOB_ID", "SlurmdUser"}) {
    for (ShownConfig* shown : {&ours, &theirs}) {
      if (std::string* value = find_shown(*shown, key)) value->clear();
    }
  }
  // Administrators see by it whether a reconfigure is due.
  return ours == theirs ? "Match" : "Different";
}

/// What the controller cannot know of itself, or says in numbers.
void complete_shown(ShownConfig& shown, Call& call) {
  const std::string path = call.controller().cluster().conf;
  const std::string hash(compare_with_file(path, shown));
  const auto set = [&](std::string_view key, std::string text) {
    if (std::string* value = find_shown(shown, key)) *value = std::move(text);
  };
  set("HASH_VAL", hash);
  set("SLURM_CONF", path);
  // Without the name that stands before the version.
  set("SLURM_VERSION", std::string(kSlurmVersion.substr(kSlurmVersion.find(' ') + 1)));
  if (const std::string* boot = find_shown(shown, "BOOT_TIME")) {
    const auto seconds = parse_whole(*boot);
    set("BOOT_TIME",
        seconds ? call.context().time(TimePoint::from_seconds(static_cast<std::int64_t>(*seconds)),
                                      "Unknown")
                : "Unknown");
  }
}

int show_config(Call& call) {
  Query query;
  query.kind = QueryKind::kConfig;
  const auto page = call.controller().query(query);
  if (!page.has_value() || !page->settings) {
    return call.failed(fmt::format("slurm_load_ctl_conf error: {}",
                                   page.has_value() ? "no configuration" : page.error().message));
  }
  ClusterSettings settings = *page->settings;
  complete_shown(settings.shown, call);
  print(config_text(settings, call.context()));
  print("\n");
  // Slurm ends the list with the state of its controllers.
  return ping(call);
}

int show_reservations(Call&) {
  // There are none, and to say so keeps scripts going.
  print("No reservations in the system\n");
  return 0;
}
int show_licenses(Call&) {
  print("No licenses configured in Slurm.\n");
  return 0;
}

/// Kinds of objects; `name` may be cut down to its first `least` letters.
struct Kind {
  std::string_view name;
  std::size_t least;
  int (*show)(Call&);
};
constexpr Kind kKinds[] = {
    {"hostnames", 5, show_hostnames},
    {"hostlist", 6, show_hostlist},
    {"hostlistsorted", 9, show_hostlist_sorted},
    {"config", 1, show_config},
    {"jobs", 1, show_jobs},
    {"jobid", 4, show_jobs},
    {"nodes", 1, show_nodes},
    {"nodename", 5, show_nodes},
    {"partitions", 1, show_partitions},
    {"partitionname", 10, show_partitions},
    {"steps", 2, show_steps},
    {"stepid", 5, show_steps},
    {"reservations", 1, show_reservations},
    {"reservationname", 12, show_reservations},
    {"licenses", 2, show_licenses},
};

const Kind* find_kind(std::string_view word) {
  for (const Kind& kind : kKinds) {
    // Abbreviations as long as Slurm wants them: `show p`, but `show hostn`.
    if (word.size() >= kind.least && is_abbreviation(word, kind.name)) return &kind;
  }
  return nullptr;
}

/// "show KIND [NAME]" and "show KIND=NAME".
int show(Call& call) {
  if (call.words.empty()) return call.failed("too few arguments for keyword:show");
  std::string kind_word = call.words.front();
  call.words.erase(call.words.begin());
  // show job=12.
  if (const auto equals = kind_word.find('='); equals != std::string::npos) {
    call.words.insert(call.words.begin(), kind_word.substr(equals + 1));
    kind_word.resize(equals);
  }
  const Kind* kind = find_kind(kind_word);
  if (kind == nullptr) {
    return call.console.fail(Error{ErrorCode::kInvalidArgument,
                                   fmt::format("invalid entity:{} for keyword:show", kind_word),
                                   "known here: job, step, node, partition, config, hostnames, "
                                   "hostlist, hostlistsorted, reservation, license"});
  }
  return kind->show(call);
}

// ---- control ----

/// The jobs of that name that have not ended, whoever's they are: the controller says which of them
/// the caller may change.
Result<std::vector<JobSelector>> jobs_of_name(Call& call, const std::string& name) {
  Query query;
  query.detail = QueryDetail::kBrief;
  query.filter.is_active_only = true;
  query.filter.names = {name};
  const Page page = TRY(call.controller().query(query));
  std::vector<JobSelector> jobs;
  for (const JobView& job : page.jobs) jobs.push_back(JobSelector{job.id, {}, false, std::nullopt});
  return jobs;
}

struct NamedJobs {
  std::vector<JobSelector> jobs;
  Words others;  ///< NAME=VALUE words about something else
};

/// Ids as words, lists, or JobId=...; names as JobName=..., where the verb `takes_names`. No jobs:
/// none has the name.
Result<NamedJobs> named_jobs(Call& call, bool takes_names) {
  NamedJobs named;
  bool is_any_named = false;
  for (const std::string& word : call.words) {
    const auto equals = word.find('=');
    const std::string key = lower(word.substr(0, equals));
    if (equals != std::string::npos && (key == "jobname" || key == "name")) {
      // Other verbs must not reach jobs of a name by mistake.
      if (!takes_names)
        return fail(ErrorCode::kInvalidArgument, "Invalid job id specified for job " + word);
      is_any_named = true;
      for (JobSelector& job : TRY(jobs_of_name(call, word.substr(equals + 1))))
        named.jobs.push_back(std::move(job));
      continue;
    }
    if (equals != std::string::npos && key != "jobid" && key != "job" && key != "jobs") {
      named.others.push_back(word);
      continue;
    }
    is_any_named = true;
    for (JobSelector& job :
         TRY(parse_job_selectors(equals == std::string::npos ? word : word.substr(equals + 1))))
      named.jobs.push_back(std::move(job));
  }
  if (!is_any_named) return fail(ErrorCode::kInvalidArgument, "too few arguments", "name a job");
  return named;
}

/// "... for job 12"; of elements "12_4-5: ...". Source: Slurm 22.05.8.
std::string refusal_text(const JobSelector& job, const Error& error) {
  if (!job.is_element) return fmt::format("{} for job {}", error.text(), selector_text(job));
  return fmt::format("{}_{}: {}", job.job.value(), array_indices_text(job.indices), error.text());
}

/// Prints what failed, each job in a line of its own, and elements that failed alike in one.
int report(Call& call, const Result<Reply>& reply) {
  if (!reply.has_value()) return call.failed(reply.error().text());
  if (reply->error) return call.failed(reply->error->text());
  for (const std::string& warning : reply->warnings) call.failed(warning);
  int code = 0;
  for (const JobOutcome& outcome : reply->outcomes) {
    if (outcome.error) code = call.failed(refusal_text(outcome.job, *outcome.error));
  }
  return code;
}

int control(Call& call, JobVerb verb) {
  const bool is_hold =
      verb == JobVerb::kHold || verb == JobVerb::kUserHold || verb == JobVerb::kRelease;
  auto named = named_jobs(call, is_hold);
  if (!named.has_value()) return call.failed(named.error().text());
  for (const std::string& value : named->others) {
    // State=SpecialExit turns requeuehold into its own verb.
    if (verb != JobVerb::kRequeueHold || lower(value) != "state=specialexit")
      return call.failed(fmt::format("Invalid option: {}", value));
    verb = JobVerb::kRequeueSpecialExit;
  }
  if (named->jobs.empty()) {
    call.failed("no job of that name waits or runs");
    return 0;  // as Slurm's: scripts hold what may be there
  }
  const auto reply =
      call.controller().submit_one(ControlJobs{verb, std::move(named->jobs), own_job()});
  const int code = report(call, reply);
  // Slurm's scontrol says it once more, but of elements, and scripts look for it. Source: Slurm
  // 22.05.8.
  if (!is_hold || !reply.has_value()) return code;
  const auto last =
      std::find_if(reply->outcomes.rbegin(), reply->outcomes.rend(),
                   [](const JobOutcome& outcome) { return outcome.error.has_value(); });
  return last == reply->outcomes.rend() || last->job.is_element
             ? code
             : call.failed("slurm_suspend error: " + last->error->message);
}
template <JobVerb Verb>
int control(Call& call) {
  return control(call, Verb);
}

/// One after the other: what one refuses does not keep the others from it.
int update_jobs(Call& call, UpdateObject object, const std::vector<JobSelector>& jobs) {
  int code = 0;
  // Each job with an answer of its own.
  for (const JobSelector& job : jobs) {
    object.name = selector_text(job);
    const auto reply = call.controller().submit_one(object);
    const bool is_refused = reply.has_value() && reply->error.has_value();
    code = std::max(
        code, is_refused ? call.failed(refusal_text(job, *reply->error)) : report(call, reply));
  }
  return code;
}

int update(Call& call) {
  struct Target {
    std::string_view key;
    UpdateKind kind;
  };
  static constexpr Target kTargets[] = {
      {"jobid", UpdateKind::kJob},           {"job", UpdateKind::kJob},
      {"jobname", UpdateKind::kJob},         {"nodename", UpdateKind::kNode},
      {"node", UpdateKind::kNode},           {"partitionname", UpdateKind::kPartition},
      {"partition", UpdateKind::kPartition}, {"stepid", UpdateKind::kStep}};
  UpdateObject object;
  const Target* target = nullptr;
  for (const std::string& word : call.words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      // "update job 12 ..." and "update 12 ..." name the object without "=".
      const auto bare = std::ranges::find(kTargets, lower(word), &Target::key);
      if (target == nullptr && bare != std::end(kTargets))
        target = bare;
      else if (object.name.empty() && (target != nullptr || parse_job_selectors(word).has_value()))
        object.name = word;
      else
        return call.failed(fmt::format("Invalid input: {}  Request aborted", word));
      continue;
    }
    const std::string key = lower(word.substr(0, equals));
    const auto named = std::ranges::find(kTargets, key, &Target::key);
    // "update job 12 jobname=x" renames: there the name is a value of the job that was named.
    if (object.name.empty() && named != std::end(kTargets) &&
        !(target != nullptr && key == "jobname")) {
      target = named;
      object.name = word.substr(equals + 1);
    } else {
      // "TimeLimit+=5" is written "TimeLimit=+5" between us and the controller; what takes += of
      // other keys is the controller's to say, so theirs keep the sign in their name.
      const bool is_signed_limit = key == "timelimit+" || key == "timelimit-";
      const std::size_t name_size = is_signed_limit ? equals - 1 : equals;
      std::string value = word.substr(name_size, equals - name_size) + word.substr(equals + 1);
      // Times are read here, where the caller's zone is known.
      if (key == "starttime" || key == "eligibletime") {
        const ShowContext context = call.context();
        const auto time = parse_time(value, TimeContext{context.now, *context.zone});
        if (!time.has_value()) return call.failed(time.error().text());
        value = fmt::format("{}", time->seconds());
      }
      object.values.emplace_back(word.substr(0, name_size), std::move(value));
    }
  }
  if (object.name.empty())
    return call.failed(
        "No valid entity in update command\nInput line must include \"JobId\", \"NodeName\", "
        "\"PartitionName\" or \"StepId\"");
  object.kind = target == nullptr ? UpdateKind::kJob : target->kind;
  if (object.values.empty()) return call.failed("No changes specified");
  // Only jobs are named in lists.
  if (object.kind != UpdateKind::kJob) return report(call, call.controller().submit_one(object));
  const bool is_by_name = target != nullptr && target->key == "jobname";
  const auto jobs = is_by_name ? jobs_of_name(call, object.name) : parse_job_selectors(object.name);
  if (!jobs.has_value()) return call.failed(jobs.error().text());
  // Slurm's text, with the command's name in it.
  if (is_by_name && jobs->empty())
    return call.failed(fmt::format("scontrol: error: No jobs with name '{}'", object.name));
  if (jobs->empty()) return call.failed("Invalid job id specified");
  return update_jobs(call, std::move(object), *jobs);
}

/// "write batch_script JOB [FILE|-]".
int write_script(Call& call) {
  // The only object that can be written.
  if (!is_abbreviation(call.word(0), "batch_script") || call.word(1).empty()) {
    return call.failed("too few arguments: write batch_script JOB [FILE]");
  }
  const auto selector = parse_job_selector(call.word(1));
  if (!selector.has_value()) return call.failed("Invalid job id specified");
  Query query;
  query.kind = QueryKind::kBatchScript;
  query.filter.jobs.push_back(*selector);
  const auto page = call.controller().query(query);
  if (!page.has_value())
    return call.failed(fmt::format("job script retrieval failed: {}", page.error().message));
  if (call.word(2) == "-") {
    print(page->bytes);
    return 0;
  }
  // Slurm's name for the file.
  const std::string path =
      call.word(2).empty() ? fmt::format("slurm-{}.sh", selector_text(*selector)) : call.word(2);
  // A script that was run is written to be run again, by its owner alone.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  const int error = fd < 0 ? errno : write_whole(fd, page->bytes);
  if (fd >= 0) ::close(fd);
  if (error != 0)
    return call.failed(
        fmt::format("failed to write the script to `{}`: {}", path, std::strerror(error)));
  print(fmt::format("batch script for job {} written to {}\n", selector_text(*selector), path));
  return 0;
}

/// The controller reads its file by starting anew: what stands there holds once the next one
/// answers.
int reconfigure(Call& call) {
  constexpr Duration kStartMax = Duration::seconds(30);
  Query query;
  // The epoch before: a later one is a run that has read the file.
  query.kind = QueryKind::kPing;
  const auto before = call.controller().query(query);
  if (!before.has_value()) return call.failed(before.error().text());
  // A file that is refused is answered here, and the controller runs on as it was.
  if (const int code = report(call, call.controller().submit_one(Reconfigure{})); code != 0)
    return code;
  const Epoch epoch = before->ping ? before->ping->epoch : Epoch();
  const Status is_back = call.controller().await_epoch_after(epoch, kStartMax);
  return is_back.has_value() ? 0 : call.failed(is_back.error().text());
}
int version(Call&) {
  print(fmt::format("{}\n", kSlurmVersion));
  return 0;
}

struct Verb {
  std::string_view name;
  std::size_t least;
  int (*run)(Call&);
  std::string_view help;
};
constexpr Verb kVerbs[] = {
    {"show", 2, show,
     "job, step, node, partition, config, hostnames, hostlist, hostlistsorted [NAME]"},
    {"update", 1, update, "JobId=|NodeName=|PartitionName=NAME KEY=VALUE ..."},
    {"hold", 2, control<JobVerb::kHold>, "JOB ..."},
    {"uhold", 2, control<JobVerb::kUserHold>, "JOB ...; the owner may release it"},
    {"release", 3, control<JobVerb::kRelease>, "JOB ..."},
    {"requeue", 3, control<JobVerb::kRequeue>, "JOB ..."},
    {"requeuehold", 8, control<JobVerb::kRequeueHold>, "JOB ... [State=SpecialExit]"},
    {"suspend", 2, control<JobVerb::kSuspend>, "JOB ..."},
    {"resume", 3, control<JobVerb::kResume>, "JOB ..."},
    {"write", 1, write_script, "batch_script JOB [FILE|-]"},
    {"ping", 3, ping, "is the controller there?"},
    {"reconfigure", 3, reconfigure, "read the configuration file again"},
    {"version", 1, version, "print the version"},
};

const Verb* find_verb(std::string_view word) {
  // A whole word goes before an abbreviation: requeue is not short for requeuehold.
  for (const Verb& verb : kVerbs) {
    if (equal_ignoring_case(word, verb.name)) return &verb;
  }
  for (const Verb& verb : kVerbs) {
    if (word.size() >= verb.least && is_abbreviation(word, verb.name)) return &verb;
  }
  return nullptr;
}

/// What scontrol(1) has and is not here yet.
constexpr std::string_view kRefusedVerbs[] = {
    "abort",    "cancel_reboot", "completing", "create",       "delete",        "fsdampeningfactor",
    "getaddrs", "getent",        "listjobs",   "listpids",     "liststeps",     "notify",
    "pidinfo",  "power",         "reboot",     "reboot_nodes", "schedloglevel", "script",
    "setdebug", "setdebugflags", "shutdown",   "takeover",     "token",         "top",
    "wait_job"};
bool is_refused(std::string_view word) {
  return std::ranges::find(kRefusedVerbs, word) != std::end(kRefusedVerbs);
}

std::string usage() {
  std::string text = "Usage: scontrol [OPTIONS] VERB [ARGUMENTS]\n\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<12} {}\n", verb.name, verb.help);
  return text;
}

std::string notes() {
  std::string text = "\nKeys of update:\n";
  constexpr std::pair<std::string_view, UpdateKind> kObjects[] = {
      {"JobId=", UpdateKind::kJob},
      {"NodeName=", UpdateKind::kNode},
      {"PartitionName=", UpdateKind::kPartition}};
  // From the list that the controller goes by, so that the help cannot lag behind it.
  for (const auto& [object, kind] : kObjects)
    text += fmt::format("  {:<14} {}\n", object, fmt::join(update_keys(kind), " "));
  return text + fmt::format("\nVerbs that are not supported by Muster yet, and refused:\n  {}\n",
                            fmt::join(kRefusedVerbs, " "));
}

}  // namespace

int run_scontrol(const Words& words) {
  const Console console("scontrol");
  ScontrolOptions options;
  const std::string above = usage();
  const std::string below = notes();
  const auto read =
      read_options<O>(console, words, kOptions, Operands::kAnywhere, options,
                      {above, "Usage: scontrol [OPTIONS] VERB [ARGUMENTS]", {}, below});
  if (read.exit_code) return *read.exit_code;
  const Status own_cluster = check_clusters_variable(options.is_cluster_named);
  if (!own_cluster.has_value()) return console.fail(own_cluster.error());
  if (read.operands.empty()) {
    // Slurm's prompt; without a verb a script would wait for ever.
    return console.fail(Error{ErrorCode::kUnimplemented, "there is no interactive mode",
                              "give a verb; see scontrol --help"});
  }
  const Verb* verb = find_verb(read.operands.front());
  // Told from a misspelling: the verb exists in Slurm.
  if (verb == nullptr && is_refused(read.operands.front())) {
    return console.fail(
        Error{ErrorCode::kUnimplemented,
              fmt::format("{} is not supported by Muster yet", read.operands.front()), ""});
  }
  if (verb == nullptr) {
    return console.fail(Error{ErrorCode::kInvalidArgument,
                              fmt::format("invalid keyword: {}", read.operands.front()),
                              "see scontrol --help"});
  }
  Call call{console, options, Words(read.operands.begin() + 1, read.operands.end())};
  return verb->run(call);
}

}  // namespace muster::cli
