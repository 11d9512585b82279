// Commands on whole experiments. A file is read, checked and made JSON here, where its lines are
// known; what it means, and whether the cluster can run it, is decided by the controller.

#include "cli/muster/experiment_commands.h"

#include <fmt/format.h>

#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/session.h"
#include "cli/lib/text_file.h"
#include "cli/lib/web.h"
#include "cli/muster/code_archive.h"
#include "cli/muster/experiment_file.h"
#include "cli/muster/experiment_tables.h"
#include "cli/slurm/job_request.h"
#include "text/json_text.h"
#include "trials/config_layers.h"
#include "trials/config_override.h"
#include "trials/experiment_form.h"
#include "trials/experiment_text.h"

namespace muster::cli {
namespace {

// More than any configuration; a file of data by mistake is refused.
constexpr std::size_t kConfigMax = std::size_t{16} << 20;

std::vector<ExperimentId> ids_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<ExperimentId> ids;
  for (const std::uint32_t number : numbers) ids.emplace_back(number);
  return ids;
}

Query query_of(QueryKind kind, std::vector<ExperimentId> experiments, QueryDetail detail) {
  Query query;
  query.kind = kind;
  query.detail = detail;
  query.experiments = std::move(experiments);
  return query;
}

/// The one experiment of that number.
Result<ExperimentView> find_experiment(Session& session, std::uint32_t number,
                                       QueryDetail detail = QueryDetail::kBrief) {
  Page page = TRY(session.query(query_of(QueryKind::kExperiments, {ExperimentId(number)}, detail)));
  return std::move(page.experiments.front());
}

/// Follows an experiment to its end, saying when something changed.
Result<ExperimentView> follow(Session& session, std::uint32_t number, bool is_printed) {
  std::string last;
  while (true) {
    ExperimentView view = TRY(find_experiment(session, number));
    const std::string line = progress_line(view);
    if (is_printed && line != last) {
      print(line + "\n");
      // Whoever reads through a pipe sees each line when it is said.
      std::fflush(stdout);
      last = line;
    }
    if (is_final(view.state)) return view;
    // Polled: the controller answers a wait for jobs, not for experiments.
    session.sleep(Duration::milliseconds(500));
  }
}

// 0 completed, 2 canceled, 1 anything else; experiment wait documents them.
int exit_code_of(ExperimentState state) {
  return state == ExperimentState::kCompleted ? 0 : state == ExperimentState::kCanceled ? 2 : 1;
}

/// Says all that is wrong with the file before anything is sent: the controller knows no lines.
bool is_right(const Console& console, const ExperimentFile& file, const YamlDocument& document) {
  const std::vector<std::string> problems = file.problems(document);
  for (const std::string& problem : problems) console.error(problem);
  for (const std::string& warning : file.warnings(document)) console.warn(warning);
  return problems.empty();
}

}  // namespace

int follow_experiment(Session& session, const Console& console, std::uint32_t number) {
  std::fflush(stdout);
  const auto end = follow(session, number, true);
  if (!end.has_value()) return console.fail(end.error());
  // What the lines of progress do not say: why it failed, or what it never reported.
  if (!end->detail.empty() || end->state == ExperimentState::kError) {
    console.warn(
        fmt::format("experiment {}{}{}: see muster experiment describe {} and muster "
                    "experiment logs {}",
                    number, end->detail.empty() ? " failed" : ": ", end->detail, number, number));
  }
  return exit_code_of(end->state);
}

