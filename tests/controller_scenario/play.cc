#include "tests/controller_scenario/play.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "slurm/conf/slurm_conf.h"
#include "tests/controller_scenario/acts.h"
#include "tests/controller_scenario/audit.h"
#include "tests/controller_scenario/expectations.h"
#include "tests/controller_scenario/statement.h"
#include "tests/controller_scenario/world.h"

namespace muster::scenario {
namespace {

class Player {
 public:
  Player(World& world, Verdict& verdict) : world_(world), verdict_(verdict) {}

  void play(const Statement& statement) {
    const bool is_expectation = statement.words.front() == "expect";
    if (!is_expectation) refuse_unread();
    world_.advance(statement.at);
    line_ = statement.line;
    if (is_expectation) {
      expect(statement);
    } else {
      world_.forget_answer();
      const Status done = act(world_, statement);
      if (!done.has_value()) fail(done.error().text());
      has_unread_refusal_ = !world_.answer().errors.empty();
      act_line_ = statement.line;
    }
    audit();
  }

  void finish() {
    refuse_unread();
    line_ = act_line_;
    if (world_.is_stalled()) return fail("the journal stalls at the end: let a crash end that");
    world_.run_until_idle();
    audit();
    for (const std::string& fault : audit_replay(world_)) fail(fault);
  }

 private:
  void expect(const Statement& statement) {
    const std::vector<std::string> words(statement.words.begin() + 1, statement.words.end());
    if (!words.empty() && words.front() == "refused") has_unread_refusal_ = false;
    for (const std::string& difference : check_expectation(world_, words)) fail(difference);
  }

  /// What is refused and not expected to be is a failure of the act.
  void refuse_unread() {
    if (!has_unread_refusal_) return;
    line_ = act_line_;
    for (const Error& error : world_.answer().errors) fail("refused: " + error.text());
    has_unread_refusal_ = false;
  }

  void audit() {
    for (const std::string& fault : audit_grants(world_.state())) fail(fault);
    for (const std::string& fault : world_.extract_faults()) fail(fault);
  }

  void fail(const std::string& text) {
    verdict_.failures.push_back(fmt::format("{}: {}", line_, text));
  }

  World& world_;
  Verdict& verdict_;
  std::size_t line_ = 0;
  std::size_t act_line_ = 0;
  bool has_unread_refusal_ = false;
};

/// What State= in slurm.conf gives nodes that have never registered.
std::map<std::string, NodeStatus> first_status_of(const SlurmConf& conf) {
  std::map<std::string, NodeStatus> status;
  for (std::size_t i = 0; i < conf.initial_nodes.size(); ++i) {
    const int said = conf.initial_nodes[i].conditions & ~node_condition::kUnknown;
    if (said == 0) continue;
    NodeStatus& one = status[conf.cluster.nodes[i].name];
    one.conditions = static_cast<std::uint16_t>(said);
    one.reason = conf.initial_nodes[i].reason;
  }
  return status;
}

/// "fails TEXT": this scenario shows that the runner finds it.
void extract_expected_failures(Scenario& scenario, Verdict& verdict) {
  std::erase_if(scenario.statements, [&](const Statement& statement) {
    if (statement.words.front() != "fails" || statement.words.size() != 2) return false;
    verdict.expected.push_back(statement.words[1]);
    return true;
  });
}

}  // namespace

bool Verdict::is_good() const {
  if (failures.size() != expected.size()) return false;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].find(expected[i]) == std::string::npos) return false;
  }
  return true;
}

Verdict play(std::istream& stream) {
  Scenario scenario = read_scenario(stream);
  Verdict verdict;
  verdict.failures = std::move(scenario.errors);
  extract_expected_failures(scenario, verdict);
  auto conf = parse_slurm_conf("slurm.conf", scenario.conf);
  if (!conf.has_value()) {
    verdict.failures.push_back("1: " + conf.error().text());
    return verdict;
  }
  World world(std::make_shared<const ClusterConfig>(conf->cluster), first_status_of(*conf));
  Player player(world, verdict);
  for (const Statement& statement : scenario.statements) player.play(statement);
  player.finish();
  return verdict;
}

}  // namespace muster::scenario
