// sacct: jobs and steps that have ended or run, and what they used.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "cli/lib/commands.h"
#include "cli/lib/filters.h"
#include "cli/lib/job_selector.h"
#include "cli/lib/option_reader.h"
#include "cli/lib/session.h"
#include "cli/slurm/sacct_fields.h"
#include "slurm/time_text.h"
#include "text/printable_text.h"
#include "text/words.h"

namespace muster::cli {
namespace {

struct SacctOptions {
  Query query;
  std::optional<StateFilter> states;
  std::string format;
  std::string delimiter = "|";
  bool is_allocations_only = false;
  bool is_cluster_named = false;
  bool is_no_header = false;
  bool is_parsable = false;        ///< -p: a delimiter at the end too
  bool is_parsable_plain = false;  ///< -P
  bool is_brief = false;
  bool is_long = false;
  bool is_all_users = false;
  bool is_help_format = false;
  bool is_batch_script = false;
  bool is_converted = true;
  char unit = 0;
  ShowContext context;
  bool is_delimited() const { return is_parsable || is_parsable_plain; }
};

using O = SacctOptions;
using Value = std::string_view;

template <std::vector<std::string> JobFilter::*Member>
Status names(O& options, Value value) {
  for (std::string& name : split_list(value))
    (options.query.filter.*Member).push_back(std::move(name));
  return {};
}
Status format(O& options, Value value) {
  options.format += (options.format.empty() ? "" : ",") + std::string(value);
  return {};
}
Status delimiter(O& options, Value value) {
  options.delimiter = std::string(value);
  return {};
}
Status jobs(O& options, Value value) {
  for (JobSelector& job : TRY(parse_job_selectors(value)))
    options.query.filter.jobs.push_back(std::move(job));
  // Several -o add up.
  return {};
}
Status users(O& options, Value value) { return add_users(value, options.query.filter); }
Status uids(O& options, Value value) { return add_users(value, options.query.filter); }
Status nodes(O& options, Value value) { return add_nodes(value, options.query.filter.nodes); }
Status states(O& options, Value value) {
  options.states = TRY(parse_states(value));
  return {};
}
Status clusters(O& options, Value value) {
  options.is_cluster_named = true;
  return check_clusters(value);
}
Status duplicates(O& options, Value) {
  options.query.is_duplicates = true;
  return {};
}
Result<TimePoint> past_time(const O& options, Value value) {
  const TimeContext context{options.context.now, *options.context.zone, TimeDirection::kPast};
  return parse_time(value, context);
}
Status start_time(O& options, Value value) {
  options.query.since = TRY(past_time(options, value));
  // "epoch" or 0 is a time that was said, unlike none: the smallest that counts as set.
  if (!options.query.since.is_set()) options.query.since = TimePoint::from_microseconds(1);
  return {};
}
Status end_time(O& options, Value value) {
  options.query.until = TRY(past_time(options, value));
  return {};
}
Status units(O& options, Value value) {
  // Small letters are read as capitals.
  const char unit = value.size() == 1 ? static_cast<char>(value.front() & ~0x20) : '\0';
  if (std::string_view("KMGTP").find(unit) == std::string_view::npos || unit == 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Invalid unit type {}; choose from KMGTP", value));
  }
  options.unit = unit;
  return {};
}

constexpr OptionRow<O> kOptions[] = {
    {"accounts", 'A', Takes::kValue, names<&JobFilter::accounts>, "only jobs of these accounts"},
    {"allocations", 'X', Takes::kNothing, set_flag<&O::is_allocations_only>,
     "jobs without their steps"},
    {"allusers", 'a', Takes::kNothing, set_flag<&O::is_all_users>, "jobs of all users"},
    {"array", 0, Takes::kNothing, holds_anyway, ""},
    {"associations", 'x', Takes::kValue, nullptr, ""},
    {"batch-script", 'B', Takes::kNothing, set_flag<&O::is_batch_script>,
     "the batch script of the job"},
    {"brief", 'b', Takes::kNothing, set_flag<&O::is_brief>, "id, state and exit code"},
    {"cluster", 0, Takes::kValue, clusters, ""},
    {"clusters", 'M', Takes::kValue, clusters, "this cluster's own name; there are no others"},
    {"allclusters", 'L', Takes::kNothing, holds_anyway, ""},
    {"completion", 'c', Takes::kNothing, nullptr, ""},
    {"constraints", 'C', Takes::kValue, nullptr, ""},
    {"delimiter", 0, Takes::kValue, delimiter, "between fields, with -p or -P"},
    {"duplicates", 'D', Takes::kNothing, duplicates, "every run of a requeued job"},
    {"endtime", 'E', Takes::kValue, end_time, "jobs before this time"},
    {"env-vars", 0, Takes::kNothing, nullptr, ""},
    {"expand-patterns", 0, Takes::kNothing, nullptr, ""},
    {"federation", 0, Takes::kNothing, nullptr, ""},
    {"fields", 0, Takes::kValue, format, ""},
    {"flags", 'F', Takes::kValue, nullptr, ""},
    {"format", 'o', Takes::kValue, format, "fields, each with its width: JobID%20,State"},
    {"gid", 'g', Takes::kValue, nullptr, ""},
    {"group", 0, Takes::kValue, nullptr, ""},
    {"helpformat", 'e', Takes::kNothing, set_flag<&O::is_help_format>, "list the fields"},
    {"jobs", 'j', Takes::kValue, jobs, "only these jobs: 12,13_4,14.0"},
    {"json", 0, Takes::kMaybe, nullptr, ""},
    {"local", 0, Takes::kNothing, holds_anyway, ""},
    {"long", 'l', Takes::kNothing, set_flag<&O::is_long>, "more fields"},
    {"name", 0, Takes::kValue, names<&JobFilter::names>, "only jobs of these names"},
    {"ncpus", 'I', Takes::kValue, nullptr, ""},
    {"nnodes", 'i', Takes::kValue, nullptr, ""},
    {"noconvert", 0, Takes::kNothing, set_flag<&O::is_converted, false>, "memory in its own unit"},
    {"nodelist", 'N', Takes::kValue, nodes, "only jobs on these nodes"},
    {"noheader", 'n', Takes::kNothing, set_flag<&O::is_no_header>, "no header lines"},
    {"parsable", 'p', Takes::kNothing, set_flag<&O::is_parsable>,
     "fields with a delimiter after each"},
    {"parsable2", 'P', Takes::kNothing, set_flag<&O::is_parsable_plain>,
     "fields with a delimiter between them"},
    {"partition", 'r', Takes::kValue, names<&JobFilter::partitions>,
     "only jobs of these partitions"},
    {"qos", 'q', Takes::kValue, names<&JobFilter::qos>, "only these qualities of service"},
    {"reason", 'R', Takes::kValue, nullptr, ""},
    {"starttime", 'S', Takes::kValue, start_time,
     "jobs since this time (00:00 of today; with -j any)"},
    {"state", 's', Takes::kValue, states, "only jobs in these states"},
    {"timelimit-max", 'K', Takes::kValue, nullptr, ""},
    {"timelimit-min", 'k', Takes::kValue, nullptr, ""},
    {"truncate", 'T', Takes::kNothing, nullptr, ""},
    {"uid", 0, Takes::kValue, uids, ""},
    {"units", 0, Takes::kValue, units, "memory in K, M, G, T or P"},
    {"use-local-uid", 0, Takes::kNothing, holds_anyway, ""},
    {"user", 'u', Takes::kValue, users, "only jobs of these users"},
    {"verbose", 'v', Takes::kNothing, holds_anyway, ""},
    {"wckeys", 'W', Takes::kValue, names<&JobFilter::wckeys>, "only jobs of these keys"},
    {"whole-hetjob", 0, Takes::kMaybe, holds_anyway, ""},
    {"yaml", 0, Takes::kMaybe, nullptr, ""},
};

/// A field of the output with its size.
using Fields = std::vector<std::pair<const AccountField*, ColumnSpec>>;

Result<Fields> chosen_fields(const O& options) {
  std::string text = options.format;
  // -b and -l before SACCT_FORMAT: options go before variables.
  if (text.empty())
    text = options.is_brief  ? kSacctBriefFields
           : options.is_long ? kSacctLongFields
                             : environment_value("SACCT_FORMAT");
  if (text.empty()) text = kSacctFields;
  if (equal_ignoring_case(text, "ALL")) {
    text.clear();
    for (const AccountField& field : account_fields())
      text += fmt::format("{}{}", text.empty() ? "" : ",", field.name);
  }
  Fields fields;
  for (ColumnSpec column : TRY(parse_accounting_format(text)).columns) {
    const AccountField* field = find_account_field(column.name);
    if (field == nullptr)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Invalid field requested: \"{}\"", column.name));
    // A width of the field's own: positive is right-aligned, as in Slurm.
    if (!column.has_width) {
      column.width = static_cast<std::uint32_t>(std::abs(field->width));
      column.is_right = field->width > 0;
    }
    fields.emplace_back(field, std::move(column));
  }
  return fields;
}

