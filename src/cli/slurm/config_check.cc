// muster config check: everything in a configuration that is refused, without effect or old, before
// a daemon is started.
#include "cli/slurm/config_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/lib/commands.h"
#include "cli/lib/session.h"
#include "env/posix/conf_files.h"
#include "slurm/conf/conf_companions.h"
#include "slurm/conf/slurm_conf.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// "FILE:LINE" taken apart; line 0 where the whole file is meant.
std::pair<std::string, std::uint64_t> location_of(const ConfFinding& finding) {
  const std::size_t colon = finding.place.rfind(':');
  const auto line = colon == std::string::npos
                        ? std::nullopt
                        // A path may have a colon and no line.
                        : parse_whole(std::string_view(finding.place).substr(colon + 1));
  return {line ? finding.place.substr(0, colon) : finding.place, line.value_or(0)};
}

/// Files in the order in which they are first spoken of, `first` before all; lines rising; what is
/// missing in a file last.
void sort_by_place(std::vector<ConfFinding>& findings, const std::string& first) {
  // Files in the order of their first finding, whichever findings come between.
  std::map<std::string, std::size_t> files = {{first, 0}};
  for (const ConfFinding& finding : findings)
    files.try_emplace(location_of(finding).first, files.size());
  // Stable: findings of one line stay in the order in which they were made.
  std::ranges::stable_sort(findings, {}, [&](const ConfFinding& finding) {
    const auto [file, line] = location_of(finding);
    return std::tuple(files.at(file), line == 0 ? UINT64_MAX : line);
  });
}

void append(std::vector<ConfFinding>& all, std::vector<ConfFinding> more) {
  std::ranges::move(more, std::back_inserter(all));
}

int check_one(const Console& console, const std::string& path) {
  const auto findings = check_conf_file(path);
  if (!findings.has_value()) return console.fail(findings.error());
  for (const ConfFinding& finding : *findings) {
    print(fmt::format("{}: {}: {}: {}\n", finding.place, conf_finding_word(finding.kind),
                      finding.text, finding.remedy));
  }
  const bool is_fatal_here = std::ranges::any_of(*findings, is_fatal);
  print(fmt::format(
      // Refused and wrong are fatal; without effect and old are not.
      "{}: {}: {}\n", path, conf_summary(*findings),
      is_fatal_here ? "the daemons do not start with it" : "the daemons start with it"));
  return is_fatal_here ? 1 : 0;
}

int run_check_verb(const Words& words) {
  const Console console("muster config check");
  const bool is_help = !words.empty() && (words.front() == "--help" || words.front() == "-h");
  if (is_help || words.size() > 1) {
    print(
        "Usage: muster config check [FILE]\n\nSays all that is wrong, refused, without effect or "
        "old in a slurm.conf (the cluster's own without\n"
        "FILE), in what it includes and in the files beside it: place, key, and what to do. Needs "
        "no daemon.\n"
        "Exit status: 0 when the daemons start with it, else 1.\n");
    return is_help ? 0 : 1;
  }
  const std::string path = words.empty() ? find_cluster().conf : words.front();
  if (path.empty()) {
    return console.fail(
        Error{ErrorCode::kNotFound, "no slurm.conf was found", "name one, or set SLURM_CONF"});
  }
  return check_one(console, path);
}

constexpr CommandRow kVerbs[] = {
    {"check", run_check_verb, "say all that is refused, without effect or old in a slurm.conf"}};

}  // namespace

Result<std::vector<ConfFinding>> check_conf_file(const std::string& path) {
  const std::string text = TRY(read_conf_file(path));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = path.substr(folder.size());
  const IncludeReader reader = include_reader(path);
  // A companion may be checked alone, before slurm.conf names it.
  if (!why_companion_has_no_effect(name).empty()) {
    std::vector<ConfFinding> alone = check_companion(name, path, text, reader);
    sort_by_place(alone, path);
    return alone;
  }
  std::vector<ConfFinding> findings = read_slurm_conf(path, text, reader).findings;
  for (const std::string_view companion : companion_files()) {
    // One that is not there has nothing wrong in it.
    const auto beside = read_conf_file(folder + std::string(companion));
    if (beside.has_value())
      append(findings,
             check_companion(companion, folder + std::string(companion), *beside, reader));
  }
  sort_by_place(findings, path);
  return findings;
}

std::string conf_summary(const std::vector<ConfFinding>& findings) {
  std::vector<std::string> parts;
  for (const auto kind : {ConfFindingKind::kWrong, ConfFindingKind::kRefused,
                          ConfFindingKind::kNoEffect, ConfFindingKind::kOld}) {
    const auto count = std::ranges::count(findings, kind, &ConfFinding::kind);
    if (count > 0) parts.push_back(fmt::format("{} {}", count, conf_finding_word(kind)));
  }
  return parts.empty() ? "nothing to say" : join(parts, ", ");
}

int run_config(const Words& words) { return run_verb("muster config", kVerbs, words); }

}  // namespace muster::cli
