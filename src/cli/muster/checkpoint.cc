// muster checkpoint VERB: what trials saved.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/session.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"
#include "cli/muster/catalog.h"
#include "cli/muster/downloads.h"
#include "model/catalog_names.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "trials/checkpoint_text.h"

namespace muster::cli {
namespace {

Query checkpoints_query() {
  Query query;
  query.kind = QueryKind::kCheckpoints;
  return query;
}

int run_list(const Words& words) {
  std::uint32_t experiment = 0;
  std::vector<std::uint32_t> trials;
  CommandParser parser("Shows the checkpoints of an experiment, or of some of its trials.",
                       "muster checkpoint list");
  auto whole = parser.add_option("EXPERIMENT", experiment, "its number");
  // Numbers of trials say of themselves which experiment is meant.
  parser.add_option("-t,--trial", trials, "of this trial alone; may be repeated")
      .one_value_each()
      .excludes(whole);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster checkpoint list");
  Query query = checkpoints_query();
  // With trials the query is by them alone.
  if (experiment != 0) query.experiments.emplace_back(experiment);
  for (const std::uint32_t trial : trials) query.trials.emplace_back(trial);
  // All checkpoints of a cluster would be more than anybody wants to see.
  if (query.experiments.empty() && trials.empty()) {
    return console.fail(Error{ErrorCode::kInvalidArgument, "of which experiment?",
                              "give its number; see muster experiment list"});
  }
  Session session(console);
  const auto page = session.query(query);
  if (!page.has_value()) return console.fail(page.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  std::vector<Row> rows;
  for (const Checkpoint& one : page->checkpoints) {
    rows.push_back({one.uuid, std::to_string(one.trial.value()), std::to_string(one.run),
                    std::to_string(one.steps_completed),
                    std::string(checkpoint_state_name(one.state)), std::to_string(one.size),
                    context.time(one.report_time, "-")});
  }
  print(table_text({"UUID", "TRIAL", "RUN", "STEPS", "STATE", "BYTES", "REPORTED"}, rows));
  return 0;
}

/// "trial 12 (inference), trial 15 (fine tuning, version 2 of model 3)".
std::string users_text(const std::vector<Document>& uses, const std::string& uuid) {
  std::vector<std::string> users;
  for (const Document& use : uses) {
    if (used_checkpoint(use.name) != uuid) continue;
    const auto body = parse_json(use.body);
    const Json* type = body.has_value() ? body->find("type") : nullptr;
    const Json* model = body.has_value() ? body->find("model") : nullptr;
    // Determined's two kinds of use: a trial that infers with a checkpoint, and one that tunes it.
    const bool is_tuning =
        type != nullptr && type->text() != nullptr && *type->text() == "FINE_TUNING";
    users.push_back(fmt::format(
        "trial {} ({}{})", use.parent, is_tuning ? "fine tuning" : "inference",
        model == nullptr ? ""
                         : fmt::format(", version {} of model {}",
                                       json_text(*body->find("version")), json_text(*model))));
  }
  return users.empty() ? "" : fmt::format("  Used by: {}\n", fmt::join(users, ", "));
}

int run_describe(const Words& words) {
  std::vector<std::string> uuids;
  bool is_json = false;
  CommandParser parser("Shows all that is known of checkpoints.", "muster checkpoint describe");
  parser.add_option("UUID", uuids, "theirs").required();
  parser.add_flag("--json", is_json, "as JSON, a line for each");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster checkpoint describe");
  Query query = checkpoints_query();
  query.uuids = uuids;
  Session session(console);
  if (is_json) {
    // HTTP's shape, for programs: it has more than the table.
    for (const std::string& uuid : uuids) {
      if (const int code = print_json(console, session, "checkpoints/" + uuid); code != 0)
        return code;
    }
    return 0;
  }
  const auto page = session.query(query);
  // The uses are documents of their own, of which only the controller knows all.
  if (!page.has_value()) return console.fail(page.error());
  const auto uses = documents(session, DocumentKind::kCheckpointUse);
  if (!uses.has_value()) return console.fail(uses.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  for (const Checkpoint& one : page->checkpoints) {
    print(
        fmt::format("Checkpoint {}\n  State: {}\n  Trial: {}, run {}, {} steps\n  Reported: {}\n  "
                    "Metadata: {}\n  Files: {}\n{}",
                    one.uuid, checkpoint_state_name(one.state), one.trial.value(), one.run,
                    one.steps_completed, context.time(one.report_time, "-"), one.metadata,
                    one.resources, users_text(*uses, one.uuid)));
  }
  return 0;
}

int run_delete(const Words& words) {
  std::vector<std::string> uuids;
  CommandParser parser(
      "Deletes the files of checkpoints, by a job of their owner's. What the model registry names, "
      "or a trial goes on from, stays.",
      "muster checkpoint delete");
  parser.add_option("UUID", uuids, "theirs").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster checkpoint delete");
  Session session(console);
  const auto reply = session.submit_one(DeleteCheckpoints{uuids});
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

Json texts(const std::vector<std::string>& values) {
  Json::Array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

int run_remove(const Words& words) {
  std::vector<std::string> uuids;
  std::vector<std::string> globs;
  CommandParser parser(
      "Removes files of checkpoints, by a job of their owner's, and brings up to date what is "
      "known of them.",
      "muster checkpoint rm");
  parser.add_option("UUID", uuids, "theirs").required();
  parser
      .add_option("--glob", globs,
                  "files that match: '*.pt', 'code/**'; may be repeated. Without one it is only "
                  "looked which are there")
      .one_value_each();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster checkpoint rm");
  Session session(console);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  // Only HTTP has a way to it.
  const auto done = web.post("checkpoints/rm", Json::Object{{"checkpointUuids", texts(uuids)},
                                                            {"checkpointGlobs", texts(globs)}});
  return done.has_value() ? 0 : console.fail(done.error());
}

constexpr std::array kVerbs{
    CommandRow{"list|ls", run_list, "show those of an experiment or of trials"},
    CommandRow{"describe", run_describe, "show one with its files"},
    CommandRow{"download", run_checkpoint_download, "get the files of one, from wherever they lie"},
    CommandRow{"rm", run_remove, "remove files of some, by patterns"},
    CommandRow{"delete", run_delete, "delete the files of some"}};

}  // namespace

int run_checkpoint(const Words& words) { return run_verb("muster checkpoint", kVerbs, words); }

}  // namespace muster::cli