/// One line, padded to widths or delimited. `cell` gives the text of a field.
template <class Cell>
std::string line_of(const O& options, const Fields& fields, const Cell& cell) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_last = i + 1 == fields.size();
    std::string text = cell(*fields[i].first);
    // Names of jobs reach an operator's terminal.
    if (!is_printable(text)) text = printable(text);
    if (options.is_delimited()) {
      // -p ends each line with a delimiter, -P does not.
      line += text + (is_last && options.is_parsable_plain ? "" : options.delimiter);
    } else {
      // Cut values end with + . Source: sacct(1), --format.
      line += column_cell(text, fields[i].second, CutMark::kPlus) + " ";
    }
  }
  return line + "\n";
}

void print_header(const O& options, const Fields& fields) {
  if (options.is_no_header) return;
  print(
      line_of(options, fields, [](const AccountField& field) { return std::string(field.name); }));
  // Slurm draws the line under headings only in tables.
  if (options.is_delimited()) return;
  std::string dashes;
  for (const auto& [field, column] : fields) dashes += std::string(column.width, '-') + " ";
  print(dashes + "\n");
}

void print_row(const O& options, const Fields& fields, const AccountRow& row) {
  AccountContext context{options.context, options.unit};
  context.show.is_converted = options.is_converted;
  print(line_of(options, fields, [&](const AccountField& field) {
    return field.show == nullptr ? std::string() : field.show(row, context);
  }));
}

