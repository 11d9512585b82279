// muster report NAME=NUMBER...: a trial's script says what it has reached, without any library.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/session.h"

namespace muster::cli {
namespace {

/// "loss=0.31". Errors: kInvalidArgument.
Result<NamedNumber> parse_pair(const std::string& word) {
  const std::size_t equals = word.find('=');
  NamedNumber pair{word.substr(0, equals), 0};
  const std::string number = equals == word.npos ? "" : word.substr(equals + 1);
  // from_chars: no locale decides what the decimal point is.
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), pair.value);
  // A number with anything behind it is a mistake, not a prefix.
  if (equals == 0 || equals == word.npos || error != std::errc() ||
      end != number.data() + number.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not NAME=NUMBER", word),
                "write for instance accuracy=0.93");
  }
  return pair;
}

/// A number from the trial's environment. Errors: kFailedPrecondition outside of a trial.
Result<std::uint32_t> own_number(const char* name) {
  // Set by the controller for the run; a report names its run, so that one which comes late is
  // refused.
  if (const auto id = environment_id(name)) return *id;
  const std::string_view value = environment_value(name);
  return fail(ErrorCode::kFailedPrecondition,
              value.empty() ? fmt::format("{} is not set", name)
                            : fmt::format("{} is '{}', which is no id", name, value),
              "muster report is for the scripts of trials");
}

Result<Request> request_of(const std::vector<std::string>& pairs, std::uint64_t step,
                           bool is_invalid) {
  const TrialId trial(TRY(own_number("MUSTER_TRIAL_ID")));
  const std::uint32_t run = TRY(own_number("MUSTER_RUN_ID"));
  // Numbers beside it would say nothing.
  if (is_invalid) return Request(FlagTrial{trial, run});
  ReportTrial report;
  report.trial = trial;
  report.run = run;
  report.steps = step;
  for (const std::string& word : pairs) report.metrics.push_back(TRY(parse_pair(word)));
  return Request(std::move(report));
}

}  // namespace

int run_report(const Words& words) {
  std::vector<std::string> pairs;
  std::uint64_t step = 0;
  bool is_invalid = false;
  CommandParser parser(
      "Reports a validation of the trial that this runs in, such as: muster report accuracy=0.93 "
      "epochs=4",
      "muster report");
  parser.add_option("METRIC", pairs,
                    "NAME=NUMBER; with the searcher's metric and its time metric among them");
  parser.add_option("--step", step, "batches trained so far");
  parser.add_flag("--invalid-hparams", is_invalid,
                  "the hyperparameters make no sense: end without another try");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster report");
  if (pairs.empty() && !is_invalid)
    return console.fail(
        Error{ErrorCode::kInvalidArgument, "nothing to report", "give NAME=NUMBER"});
  const auto request = request_of(pairs, step, is_invalid);
  if (!request.has_value()) return console.fail(request.error());
  Session session(console);
  const auto reply = session.submit_one(*request);
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

}  // namespace muster::cli
