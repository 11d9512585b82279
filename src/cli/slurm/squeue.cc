// squeue: jobs and steps as tables.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/lib/commands.h"
#include "cli/lib/filters.h"
#include "cli/lib/job_selector.h"
#include "cli/lib/job_text.h"
#include "cli/lib/option_reader.h"
#include "cli/lib/session.h"
#include "cli/slurm/squeue_columns.h"
#include "slurm/array_text.h"

namespace muster::cli {
namespace {

struct SqueueOptions {
  JobFilter filter;
  std::optional<StateFilter> states;
  std::string format;       ///< -o
  std::string long_format;  ///< -O
  std::string sort;
  std::string clusters;
  bool is_long = false;
  bool is_start = false;
  bool is_steps = false;
  bool is_no_header = false;
  bool is_array_expanded = false;
  bool is_state_only = false;
  bool is_converted = true;
  bool is_not_me = false;
  std::uint32_t repeat_seconds = 0;
};

using O = SqueueOptions;
using Value = std::string_view;

template <std::vector<std::string> JobFilter::*Member>
Status names(O& options, Value value) {
  for (std::string& name : split_list(value)) (options.filter.*Member).push_back(std::move(name));
  return {};
}
Status jobs(O& options, Value value) {
  for (JobSelector& job : TRY(parse_job_selectors(value)))
    options.filter.jobs.push_back(std::move(job));
  return {};
}
Status steps(O& options, Value value) {
  options.is_steps = true;
  return jobs(options, value);
}
Status states(O& options, Value value) {
  options.states = TRY(parse_states(value));
  return {};
}
/// Names of no user are told, and the others' jobs are shown. Source: Slurm 22.05.8.
Status users(O& options, Value value) {
  // No user has this number: the filter stays a filter, and shows nothing of theirs.
  constexpr std::uint32_t kNobody = UINT32_MAX;
  for (const std::string_view name : split_words(value, ',')) {
    const Status known = add_users(name, options.filter);
    if (known.has_value()) continue;
    fmt::print(stderr, "squeue: error: {}\n", known.error().text());
    options.filter.uids.push_back(kNobody);
  }
  return {};
}
Status me(O& options, Value) {
  add_me(options.filter);
  return {};
}
Status nodes(O& options, Value value) { return add_nodes(value, options.filter.nodes); }
Status clusters(O& options, Value value) {
  options.clusters = std::string(value);
  return check_clusters(value);
}
Status repeat(O& options, Value value) {
  const auto seconds = parse_whole32(value);
  if (!seconds || *seconds == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("iteration interval must be positive: '{}'", value));
  options.repeat_seconds = *seconds;
  return {};
}

constexpr OptionRow<O> kOptions[] = {
    {"accounts", 'A', Takes::kValue, names<&JobFilter::accounts>, "only these accounts"},
    {"all", 'a', Takes::kNothing, holds_anyway,
     "also jobs in hidden partitions (they always show)"},
    {"array", 'r', Takes::kNothing, set_flag<&O::is_array_expanded>,
     "one line for each array element"},
    {"array-unique", 0, Takes::kNothing, set_flag<&O::is_array_expanded>, ""},
    {"cluster", 0, Takes::kValue, clusters, ""},
    {"clusters", 'M', Takes::kValue, clusters, "this cluster's own name; there are no others"},
    {"expand-patterns", 0, Takes::kNothing, nullptr, ""},
    {"federation", 0, Takes::kNothing, nullptr, ""},
    {"format", 'o', Takes::kValue, set_text<&O::format>, "columns by letter: \"%.18i %j\""},
    {"Format", 'O', Takes::kValue, set_text<&O::long_format>, "columns by name: JobID:10,Name"},
    {"hide", 0, Takes::kNothing, holds_anyway, ""},
    {"iterate", 'i', Takes::kValue, repeat, "again every so many seconds"},
    {"jobs", 'j', Takes::kValue, jobs, "only these jobs: 12,13_4"},
    {"json", 0, Takes::kMaybe, nullptr, ""},
    {"licenses", 'L', Takes::kValue, names<&JobFilter::licenses>, "only jobs with these licenses"},
    {"local", 0, Takes::kNothing, holds_anyway, ""},
    {"long", 'l', Takes::kNothing, set_flag<&O::is_long>, "more columns"},
    {"me", 0, Takes::kNothing, me, "only my jobs"},
    {"name", 'n', Takes::kValue, names<&JobFilter::names>, "only jobs of these names"},
    {"noconvert", 0, Takes::kNothing, set_flag<&O::is_converted, false>, "amounts in MiB"},
    {"node", 0, Takes::kValue, nodes, ""},
    {"nodelist", 'w', Takes::kValue, nodes, "only jobs on these nodes"},
    {"nodes", 0, Takes::kValue, nodes, ""},
    {"noheader", 'h', Takes::kNothing, set_flag<&O::is_no_header>, "no header line"},
    {"notme", 0, Takes::kNothing, set_flag<&O::is_not_me>, "only jobs of others"},
    {"only-job-state", 0, Takes::kNothing, set_flag<&O::is_state_only>, "ids and states alone"},
    {"partitions", 'p', Takes::kValue, names<&JobFilter::partitions>, "only these partitions"},
    {"priority", 'P', Takes::kNothing, holds_anyway, ""},
    {"qos", 'q', Takes::kValue, names<&JobFilter::qos>, "only these qualities of service"},
    {"reservation", 'R', Takes::kValue, names<&JobFilter::reservations>,
     "only jobs of these reservations"},
    {"sibling", 0, Takes::kNothing, nullptr, ""},
    {"sort", 'S', Takes::kValue, set_text<&O::sort>, "by column letters: P,t,-p"},
    {"start", 0, Takes::kNothing, set_flag<&O::is_start>,
     "when pending jobs are expected to start"},
    {"state", 0, Takes::kValue, states, ""},
    {"states", 't', Takes::kValue, states, "only these states; all: ended jobs too"},
    {"steps", 's', Takes::kMaybe, steps, "steps instead of jobs"},
    {"users", 'u', Takes::kValue, users, "only jobs of these users"},
    {"verbose", 'v', Takes::kNothing, holds_anyway, ""},
    {"yaml", 0, Takes::kMaybe, nullptr, ""},
};

/// What stands in the environment holds unless the command line says otherwise.
Status read_environment(O& options) {
  struct Variable {
    const char* name;
    Status (*set)(O&, Value);
  };
  static constexpr Variable kVariables[] = {{"SQUEUE_ACCOUNT", names<&JobFilter::accounts>},
                                            {"SQUEUE_ARRAY", set_flag<&O::is_array_expanded>},
                                            {"SQUEUE_LICENSES", names<&JobFilter::licenses>},
                                            {"SQUEUE_NAMES", names<&JobFilter::names>},
                                            {"SQUEUE_PARTITION", names<&JobFilter::partitions>},
                                            {"SQUEUE_QOS", names<&JobFilter::qos>},
                                            {"SQUEUE_SORT", set_text<&O::sort>},
                                            {"SQUEUE_STATES", states},
                                            {"SQUEUE_USERS", users}};
  for (const Variable& variable : kVariables) {
    if (const auto value = environment_value(variable.name); !value.empty())
      TRY(variable.set(options, value));
  }
  return {};
}

/// The format in force: the options', then the environment's, then the one for the kind of list.
Result<ColumnFormat> chosen_format(const O& options) {
  if (!options.long_format.empty() && !options.format.empty())
    return fail(ErrorCode::kInvalidArgument, "-O (--Format) is incompatible with -o (--format)");
  if (!options.long_format.empty()) return parse_long_format(options.long_format);
  // %all has every column, of which each says how much it needs.
  if (options.format == "%all")
    return options.is_steps ? all_columns(step_columns()) : all_columns(job_columns());
  if (!options.format.empty()) return parse_short_format(options.format);
  if (options.is_steps) return parse_short_format(kSqueueStepFormat);
  if (options.is_state_only) return parse_short_format(kSqueueStateFormat);
  if (options.is_start) return parse_short_format(kSqueueStartFormat);
  // SQUEUE_FORMAT2 has the form of -O and goes first. Source: squeue(1), ENVIRONMENT VARIABLES.
  if (const auto format = environment_value("SQUEUE_FORMAT2"); !format.empty())
    return parse_long_format(format);
  if (const auto format = environment_value("SQUEUE_FORMAT"); !format.empty())
    return parse_short_format(format);
  return parse_short_format(options.is_long ? kSqueueLongFormat : kSqueueFormat);
}

bool is_shown(const O& options, const JobView& job) {
  if (options.is_not_me && job.spec->user.value() == ::getuid()) return false;
  // An array's record of which nothing waits shows as its elements.
  if (job.array_job.value() != 0 && !job.array_index && job.array_remaining_count == 0)
    return false;
  if (options.states) return options.states->matches(job.state, job.flags);
  if (options.is_start) return job.state == JobState::kPending;
  // Jobs that complete still hold nodes.
  return !is_finished(job.state) || (job.flags & job_flag::kCompleting) != 0;
}

/// One row for each element of an array that still waits as a whole.
template <class Visit>
void each_element(JobView row, Visit&& visit) {
  // UINT32_MAX: the indices were checked when the job was submitted.
  const auto left = parse_array(row.array_remaining, UINT32_MAX);
  if (row.array_remaining.empty() || !left.has_value()) return visit(row);
  left->indices.for_each([&](std::size_t index) {
    row.array_index = static_cast<std::uint32_t>(index);
    visit(row);
  });
}

int load_failed(const Error& error) {
  // Slurm's text without the command's name.
  std::fflush(stdout);
  const std::string line = fmt::format("slurm_load_jobs error: {}\n", error.message);
  std::fwrite(line.data(), 1, line.size(), stderr);
  return environment_number("SLURM_EXIT_ERROR", 1);
}

Query query_for(const O& options, QueryDetail detail) {
  Query query;
  query.kind = options.is_steps ? QueryKind::kSteps : QueryKind::kJobs;
  query.detail = detail;
  query.filter = options.filter;
  // Ended jobs travel only where ids or states ask for them.
  query.filter.is_active_only = options.filter.jobs.empty() && !options.states;
  return query;
}

/// The order in force, and what goes before the rows.
template <class T>
Result<TableLines<T>> begin_table(const O& options, const Layout<T>& layout,
                                  std::span<const Column<T>> table, std::string_view default_sort,
                                  const ShowContext& context) {
  auto order = TRY(RowOrder<T>::create(
      options.sort.empty() ? default_sort : std::string_view(options.sort), table));
  return TableLines<T>(layout, std::move(order), context);
}

template <class T>
void print_table(const O& options, const Layout<T>& layout, const TableLines<T>& lines,
                 const ShowContext& context) {
  if (!options.clusters.empty()) print(fmt::format("CLUSTER: {}\n", context.cluster));
  if (options.is_long || options.repeat_seconds != 0) print(date_line(context) + "\n");
  if (!options.is_no_header) print(header_line(layout));
  lines.print_sorted([](std::string_view piece) { print(piece); });
}

int show_jobs(const Console& console, Session& session, const O& options,
              const ColumnFormat& format, const ShowContext& context) {
  const auto layout = layout_of(format, job_columns(), "job");
  // An unknown column is said once and left out, as in Slurm.
  for (const std::string& unknown : layout.unknown) console.error(unknown);
  // Partition, state, priority falling; with --start by time.
  auto lines =
      begin_table(options, layout, job_columns(), options.is_start ? "S" : "P,t,-p", context);
  if (!lines.has_value()) return console.fail(lines.error());
  const auto add = [&](const JobView& row) { lines->add(row); };
  // After a lost connection the list comes again from its beginning.
  const Status loaded = session.query_jobs(
      query_for(options, layout.detail()), [&] { lines->clear(); },
      [&](JobView& job) {
        if (!is_shown(options, job)) return;
        options.is_array_expanded ? each_element(std::move(job), add) : add(job);
      });
  if (!loaded.has_value()) return load_failed(loaded.error());
  print_table(options, layout, *lines, context);
  return 0;
}

bool is_shown(const O& options, const StepView& step) {
  if (options.is_not_me && step.uid.value() == ::getuid()) return false;
  bool is_named = false;  // by a selector of the job, whichever step that means
  for (const JobSelector& wanted : options.filter.jobs) {
    if (wanted.job != step.id.job || !wanted.step) continue;
    if (*wanted.step == step.id.step) return true;
    // Ids without a step mean all of a job's steps.
    is_named = true;
  }
  return !is_named;
}

int show_steps(const Console& console, Session& session, const O& options,
               const ColumnFormat& format, const ShowContext& context) {
  const auto layout = layout_of(format, step_columns(), "step");
  for (const std::string& unknown : layout.unknown) console.error(unknown);
  auto lines = begin_table(options, layout, step_columns(), "i", context);
  if (!lines.has_value()) return console.fail(lines.error());
  const auto page = session.query(query_for(options, QueryDetail::kRow));
  if (!page.has_value()) return load_failed(page.error());
  for (const StepView& step : page->steps) {
    if (is_shown(options, step)) lines->add(step);
  }
  print_table(options, layout, *lines, context);
  return 0;
}

/// -w: a name that no node has would give an empty list.
Status check_nodes(Session& session, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  Query query;
  query.kind = QueryKind::kNodes;
  const Page page = TRY(session.query(query));
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find(page.nodes, name, [](const NodeView& node) { return node.config.name; });
    if (found == page.nodes.end())
      return fail(ErrorCode::kNotFound, fmt::format("Invalid node name {}", name));
  }
  return {};
}

int show_once(const Console& console, Session& session, const O& options,
              const ColumnFormat& format) {
  // Slurm refuses a name that no node has.
  if (const Status known = check_nodes(session, options.filter.nodes); !known.has_value())
    return console.fail(known.error());
  ShowContext context = show_context(session.cluster().cluster_name);
  context.is_converted = options.is_converted;
  return options.is_steps ? show_steps(console, session, options, format, context)
                          : show_jobs(console, session, options, format, context);
}

}  // namespace

