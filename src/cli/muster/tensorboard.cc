// muster tensorboard: looking at what trials have written for TensorBoard.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/session.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"

extern char** environ;

namespace muster::cli {
namespace {

constexpr Duration kLookEvery = Duration::milliseconds(300);
constexpr int kLooksMax = 30 * 60 * 1000 / 300;  // half an hour, as Determined's client waits

Result<Json> tensorboard_in(Result<Json> reply) {
  const Json body = TRY(std::move(reply));
  const Json* found = body.find("tensorboard");
  if (found == nullptr)
    return fail(ErrorCode::kInternal, "the controller answered without a TensorBoard");
  return *found;
}

/// Its address, with a ticket that opens it in a browser, and it alone, for a day.
Status print_address(Web& web, const std::string& id) {
  const Json ticket = TRY(web.post(fmt::format("services/{}/ticket", id), Json::Object{}));
  print(text_of(ticket, "url") + "\n");
  return {};
}

/// Says each time when something else is awaited.
Status wait_ready(const Console& console, Session& session, Web& web, const std::string& id) {
  std::string said;
  for (int look = 0; look < kLooksMax; ++look) {
    const Json found = TRY(tensorboard_in(web.get("tensorboards/" + id)));
    const std::string state = text_of(found, "state");
    const std::string detail = text_of(found, "detail");
    if (state == "STATE_RUNNING") return {};
    // A job that has ended will not serve.
    const bool is_over = state == "STATE_TERMINATED" || state == "STATE_TERMINATING";
    const Json* cannot_serve = found.find("cannotServe");
    // It runs but what it needs is missing: nothing will change by waiting.
    if (is_over ||
        (cannot_serve != nullptr && cannot_serve->boolean() != nullptr && *cannot_serve->boolean()))
      return fail(ErrorCode::kFailedPrecondition, detail);
    // Each reason once, however long it lasts.
    if (detail != said) console.say(detail);
    said = detail;
    session.sleep(kLookEvery);
  }
  return fail(ErrorCode::kDeadlineExceeded,
              fmt::format("TensorBoard {} is not ready after half an hour", id),
              "muster tensorboard list shows it");
}

Json numbers(const std::vector<std::uint32_t>& values) {
  Json::Array out;
  for (const std::uint32_t value : values) out.emplace_back(value);
  return out;
}

/// The caller's variables: his TensorBoard is the one of his environment, as with sbatch.
Json own_environment() {
  Json::Array variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    // Not of a job that the caller is in, nor the token of his session.
    if (!text.starts_with("SLURM_") && !text.starts_with("DET_"))
      variables.emplace_back(std::string(text));
  }
  return variables;
}

struct StartOptions {
  std::vector<std::uint32_t> experiments;
  std::vector<std::uint32_t> trials;
  std::string idle;
  std::string description;
  std::string partition;
  bool is_detached = false;
};

Json body_of(const StartOptions& options) {
  Json config = Json::Object{};
  // Only what was said: the server has defaults of its own.
  if (!options.idle.empty()) config.member("idle_timeout") = options.idle;
  if (!options.description.empty()) config.member("description") = options.description;
  if (!options.partition.empty())
    config.member("resources") = Json::Object{{"resource_pool", options.partition}};
  return Json::Object{{"experimentIds", numbers(options.experiments)},
                      {"trialIds", numbers(options.trials)},
                      {"config", config},
                      {"environment", own_environment()}};
}

Status start(const Console& console, const StartOptions& options) {
  Session session(console);
  Web web(session);
  TRY(web.open());
  const Json made = TRY(tensorboard_in(web.post("tensorboards", body_of(options))));
  const std::string id = text_of(made, "id");
  console.say(fmt::format("TensorBoard {} is job {}", id, text_of(made, "jobId")));
  // The id alone on standard output: a script opens it later.
  if (options.is_detached) {
    print(id + "\n");
    return {};
  }
  TRY(wait_ready(console, session, web, id));
  return print_address(web, id);
}

int run_start(const Words& words) {
  StartOptions options;
  CommandParser parser(
      "Opens a TensorBoard over the event files of experiments or trials, as a job of yours, and "
      "prints its address. It ends "
      "when nobody has looked at it for a while.",
      "muster tensorboard");
  parser.add_option("EXPERIMENT", options.experiments, "their numbers");
  parser.add_option("-t,--trial", options.trials, "this trial alone; may be repeated")
      .one_value_each();
  parser.add_option("--idle", options.idle,
                    "how long nobody looks before it ends: 90s, 5m, 1h; 5m if not given");
  parser.add_option("--description", options.description, "what the list says of it");
  parser.add_option("-p,--partition", options.partition,
                    "where it runs; the first experiment's if not given");
  parser.add_flag("--no-wait,-d,--detach", options.is_detached, "print its id and leave");
  parser.set_footer("muster tensorboard list | open ID | kill ID");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster tensorboard");
  if (options.experiments.empty() && options.trials.empty()) {
    return console.fail(Error{ErrorCode::kInvalidArgument, "of which experiments?",
                              "give their numbers, or --trial; see muster experiment list"});
  }
  const Status done = start(console, options);
  return done.has_value() ? 0 : console.fail(done.error());
}

// ---- those that are there ----

Result<std::vector<Json>> all_of(Web& web) {
  return items_of(TRY(web.get("tensorboards")), "tensorboards");
}

/// By the beginning of its id, or by its job.
Result<std::string> id_of(const std::vector<Json>& all, const std::string& name) {
  std::vector<std::string> found;
  for (const Json& one : all) {
    const std::string id = text_of(one, "id");
    // A job's number is exact: it is never taken as the beginning of an id.
    if (text_of(one, "jobId") == name || id == name) return id;
    if (!name.empty() && id.starts_with(name)) found.push_back(id);
  }
  if (found.size() == 1) return found.front();
  return fail(found.empty() ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
              fmt::format("{} TensorBoard {}",
                          found.empty() ? "there is no" : "there is more than one", name),
              "see muster tensorboard list");
}

int run_list(const Words& words) {
  bool is_all = false;
  CommandParser parser("Shows TensorBoards that run or wait.", "muster tensorboard list");
  parser.add_flag("-a,--all", is_all, "also those that have ended");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster tensorboard list");
  Session session(console);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto all = all_of(web);
  if (!all.has_value()) return console.fail(all.error());
  std::vector<Row> rows;
  for (const Json& one : *all) {
    const std::string state = text_of(one, "state").substr(std::string_view("STATE_").size());
    if (is_all || state != "TERMINATED")
      rows.push_back({text_of(one, "id"), text_of(one, "jobId"), text_of(one, "username"), state,
                      text_of(one, "description")});
  }
  print(table_text({"ID", "JOB", "USER", "STATE", "DESCRIPTION"}, rows));
  return 0;
}

/// Does it to each that is named.
int for_each_named(const Console& console, const std::vector<std::string>& names,
                   const std::function<Status(Session&, Web&, const std::string&)>& act) {
  Session session(console);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto all = all_of(web);
  if (!all.has_value()) return console.fail(all.error());
  for (const std::string& name : names) {
    const auto id = id_of(*all, name);
    // The first mistake ends it: those before it are done.
    if (!id.has_value()) return console.fail(id.error());
    if (const Status done = act(session, web, *id); !done.has_value())
      return console.fail(done.error());
  }
  return 0;
}

int run_kill(const Words& words) {
  std::vector<std::string> names;
  CommandParser parser("Ends TensorBoards.", "muster tensorboard kill");
  parser.add_option("ID", names, "theirs, or their beginning, or their jobs' numbers").required();
  if (const auto code = parser.parse(words)) return *code;
  return for_each_named(Console("muster tensorboard kill"), names,
                        [](Session&, Web& web, const std::string& id) -> Status {
                          TRY(web.post(fmt::format("tensorboards/{}/kill", id), Json::Object{}));
                          return {};
                        });
}

int run_open(const Words& words) {
  std::string name;
  CommandParser parser("Prints the address of a TensorBoard that is there, when it is ready.",
                       "muster tensorboard open");
  parser.add_option("ID", name, "its own, or its beginning, or its job's number").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster tensorboard open");
  return for_each_named(console, {name},
                        [&console](Session& session, Web& web, const std::string& id) -> Status {
                          TRY(wait_ready(console, session, web, id));
                          return print_address(web, id);
                        });
}

constexpr std::array kVerbs{CommandRow{"list", run_list, "show those that run"},
                            CommandRow{"open", run_open, "print the address of one"},
                            CommandRow{"kill", run_kill, "end some"},
                            CommandRow{"start", run_start, "what is done without a verb"}};

}  // namespace

int run_tensorboard(const Words& words) {
  const CommandRow* verb = words.empty() ? nullptr : find_command(kVerbs, words.front());
  // Determined starts one by `det tensorboard start`; without a verb it is the usual wish.
  return verb == nullptr ? run_start(words) : verb->run(Words(words.begin() + 1, words.end()));
}

}  // namespace muster::cli
