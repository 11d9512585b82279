#include "tests/controller_scenario/acts.h"

#include <algorithm>
#include <csignal>
#include <span>

#include "slurm/signal_text.h"
#include "tests/controller_scenario/commands.h"

namespace muster::scenario {
namespace {

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

Result<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  if (!read_number(text, number)) return wrong(text + " is no number");
  return number;
}

Status act_journal(World& world, const Options& options) {
  if (options.name(0) != "stalls") return wrong("journal stalls");
  world.stall_journal();
  return {};
}
Status act_repeat(World& world, const Options&) {
  world.repeat();
  return {};
}
Status act_stand_still(World& world, const Options& options) {
  const std::int64_t seconds = TRY(number_in(options.name(0)));
  world.stand_still(Duration::seconds(seconds));
  return {};
}
Status act_forget(World& world, const Options& options) {
  if (options.name(0) != "sent") return wrong("forget sent");
  world.forget_orders();
  return {};
}

struct Row {
  std::string_view word;
  Status (*act)(World&, const Options&);
};
constexpr Row kRows[] = {{"exit", act_exit},     {"client", act_client},
                         {"node", act_node},     {"trial", act_trial},
                         {"crash", act_crash},   {"journal", act_journal},
                         {"repeat", act_repeat}, {"stand_still", act_stand_still},
                         {"forget", act_forget}};

Status command(World& world, const Statement& statement, const User& user) {
  const CommandContext context{world.now(), &world.state(), user.name, statement.text};
  const std::vector<std::string> words(statement.words.begin() + 1, statement.words.end());
  for (Request& request : TRY(read_command(words, context))) {
    world.ask(std::move(request), user);
    if (!world.answer().errors.empty()) return {};
  }
  return {};
}

/// How the tasks of a step end.
Result<StepDone> read_end(const Options& options) {
  StepDone done;
  if (options.has("signal")) {
    const std::uint16_t signal = TRY(parse_signal(options.get("signal")));
    done.tasks = {ExitStatus::signalled(signal)};
  } else {
    done.tasks = {ExitStatus::exited(static_cast<int>(options.number_of("code")))};
  }
  done.is_out_of_memory = options.has_name("oom");
  done.is_timeout = options.has_name("timeout");
  done.is_lost = options.has_name("lost");
  done.may_pass = options.has_name("passing");
  done.error = options.get("node_fault", options.get("error"));
  done.is_node_fault = options.has("node_fault");
  return done;
}

/// "12" is the batch script, "12.0" a step.
Status end_step(World& world, const Options& options, JobId job, std::uint32_t step) {
  const auto wanted = expand_hosts(options.get("on"));
  const StepDone end = TRY(read_end(options));
  bool is_found = false;
  for (std::uint32_t i = 0; i < world.nodes().size(); ++i) {
    const std::string& name = world.state().nodes().at(NodeIndex(i)).config.name;
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
    const KnownStep* running = world.node(NodeIndex(i)).find(job, step);
    if (running == nullptr) continue;
    is_found = true;
    StepDone done = end;
    done.id = running->id;
    world.send_from(NodeIndex(i), world.node(NodeIndex(i)).end(std::move(done)));
  }
  if (!is_found) return wrong("no process of " + options.name(0) + " runs there");
  world.run_until_idle();
  return {};
}

}  // namespace

Status act(World& world, const Statement& statement) {
  if (const User* user = find_user(statement.words.front()))
    return command(world, statement, *user);
  const auto row = std::ranges::find(kRows, statement.words.front(), &Row::word);
  if (row == std::end(kRows)) return wrong("unknown word " + statement.words.front());
  const Options options(std::span(statement.words).subspan(1));
  TRY(row->act(world, options));
  const auto problems = options.problems();
  return problems.empty() ? Status{} : wrong(problems.front());
}

Status act_exit(World& world, const Options& options) {
  JobSelector selector = TRY(read_job(world.state(), options.name(0)));
  const std::uint32_t step = selector.step.value_or(kBatchStep);
  selector.step.reset();
  JobId job = selector.job;
  if (selector.is_element) job = TRY(read_one_job(world.state(), options.name(0)));
  return end_step(world, options, job, step);
}

/// salloc's shell or srun: it ends its allocation, or is gone without a word.
Status act_client(World& world, const Options& options) {
  const JobId job = TRY(read_one_job(world.state(), options.name(0)));
  if (options.name(1) == "dies") {
    world.lose_client(job);
    return {};
  }
  if (options.name(1) != "leaves") return wrong("client JOB dies|leaves");
  const Job& found = *world.state().jobs().find(job);
  const auto code = static_cast<int>(options.number_of("code"));
  world.ask(ReleaseAllocation{job, found.attempt, ExitStatus::exited(code)},
            *find_user(std::string(found.spec->get(JobText::kUserName))));
  return {};
}

Status act_crash(World& world, const Options& options) {
  Restart how;
  how.is_tail_stored = options.has_name("tail");
  how.away = Duration::seconds(options.number_of("away"));
  how.beginning.clock_step = Duration::seconds(options.number_of("clock_step"));
  if (options.has("suspect"))
    how.beginning.suspect = TRY(read_one_job(world.state(), options.get("suspect")));
  world.restart(how);
  return {};
}

}  // namespace muster::scenario