/// Which of a job's lines the ids ask for: without a step all of them.
bool is_wanted(const O& options, const JobView& job, const StepView* step) {
  if (options.query.filter.jobs.empty()) return true;
  for (const JobSelector& wanted : options.query.filter.jobs) {
    const bool is_job = wanted.job == job.id || wanted.job == job.array_job;
    // An array's id asks for all elements, a list of indices for those alone.
    if (!is_job || (wanted.is_element && job.array_index && wanted.job == job.array_job &&
                    !wanted.indices.test(*job.array_index)))
      continue;
    // A step's id asks for that step's line only.
    if (!wanted.step || (step != nullptr && *wanted.step == step->id.step)) return true;
  }
  return false;
}

bool is_shown(const O& options, const JobView& job) {
  // The record of an array of which nothing waits shows as its elements.
  if (job.array_job.value() != 0 && !job.array_index && job.array_remaining_count == 0)
    return false;
  return !options.states || options.states->matches(job.state, job.flags);
}

void print_jobs(const O& options, const Fields& fields, const Page& page) {
  // By run: with -D the runs of a job have steps of the same numbers.
  std::map<std::pair<JobId, std::uint32_t>, std::vector<const StepView*>> steps;
  for (const StepView& step : page.steps) steps[{step.id.job, step.id.attempt}].push_back(&step);
  for (auto& [run, list] : steps) {
    std::ranges::stable_sort(list, {},
                             [](const StepView* step) { return step_rank(step->id.step); });
  }
  for (const JobView& job : page.jobs) {
    if (!is_shown(options, job)) continue;
    // With 12.0 the job's own line is left out.
    if (is_wanted(options, job, nullptr)) print_row(options, fields, AccountRow{&job, nullptr});
    if (options.is_allocations_only) continue;
    for (const StepView* step : steps[{job.id, job.attempt}]) {
      if (is_wanted(options, job, step)) print_row(options, fields, AccountRow{&job, step});
    }
  }
}

