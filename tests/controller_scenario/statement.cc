#include "tests/controller_scenario/statement.h"

#include <fmt/format.h>

#include <istream>

namespace muster::scenario {
namespace {

/// What every slurm.conf must have and no scenario cares about.
constexpr std::string_view kPreamble = "ClusterName=muster SlurmctldHost=head GresTypes=gpu";

/// Takes "at SECONDS" off. Empty: the line is in order.
std::string consume_time(Statement& statement, std::int64_t now) {
  statement.at = now;
  if (statement.words.front() != "at") return "";
  if (statement.words.size() < 2 || !read_number(statement.words[1], statement.at))
    return "at needs a whole number of seconds";
  if (statement.at < now) return fmt::format("time goes back from {}", now);
  statement.words.erase(statement.words.begin(), statement.words.begin() + 2);
  return "";
}

}  // namespace

Scenario read_scenario(std::istream& stream) {
  Scenario scenario;
  scenario.conf = std::string(kPreamble) + "\n";
  std::int64_t now = 0;
  bool has_begun = false;
  for (TextLine& line : read_text(stream)) {
    if (!has_begun && line.words.front().find('=') != std::string::npos) {
      scenario.conf += line.text + "\n";
      continue;
    }
    Statement statement{line.number, now, std::move(line.text), std::move(line.words)};
    if (const std::string wrong = consume_time(statement, now); !wrong.empty()) {
      scenario.errors.push_back(fmt::format("{}: {}", line.number, wrong));
      continue;
    }
    now = statement.at;
    has_begun = statement.words.empty() || statement.words.front() != "fails";
    if (!statement.words.empty()) scenario.statements.push_back(std::move(statement));
  }
  return scenario;
}

}  // namespace muster::scenario
