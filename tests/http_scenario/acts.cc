#include "tests/http_scenario/acts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "slurm/signal_text.h"
#include "tests/scenario_text.h"
#include "trials/service_text.h"

namespace muster::http_scenario {
namespace {

using scenario::Options;

tl::unexpected<Error> bad_act(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

Result<std::uint32_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  if (!scenario::read_number(text, number) || number < 0 || number > UINT32_MAX)
    return bad_act(fmt::format("'{}' is no number", text));
  return static_cast<std::uint32_t>(number);
}

/// "after 5 minutes"
Status act_after(World& world, const Options& options) {
  const std::uint32_t count = TRY(number_in(options.name(0)));
  const std::string& unit = options.name(1);
  Duration one;
  if (unit.starts_with("second")) one = Duration::seconds(1);
  if (unit.starts_with("minute")) one = Duration::minutes(1);
  if (unit.starts_with("hour")) one = Duration::hours(1);
  if (unit.starts_with("day")) one = Duration::hours(24);
  if (one == Duration()) return bad_act("after NUMBER seconds|minutes|hours|days");
  world.advance(one * count);
  return {};
}

Result<StepDone> end_of(const Options& options) {
  StepDone done;
  if (options.has("signal")) {
    const std::uint16_t signal = TRY(parse_signal(options.get("signal")));
    done.tasks = {ExitStatus::signalled(signal)};
  } else {
    done.tasks = {ExitStatus::exited(static_cast<int>(options.number_of("code")))};
  }
  return done;
}

Status end_job(World& world, JobId job, const Options& options) {
  const StepDone done = TRY(end_of(options));
  if (!world.end(job, done)) return bad_act(fmt::format("job {} does not run", job.value()));
  return {};
}

/// "job 3 exits code=1"
Status act_job(World& world, const Options& options) {
  const JobId job(TRY(number_in(options.name(0))));
  if (options.name(1) != "exits") return bad_act("job NUMBER exits");
  return end_job(world, job, options);
}

Result<const Trial*> trial_named(World& world, const std::string& number) {
  const TrialId id(TRY(number_in(number)));
  const Trial* trial = world.state().experiments().find(id);
  if (trial == nullptr) return bad_act(fmt::format("there is no trial {}", id.value()));
  return trial;
}

/// "trial 1 exits"
Status act_trial(World& world, const Options& options) {
  const Trial* trial = TRY(trial_named(world, options.name(0)));
  if (options.name(1) != "exits") return bad_act("trial NUMBER exits|prints");
  return end_job(world, trial->job, options);
}

/// "node n0 falls silent", "node n0 clings"
Status act_node(World& world, const Options& options) {
  scenario::FakeNode* node = world.node(options.name(0));
  if (node == nullptr) return bad_act(fmt::format("there is no node {}", options.name(0)));
  const bool is_clinging = options.name(1) == "clings";
  if (!is_clinging && (options.name(1) != "falls" || options.name(2) != "silent"))
    return bad_act("node NAME falls silent|clings");
  (is_clinging ? node->is_clinging : node->is_away) = true;
  return {};
}

Status act_site(World& world, const Options& options) {
  if (options.has("services_port"))
    world.settings().services_port = static_cast<std::uint16_t>(options.count("services_port"));
  if (options.has("services_url")) world.settings().services_url = options.get("services_url");
  return {};
}

/// "trial 1 prints \"text\" rank=1 stderr"
Status act_prints(World& world, std::vector<std::string> words) {
  const Trial* trial = TRY(trial_named(world, words[1]));
  if (words.size() < 4) return bad_act("trial NUMBER prints TEXT");
  LogFragment line;
  line.bytes = words[3];
  words.erase(words.begin(), words.begin() + 4);
  const Options options(words);
  line.run = options.count("run", 1);
  line.rank = options.count("rank");
  line.stream = options.has_name("stderr") ? LogStream::kStderr : LogStream::kStdout;
  const auto problems = options.problems();
  return problems.empty() ? world.print(trial->id, std::move(line)) : bad_act(problems.front());
}

/// "door services": where the next requests come in.
Status act_door(World& world, const Options& options) {
  const bool is_services = options.name(0) == "services";
  if (!is_services && options.name(0) != "api") return bad_act("door services|api");
  world.set_door(is_services ? api::Door::kServices : api::Door::kApi);
  return {};
}

struct Row {
  std::string_view word;
  Status (*act)(World&, const Options&);
};
constexpr Row kRows[] = {{"after", act_after}, {"job", act_job},   {"trial", act_trial},
                         {"node", act_node},   {"site", act_site}, {"door", act_door}};

std::string wire_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\r\n") + line;
  return text;
}

/// "service 5000 answers", with the answer's lines below.
Status act_service(World& world, const Statement& statement,
                   const std::vector<std::string>& words) {
  if (words.size() != 3 || words[2] != "answers") return bad_act("service PORT answers");
  const std::uint32_t port = TRY(number_in(words[1]));
  world.serve(static_cast<std::uint16_t>(port), wire_text(statement.body));
  return {};
}

/// "token NAME of USER days=3"
Status act_token(World& world, const std::vector<std::string>& words, Variables& variables) {
  const Options options{std::span<const std::string>(words).subspan(1)};
  if (options.name(1) != "of") return bad_act("token NAME of USER");
  variables[options.name(0)] =
      TRY(world.make_token(options.name(2), Duration::hours(24) * options.number_of("days", 1)));
  return {};
}

/// "name VARIABLE of job 3": as a service it is called so.
Status act_name(const std::vector<std::string>& words, Variables& variables) {
  if (words.size() != 5 || words[2] != "of" || words[3] != "job")
    return bad_act("name NAME of job N");
  const JobId job(TRY(number_in(words[4])));
  variables[words[1]] = service_name(fuzz::HttpSite::kClusterId, job);
  return {};
}

}  // namespace

Status act(World& world, const Statement& statement, Variables& variables) {
  const auto words = scenario::words_of(statement.line.text);
  if (words.front() == "service") return act_service(world, statement, words);
  if (!statement.body.empty()) return bad_act("only requests and services have lines of a body");
  if (words.front() == "trial" && words.size() > 2 && words[2] == "prints")
    return act_prints(world, words);
  if (words.front() == "name") return act_name(words, variables);
  if (words.front() == "token") return act_token(world, words, variables);
  if (words.front() == "as") {
    if (words.size() != 2) return bad_act("as USER");
    world.set_caller(words[1] == "nobody" ? "" : words[1]);
    return {};
  }
  const auto row = std::ranges::find(kRows, words.front(), &Row::word);
  if (row == std::end(kRows)) return bad_act(fmt::format("unknown word {}", words.front()));
  const Options options{std::span<const std::string>(words).subspan(1)};
  TRY(row->act(world, options));
  const auto problems = options.problems();
  return problems.empty() ? Status{} : bad_act(problems.front());
}

}  // namespace muster::http_scenario