int run_experiment_create(const Words& words) {
  ExperimentFile file;
  std::string folder;
  bool is_paused = false;
  bool is_followed = false;
  CommandParser parser(
      "Creates an experiment. Its trials run the code as it is now, wherever it changes later.",
      "muster experiment create");
  file.add_to(parser);
  parser.add_option("CODE", folder,
                    "folder of the code; without one trials run in the present folder");
  parser.add_flag("--paused", is_paused,
                  "create it and start nothing; see muster experiment activate");
  parser.add_flag("-f,--follow", is_followed, "wait for its end and say how far it is");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment create");
  const auto document = file.read();
  if (!document.has_value()) return console.fail(document.error());
  if (!is_right(console, file, *document)) return 1;
  // Standard input has been read, and cannot be read again.
  const auto original = file.path == "-" ? Result<std::string>("") : file.text();
  if (!original.has_value()) return console.fail(original.error());

  CreateExperiment create;
  // Values and overrides, without the defaults: those are the controller's.
  create.config = json_text(document->root);
  create.original = *original;
  create.is_paused = is_paused;
  if (!folder.empty()) {
    auto code = archive_code(folder);
    if (!code.has_value()) return console.fail(code.error());
    create.context = as_bytes(std::move(code).value());
  }
  SubmittingProcess scene = submitting_process({"muster", "experiment", "create"});
  // Trials get the environment of who created the experiment, without that of a job it may run in.
  create.environment = as_bytes(environment_block(without_job_variables(scene.environment)));
  create.job = std::make_shared<const JobSpec>(job_of(SubmitOptions(), scene));
  Session session(console);
  const auto reply = session.submit_one(create);
  if (!reply.has_value()) return console.fail(reply.error());
  if (reply->error) return console.fail(*reply->error);
  print(fmt::format("Created experiment {}\n", reply->experiment.value()));
  if (!is_followed) return 0;
  return follow_experiment(session, console, reply->experiment.value());
}

namespace {

/// Values given on the command line, as a configuration.
Result<Json> overrides_of(const std::string& path, const std::vector<std::string>& texts) {
  Json overrides{Json::Object{}};
  if (!path.empty()) {
    const YamlDocument document = TRY(parse_yaml(TRY(read_file(path, kConfigMax))));
    overrides = document.root;
    if (overrides.object() == nullptr)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a map", path), "");
  }
  for (const std::string& text : texts) TRY(apply_override(overrides, text));
  return overrides;
}

void add_overrides(CommandParser& parser, std::string& path, std::vector<std::string>& texts) {
  parser.add_option("FILE", path, "a file with the values that change");
  parser.add_option("--config", texts, "NAME.NAME=VALUE: change one value; may be repeated")
      .one_value_each();
}

}  // namespace

int run_experiment_continue(const Words& words) {
  std::uint32_t number = 0;
  std::string path;
  std::vector<std::string> overrides;
  bool is_followed = false;
  CommandParser parser(
      "Lets an experiment that has ended go on: trials that did not complete are tried again, from "
      "their last checkpoints.",
      "muster experiment continue");
  parser.add_option("EXPERIMENT", number, "its number").required();
  add_overrides(parser, path, overrides);
  parser.add_flag("-f,--follow", is_followed, "wait for its end and say how far it is");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment continue");
  const auto changes = overrides_of(path, overrides);
  if (!changes.has_value()) return console.fail(changes.error());
  Session session(console);
  const auto reply =
      session.submit_one(ContinueExperiment{ExperimentId(number), json_text(*changes)});
  if (!reply.has_value()) return console.fail(reply.error());
  if (reply->error) return console.fail(*reply->error);
  print(fmt::format("Continued experiment {}\n", number));
  return is_followed ? follow_experiment(session, console, number) : 0;
}

CreateExperiment fork_of(ExperimentId parent, std::string config, const Words& command) {
  CreateExperiment create;
  create.config = std::move(config);
  create.parent = parent;
  // The fork runs with the environment of who forks, not with the first owner's.
  SubmittingProcess scene = submitting_process(command);
  create.environment = as_bytes(environment_block(without_job_variables(scene.environment)));
  create.job = std::make_shared<const JobSpec>(job_of(SubmitOptions(), scene));
  return create;
}

