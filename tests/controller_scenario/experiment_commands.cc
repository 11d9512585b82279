// muster experiment, by the words that scenarios need.
#include <map>

#include "tests/controller_scenario/commands.h"
#include "tests/scenario_text.h"

namespace muster::scenario {
namespace {

tl::unexpected<Error> wrong_command(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

/// The configuration stands in braces: YAML on one line.
std::string braced(const std::string& text) {
  const std::size_t open = text.find('{');
  return open == std::string::npos ? std::string() : text.substr(open);
}

Result<ExperimentId> read_id(const Options& options) {
  std::int64_t number = 0;
  if (!read_number(options.name(0), number)) return wrong_command("an experiment has a number");
  return ExperimentId(static_cast<std::uint32_t>(number));
}

Result<Request> read_create(const CommandWords& words, const CommandContext& context) {
  CreateExperiment create;
  create.config = braced(context.text);
  if (create.config.empty()) return wrong_command("experiment create {YAML}");
  create.is_paused = words.front() == "paused";
  auto job = std::make_shared<JobSpec>();
  job->text.set(JobText::kName, "experiment");
  job->text.set(JobText::kWorkDir, "/home/" + context.user);
  create.job = std::move(job);
  return Request(std::move(create));
}

Result<Request> read_update(const Options& options) {
  UpdateExperiment update;
  update.experiment = TRY(read_id(options));
  if (options.has("name")) update.name = options.get("name");
  if (options.has("max_concurrent")) update.max_concurrent = options.count("max_concurrent");
  if (options.has("max_slots")) update.max_slots = options.count("max_slots");
  if (options.has("priority")) update.priority = options.count("priority");
  for (const std::string& problem : options.problems()) return wrong_command(problem);
  return Request(std::move(update));
}

}  // namespace

Result<Request> read_experiment(const CommandWords& words, const CommandContext& context) {
  static const std::map<std::string, ExperimentVerb> kVerbs = {
      {"pause", ExperimentVerb::kPause},     {"activate", ExperimentVerb::kActivate},
      {"cancel", ExperimentVerb::kCancel},   {"kill", ExperimentVerb::kKill},
      {"archive", ExperimentVerb::kArchive}, {"unarchive", ExperimentVerb::kUnarchive},
      {"delete", ExperimentVerb::kDelete}};
  if (words.size() < 2) return wrong_command("experiment VERB NUMBER");
  const CommandWords rest(words.begin() + 1, words.end());
  if (words.front() == "create") return read_create(rest, context);
  const Options options(rest);
  if (words.front() == "update") return read_update(options);
  const ExperimentId id = TRY(read_id(options));
  if (words.front() == "continue") return Request(ContinueExperiment{id, braced(context.text)});
  const auto verb = kVerbs.find(words.front());
  if (verb == kVerbs.end()) return wrong_command("unknown verb " + words.front());
  return Request(ControlExperiments{verb->second, {id}});
}

}  // namespace muster::scenario