int print_fields() {
  std::string text;
  std::size_t count = 0;
  for (const AccountField& field : account_fields())
    text += fmt::format("{:<19}{}", field.name, ++count % 4 == 0 ? "\n" : " ");
  print(text + (count % 4 == 0 ? "" : "\n"));
  return 0;
}

int print_script(const Console& console, Session& session, const O& options) {
  for (const JobSelector& job : options.query.filter.jobs) {
    Query query;
    query.kind = QueryKind::kBatchScript;
    query.filter.jobs.push_back(job);
    const auto page = session.query(query);
    if (!page.has_value()) return console.fail(page.error());
    const std::string title = fmt::format("Batch Script for {}", selector_text(job));
    print(fmt::format("{}\n{}\n{}\n", title, std::string(80, '-'), page->bytes));
  }
  return 0;
}

/// What the window and the users are when nothing was said.
void fill_defaults(O& options) {
  Query& query = options.query;
  query.kind = QueryKind::kHistory;
  query.is_steps = !options.is_allocations_only;
  if (!query.since.is_set()) {
    CivilTime midnight = options.context.zone->to_civil(options.context.now);
    midnight.hour = midnight.minute = midnight.second = 0;
    // Midnight of today, but with ids any time. Source: sacct(1), --starttime, DEFAULT TIME
    // WINDOW.
    query.since = query.filter.jobs.empty() ? options.context.zone->to_point(midnight)
                                            : TimePoint::from_microseconds(1);
  }
  if (!query.until.is_set()) query.until = TimePoint::never();
  // The controller filters by states; COMPLETING is a flag that history has not.
  if (options.states && !options.states->is_all && !options.states->is_completing)
    query.filter.states = options.states->states;
  // Users see their own jobs, root and those who ask by id see all.
  const bool is_own_only = !options.is_all_users && query.filter.uids.empty() &&
                           query.filter.jobs.empty() && ::getuid() != 0;
  if (is_own_only) add_me(query.filter);
  if (options.is_all_users) query.filter.uids.clear();
}

/// Steps belong to jobs: the controller is asked for whole jobs.
Query job_query(const O& options) {
  Query query = options.query;
  for (JobSelector& job : query.filter.jobs) job.step.reset();
  return query;
}

}  // namespace

int run_sacct(const Words& words) {
  const Console console("sacct");
  SacctOptions options;
  options.context = show_context("");
  const auto read = read_options<O>(
      console, words, kOptions, Operands::kAnywhere, options,
      {"Usage: sacct [OPTIONS]\nShows jobs and steps, also those that ended long ago.\n",
       "Usage: sacct [options]"});
  if (read.exit_code) return *read.exit_code;
  const Status own_cluster = check_clusters_variable(options.is_cluster_named);
  if (!own_cluster.has_value()) return console.fail(own_cluster.error());
  if (!read.operands.empty()) {
    return console.fail(Error{ErrorCode::kInvalidArgument,
                              fmt::format("Unknown arguments: {}", read.operands.front()), ""});
  }
  if (options.is_help_format) return print_fields();
  const auto fields = chosen_fields(options);
  if (!fields.has_value()) {
    console.error(fields.error());
    return 1;
  }
  fill_defaults(options);
  // The same text as Slurm, which scripts know.
  if (options.query.since >= options.query.until) {
    return console.fail(
        Error{ErrorCode::kInvalidArgument, "Start time requested is after end time.", ""});
  }
  Session session(console);
  options.context.cluster = session.cluster().cluster_name;
  if (options.is_batch_script) return print_script(console, session, options);
  std::optional<Error> damage;
  // Damaged history: what could be read is shown, and the exit code says that it is not all.
  const auto page = session.query(job_query(options), &damage);
  if (!page.has_value()) return console.fail(page.error());
  print_header(options, *fields);
  print_jobs(options, *fields, *page);
  return damage ? console.fail(*damage) : 0;
}

}  // namespace muster::cli
