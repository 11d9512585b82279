// muster rerun: the same again, with the same code, configuration and seeds.
#include <fmt/format.h>

#include <algorithm>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/session.h"
#include "cli/muster/experiment_commands.h"
#include "cli/muster/rerun_config.h"
#include "text/json_text.h"

namespace muster::cli {
namespace {

Result<TrialView> find_trial(Session& session, std::uint32_t number) {
  Query query;
  query.kind = QueryKind::kTrials;
  query.trials.emplace_back(number);
  const Page page = TRY(session.query(query));
  const auto found = std::ranges::find(page.trials, TrialId(number), &TrialView::id);
  if (found == page.trials.end())
    return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", number),
                "see muster experiment describe");
  return *found;
}

Result<ExperimentView> find_experiment(Session& session, ExperimentId id) {
  Query query;
  query.kind = QueryKind::kExperiments;
  query.detail = QueryDetail::kFull;
  query.experiments.push_back(id);
  Page page = TRY(session.query(query));
  return std::move(page.experiments.front());
}

Result<CreateExperiment> request_of(Session& session, std::uint32_t number, bool is_trial) {
  std::optional<TrialView> trial;
  // The rerun belongs to the experiment of the trial: its code and configuration are the
  // experiment's.
  if (is_trial) trial = TRY(find_trial(session, number));
  const ExperimentView original =
      TRY(find_experiment(session, trial ? trial->experiment : ExperimentId(number)));
  const Json config = TRY(trial ? rerun_of(*original.spec, *trial) : rerun_of(*original.spec));
  // A fork: the code of the original is used again, and the parent is on record.
  return fork_of(original.id, json_text(config), {"muster", "rerun"});
}

}  // namespace

int run_rerun(const Words& words) {
  std::uint32_t number = 0;
  bool is_trial = false;
  bool is_followed = false;
  bool is_paused = false;
  CommandParser parser(
      "Runs an experiment again: same code, configuration and seed. Or, with --trial, one trial "
      "alone: with its hyperparameters, its "
      "seed and as much training as it had.",
      "muster rerun");
  parser.add_option("NUMBER", number, "of the experiment, or of the trial").required();
  parser.add_flag("--trial", is_trial, "the number is a trial's");
  parser.add_flag("--paused", is_paused,
                  "create it and start nothing; see muster experiment activate");
  parser.add_flag("-f,--follow", is_followed, "wait for its end and say how far it is");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster rerun");
  Session session(console);
  const auto create = request_of(session, number, is_trial);
  if (!create.has_value()) return console.fail(create.error());
  CreateExperiment request = *create;
  request.is_paused = is_paused;
  const auto reply = session.submit_one(request);
  if (!reply.has_value()) return console.fail(reply.error());
  if (reply->error) return console.fail(*reply->error);
  print(fmt::format("Created experiment {}\n", reply->experiment.value()));
  return is_followed ? follow_experiment(session, console, reply->experiment.value()) : 0;
}

}  // namespace muster::cli