int run_experiment_fork(const Words& words) {
  std::uint32_t number = 0;
  std::string path;
  std::vector<std::string> overrides;
  bool is_paused = false;
  CommandParser parser(
      "Creates an experiment with the code and the configuration of another, but for what is "
      "changed here.",
      "muster experiment fork");
  parser.add_option("EXPERIMENT", number, "the number of the other").required();
  add_overrides(parser, path, overrides);
  parser.add_flag("--paused", is_paused,
                  "create it and start nothing; see muster experiment activate");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment fork");
  const auto changes = overrides_of(path, overrides);
  if (!changes.has_value()) return console.fail(changes.error());
  Session session(console);
  const auto parent = find_experiment(session, number, QueryDetail::kFull);
  if (!parent.has_value()) return console.fail(parent.error());
  const auto under = parse_yaml(parent->spec->config);
  // The stored configuration is JSON, which YAML includes.
  if (!under.has_value()) return console.fail(under.error());
  // What is given here lies over the parent's.
  CreateExperiment create =
      fork_of(ExperimentId(number), json_text(merge_layers(*changes, under->root)),
              {"muster", "experiment", "fork"});
  create.is_paused = is_paused;
  const auto reply = session.submit_one(create);
  if (!reply.has_value()) return console.fail(reply.error());
  if (reply->error) return console.fail(*reply->error);
  print(fmt::format("Created experiment {}\n", reply->experiment.value()));
  return 0;
}

int run_experiment_list(const Words& words) {
  bool is_all = false;
  bool is_json = false;
  CommandParser parser("Shows experiments, the newest last.", "muster experiment list");
  parser.add_flag("-a,--all", is_all, "archived ones too");
  parser.add_flag("--json", is_json, "as JSON");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment list");
  Session session(console);
  if (is_json)
    return print_json(console, session, is_all ? "experiments" : "experiments?archived=false");
  auto page = session.query(query_of(QueryKind::kExperiments, {}, QueryDetail::kBrief));
  if (!page.has_value()) return console.fail(page.error());
  // Lists of the core have all: archived ones are left out here.
  if (!is_all)
    std::erase_if(page->experiments,
                  [](const ExperimentView& one) { return one.labels.is_archived; });
  print(experiment_table(page->experiments, show_context(session.cluster().cluster_name)));
  return 0;
}

int run_experiment_describe(const Words& words) {
  std::uint32_t number = 0;
  bool is_json = false;
  CommandParser parser(
      "Shows an experiment with its trials: what each has reached, and why it waits or stopped.",
      "muster experiment describe");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_flag("--json", is_json, "as JSON; its trials: list-trials --json");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment describe");
  Session session(console);
  if (is_json) return print_json(console, session, fmt::format("experiments/{}", number));
  const auto experiment = find_experiment(session, number);
  if (!experiment.has_value()) return console.fail(experiment.error());
  // The trials are a question of their own, as there may be thousands.
  const auto page =
      session.query(query_of(QueryKind::kTrials, {experiment->id}, QueryDetail::kFull));
  if (!page.has_value()) return console.fail(page.error());
  print(experiment_text(*experiment, show_context(session.cluster().cluster_name)));
  print(trial_table(page->trials, metric_curves(session, page->trials, experiment->spec->metric)));
  return 0;
}

int run_experiment_wait(const Words& words) {
  std::uint32_t number = 0;
  bool is_quiet = false;
  CommandParser parser(
      "Waits until an experiment has ended. Exit code 0: COMPLETED, 1: ERROR, 2: CANCELED.",
      "muster experiment wait");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_flag("-q,--quiet", is_quiet, "say nothing meanwhile");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment wait");
  Session session(console);
  const auto end = follow(session, number, !is_quiet);
  return end.has_value() ? exit_code_of(end->state) : console.fail(end.error());
}

int control_experiments(ExperimentVerb verb, const Words& words) {
  constexpr std::array kNames{"pause",   "activate",  "cancel", "kill",
                              "archive", "unarchive", "delete"};
  const std::string name =
      fmt::format("muster experiment {}", kNames[static_cast<std::size_t>(verb)]);
  std::vector<std::uint32_t> numbers;
  CommandParser parser("", name);
  parser.add_option("EXPERIMENT", numbers, "their numbers").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console(name);
  Session session(console);
  const auto reply = session.submit_one(ControlExperiments{verb, ids_of(numbers)});
  if (!reply.has_value()) return console.fail(reply.error());
  if (reply->error) return console.fail(*reply->error);
  int code = 0;
  // Each has an outcome of its own; the exit code is an error if any has one.
  for (const ExperimentOutcome& outcome : reply->experiments) {
    if (outcome.error) code = console.fail(*outcome.error);
  }
  return code;
}

