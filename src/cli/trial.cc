// muster trial VERB: what can be done with one trial.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/experiment_tables.h"
#include "cli/http_call.h"
#include "cli/local_zone.h"
#include "cli/log_commands.h"
#include "cli/profile_text.h"
#include "cli/session.h"

namespace muster::cli {
namespace {

/// In the order of their numbers here. Errors: kNotFound.
Result<std::vector<TrialView>> find_trials(Session& session, const std::vector<std::uint32_t>& numbers) {
  Query query;
  query.kind = QueryKind::kTrials;
  for (const std::uint32_t number : numbers) query.trials.emplace_back(number);
  const Page page = TRY(session.query(query));
  std::vector<TrialView> found;
  for (const std::uint32_t number : numbers) {
    const auto one = std::ranges::find(page.trials, TrialId(number), &TrialView::id);
    if (one == page.trials.end()) return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", number), "see muster experiment describe");
    found.push_back(*one);
  }
  return found;
}

int run_describe(const Words& words) {
  std::vector<std::uint32_t> numbers;
  CLI::App app("Shows all that is known of trials: how far each is, what ended it, and the lines of its logs that matched policies.",
               "muster trial describe");
  app.add_option("TRIAL", numbers, "their numbers; see muster experiment describe")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster trial describe");
  Session session(console);
  const auto trials = find_trials(session, numbers);
  if (!trials.has_value()) return console.fail(trials.error());
  for (const TrialView& trial : *trials) print(trial_text(trial, show_context(session.cluster().cluster_name)));
  return 0;
}

int run_profile(const Words& words) {
  std::uint32_t number = 0;
  CLI::App app("Shows what a trial's machine did while it trained: CPU, memory, disk, network and GPUs. For trials with profiling: {enabled: true}, or "
               "that turn the profiler on themselves.", "muster trial profile");
  app.add_option("TRIAL", number, "its number; see muster experiment describe")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster trial profile");
  Session session(console);
  const auto access = find_http(session, 1);
  if (!access.has_value()) return console.fail(access.error());
  Profile profile;
  for (const char* group : kProfileGroups) {
    std::string lines;
    const HttpCall call{"GET", fmt::format("/api/v1/trials/metrics/trial_metrics?trialIds={}&group={}", number, group)};
    const Status read = stream_http(session, *access, call, [&lines](std::string_view bytes) -> Status {
      lines += bytes;
      return {};
    });
    if (!read.has_value()) return console.fail(read.error());
    if (const Status taken = profile.take(group, lines); !taken.has_value()) return console.fail(taken.error());
  }
  if (profile.is_empty()) {
    return console.fail({ErrorCode::kNotFound, fmt::format("trial {} has no profile", number), "write profiling: {enabled: true} in the experiment's file"});
  }
  print(profile.text());
  return 0;
}

int run_kill(const Words& words) {
  std::vector<std::uint32_t> numbers;
  CLI::App app("Ends trials at once; their experiments go on.", "muster trial kill");
  app.add_option("TRIAL", numbers, "their numbers; see muster experiment describe")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster trial kill");
  Session session(console);
  const auto trials = find_trials(session, numbers);
  if (!trials.has_value()) return console.fail(trials.error());
  CancelJobs cancel;
  for (const TrialView& trial : *trials) cancel.filter.jobs.push_back({trial.job, {}, false, {}});
  cancel.is_lenient = true;
  const auto reply = session.submit_one(cancel);
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

constexpr std::array kVerbs{CommandRow{"describe", run_describe, "show one with what its logs set off"}, CommandRow{"kill", run_kill, "end it"}, CommandRow{"logs", run_trial_logs, "show what its tasks wrote"},
                            CommandRow{"profile", run_profile, "show what its machine did meanwhile"}};

}  // namespace

int run_trial(const Words& words) { return run_verb("muster trial", kVerbs, words); }

}  // namespace muster::cli