int run_squeue(const Words& words) {
  const Console console("squeue");
  // The environment's filters are replaced, not added to: they are read into what the command line
  // leaves empty.
  SqueueOptions options;
  const auto read =
      read_options<O>(console, words, kOptions, Operands::kAnywhere, options,
                      {"Usage: squeue [OPTIONS]\nShows the jobs that wait or run.\n",
                       "Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]"});
  if (read.exit_code) return *read.exit_code;
  const Status own_cluster = check_clusters_variable(!options.clusters.empty());
  if (!own_cluster.has_value()) return console.fail(own_cluster.error());
  Words operands = read.operands;
  // getopt sees no value of --steps behind a blank.
  if (options.is_steps && options.filter.jobs.empty() &&
      operands.size() == 1) {  // "-s 12.0": its value is optional
    if (const Status done = steps(options, operands.front()); !done.has_value())
      return console.fail(done.error());
    operands.clear();
  }
  if (!operands.empty()) {
    return console.fail(Error{ErrorCode::kInvalidArgument,
                              fmt::format("Unrecognized option: {}", operands.front()), ""});
  }
  SqueueOptions defaults;
  if (const Status done = read_environment(defaults); !done.has_value())
    return console.fail(done.error());
  for (auto member : {&JobFilter::accounts, &JobFilter::licenses, &JobFilter::names,
                      &JobFilter::partitions, &JobFilter::qos}) {
    if ((options.filter.*member).empty()) options.filter.*member = defaults.filter.*member;
  }
  // --me and -u both fill it.
  if (options.filter.uids.empty()) options.filter.uids = defaults.filter.uids;
  if (!options.states) options.states = defaults.states;
  if (options.sort.empty()) options.sort = defaults.sort;
  options.is_array_expanded = options.is_array_expanded || defaults.is_array_expanded;
  const auto format = chosen_format(options);
  if (!format.has_value()) return console.fail(format.error());

  Session session(console);
  // The exit code of the last table.
  int code = show_once(console, session, options, *format);
  while (options.repeat_seconds != 0) {
    std::fflush(stdout);
    session.sleep(Duration::seconds(options.repeat_seconds));
    print("\n");
    code = show_once(console, session, options, *format);
  }
  return code;
}

}  // namespace muster::cli