int run_experiment_set(const Words& words) {
  UpdateExperiment update;
  std::uint32_t number = 0;
  CommandParser parser("Changes what may be changed of an experiment at any time.",
                       "muster experiment set");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_option("--name", update.name);
  parser.add_option("--description", update.description);
  parser.add_option("--notes", update.notes);
  parser.add_option("--max-concurrent-trials", update.max_concurrent,
                    "trials that train at once; 0: as many as the method likes");
  parser
      .add_option("--max-slots", update.max_slots, "slots that its trials may use at once, from 1")
      .range(1U, UINT32_MAX);
  std::optional<std::int32_t> log_days;
  parser
      .add_option("--log-retention", log_days,
                  "days that its logs are kept after its end; -1: for ever")
      .range(-1, 32767);
  parser.add_option("--priority", update.priority,
                    "1 to 99, less is more important: among your own work");
  parser.add_option("--weight", update.weight, "of equal priority: slots are shared out by it");
  CheckpointRetention retention;
  auto of_experiment = parser.add_option("--save-experiment-best", retention.experiment_best,
                                         "checkpoints to keep: the best of all trials");
  auto of_trial =
      parser.add_option("--save-trial-best", retention.trial_best, "and the best of each trial");
  auto latest = parser.add_option("--save-trial-latest", retention.trial_latest,
                                  "and the latest of each trial");
  std::optional<std::string> visibility;
  parser
      .add_option("--visibility", visibility,
                  "who else may read its code, configuration and logs: private, project (whoever "
                  "made its project or workspace), cluster")
      .one_of({kVisibilityNames.begin(), kVisibilityNames.end()});
  parser.add_option("--label", update.add_labels, "add a label; may be repeated").one_value_each();
  parser.add_option("--remove-label", update.remove_labels, "take a label away; may be repeated")
      .one_value_each();
  if (const auto code = parser.parse(words)) return *code;
  if (visibility) update.visibility = visibility_named(*visibility);
  const Console console("muster experiment set");
  update.experiment = ExperimentId(number);
  Session session(console);
  // The request replaces all three numbers: those not given stay as they are.
  if (of_experiment.count() + of_trial.count() + latest.count() > 0) {
    const auto known = find_experiment(session, number);
    if (!known.has_value()) return console.fail(known.error());
    update.retention = {
        of_experiment.count() > 0 ? retention.experiment_best : known->retention.experiment_best,
        of_trial.count() > 0 ? retention.trial_best : known->retention.trial_best,
        latest.count() > 0 ? retention.trial_latest : known->retention.trial_latest};
  }
  // Slots are a limit on trials at once, as all trials of an experiment have as many.
  if (update.max_slots && !update.max_concurrent) {
    const auto known = find_experiment(session, number);
    if (!known.has_value()) return console.fail(known.error());
    update.max_concurrent = trials_at_once(*update.max_slots, *known->spec);
  }
  // Two requests: retention of logs is not part of the experiment's labels and numbers.
  auto reply = session.submit_one(update);
  if (reply.has_value() && !reply->error && log_days)
    reply = session.submit_one(SetLogRetention{update.experiment, TrialId(), *log_days});
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

int run_experiment_config(const Words& words) {
  std::uint32_t number = 0;
  bool is_original = false;
  CommandParser parser("Prints an experiment's configuration with all defaults, as JSON.",
                       "muster experiment config");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_flag("--original", is_original, "as it was written");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment config");
  Session session(console);
  const auto experiment = find_experiment(session, number, QueryDetail::kFull);
  if (!experiment.has_value()) return console.fail(experiment.error());
  const auto config = config_with_seed(*experiment->spec);
  // The original is shown even where the stored configuration cannot be read.
  if (!is_original && !config.has_value()) return console.fail(config.error());
  const std::string text = is_original ? experiment->spec->original : json_text(*config);
  print(text.ends_with('\n') ? text : text + "\n");
  return 0;
}

}  // namespace muster::cli
