#include "tests/controller_scenario/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "slurm/signal_text.h"
#include "state/views.h"
#include "tests/controller_scenario/commands.h"
#include "tests/controller_scenario/fields.h"

namespace muster::scenario {
namespace {

using Texts = std::vector<std::string>;

Texts compare(const std::string& what, const Options& options, const Fields& fields) {
  Texts differences;
  for (const auto& [key, wanted] : options.all()) {
    const auto found = fields.find(key);
    if (found == fields.end()) {
      differences.push_back(fmt::format("{} has no {}", what, key));
    } else if (!is_as_wanted(wanted, found->second)) {
      differences.push_back(fmt::format("{}: expected {}={}, found {}", what, key,
                                        wanted_text(wanted), found->second));
    }
  }
  return differences;
}

/// "expect KIND NAME gone", or fields of what is there.
Texts compare_found(const std::string& what, const Options& options, const Fields* fields) {
  const bool is_gone = options.has_name("gone");
  const bool has_any = !options.all().empty();
  if (options.names().size() > (is_gone ? 2U : 1U))
    return {"unknown word " + options.names().back()};
  if (fields == nullptr) return is_gone ? Texts{} : Texts{what + " is not there"};
  if (is_gone) return {what + " is there"};
  if (!has_any) return {"nothing is expected of " + what};
  return compare(what, options, *fields);
}

Texts check_job(World& world, const Options& options) {
  const std::string what = "job " + options.name(0);
  const ClusterState& seen = world.replica().state();
  const auto id = read_one_job(seen, options.name(0));
  if (!id.has_value()) return compare_found(what, options, nullptr);
  const JobView view = world.replica().job_view(*seen.jobs().find(*id), QueryDetail::kFull);
  const Fields fields = job_fields(view, world.now());
  return compare_found(what, options, &fields);
}

/// The last end of the job that history was told, or that of its attempt `attempt`.
Texts check_history(World& world, const Options& options) {
  const std::string what = "history of job " + options.name(0);
  std::int64_t id = 0;
  if (!read_number(options.name(0), id)) return {"history JOB"};
  const JobView* last = nullptr;
  for (const HistoryRecord& record : world.history()) {
    const auto* view = std::get_if<JobView>(&record.object);
    if (view != nullptr && view->id == JobId(static_cast<std::uint32_t>(id))) last = view;
  }
  if (last == nullptr) return compare_found(what, options, nullptr);
  const Fields fields = job_fields(*last, world.now());
  return compare_found(what, options, &fields);
}

Texts check_step(World& world, const Options& options) {
  const std::string what = "step " + options.name(0);
  const auto selector = read_job(world.state(), options.name(0));
  const Job* job = selector.has_value() ? world.state().jobs().find(selector->job) : nullptr;
  const StepState* step = job == nullptr || job->run == nullptr || !selector->step
                              ? nullptr
                              : job->run->find_step(*selector->step);
  if (step == nullptr) return compare_found(what, options, nullptr);
  const Fields fields = step_fields(view_of(*step, *job, world.state()), world.now());
  return compare_found(what, options, &fields);
}

Texts check_nodes(World& world, const Options& options) {
  Texts differences;
  const auto names = expand_hosts(options.name(0));
  if (names.empty()) return {"node LIST"};
  for (const std::string& name : names) {
    const auto index = world.state().nodes().find_by_name(name);
    const Fields fields = index ? node_fields(world, *index) : Fields{};
    for (std::string& one : compare_found("node " + name, options, index ? &fields : nullptr))
      differences.push_back(std::move(one));
  }
  return differences;
}

Texts check_partition(World& world, const Options& options) {
  const std::string what = "partition " + options.name(0);
  for (const PartitionConfig& partition : world.state().partitions()) {
    if (partition.name != options.name(0)) continue;
    const Fields fields = partition_fields(world, partition);
    return compare_found(what, options, &fields);
  }
  return compare_found(what, options, nullptr);
}

Texts check_experiment(World& world, const Options& options) {
  std::int64_t id = 0;
  if (!read_number(options.name(0), id)) return {"experiment NUMBER"};
  const Experiment* found =
      world.state().experiments().find(ExperimentId(static_cast<std::uint32_t>(id)));
  const Fields fields = found != nullptr ? experiment_fields(world, *found) : Fields{};
  return compare_found("experiment " + options.name(0), options, found ? &fields : nullptr);
}

Texts check_trial(World& world, const Options& options) {
  std::int64_t id = 0;
  if (!read_number(options.name(0), id)) return {"trial NUMBER"};
  const Trial* found = world.state().experiments().find(TrialId(static_cast<std::uint32_t>(id)));
  const Fields fields = found != nullptr ? trial_fields(world, *found) : Fields{};
  return compare_found("trial " + options.name(0), options, found ? &fields : nullptr);
}

Texts check_checkpoint(World& world, const Options& options) {
  const CheckpointRef found = world.state().checkpoints().find(options.name(0));
  const Fields fields = found != nullptr ? checkpoint_fields(*found) : Fields{};
  return compare_found("checkpoint " + options.name(0), options,
                       found != nullptr ? &fields : nullptr);
}

/// Orders that reached a node, by kind; of one job, or of one signal, where that is said.
Texts check_sent(World& world, const Options& options) {
  const auto index = world.state().nodes().find_by_name(options.name(0));
  const JobId job(options.count("job"));
  const std::string signal = options.get("signal");
  const std::size_t narrowing = (job.value() == 0 ? 0U : 1U) + (signal.empty() ? 0U : 1U);
  if (!index || options.names().size() != 1 || options.all().size() == narrowing)
    return {"sent NODE KIND=NUMBER"};
  Fields counts = {{"job", options.get("job")}, {"signal", signal}};
  for (const std::string_view name : {"LaunchStep", "SignalStep", "TerminateJob", "SuspendJob",
                                      "ChangeEnd", "StopStep", "FindSteps", "EndStep"}) {
    const auto count = std::ranges::count_if(world.orders_of(*index), [&](const ToAgent& order) {
      const auto* sent = get_if<SignalStep>(&order);
      return order_name(order) == name && (job.value() == 0 || job_of(order) == job) &&
             (signal.empty() || (sent != nullptr && signal_name(sent->signal) == signal));
    });
    counts[std::string(name)] = std::to_string(count);
  }
  return compare("sent to " + options.name(0), options, counts);
}

/// The last request was refused with these words in one of its errors.
Texts check_refused(World& world, const Options& options) {
  const std::string& wanted = options.name(0);
  if (wanted.empty() || options.names().size() != 1) return {"refused \"TEXT\""};
  const auto& errors = world.answer().errors;
  const bool is_said = std::ranges::any_of(
      errors, [&](const Error& error) { return error.text().find(wanted) != std::string::npos; });
  if (is_said) return {};
  if (errors.empty()) return {fmt::format("expected a refusal: {}, found none", wanted)};
  return {fmt::format("expected a refusal: {}, found {}", wanted, errors.front().text())};
}

Texts check_count(const std::string& what, const Options& options, std::size_t found) {
  if (options.name(0) == std::to_string(found)) return {};
  return {fmt::format("expected {} {}, found {}", options.name(0), what, found)};
}
Texts check_unanswered(World& world, const Options& options) {
  return check_count("requests without an answer", options, world.unanswered());
}
Texts check_jobs(World& world, const Options& options) {
  return check_count("jobs", options, world.state().jobs().size());
}

Texts check_warned(World& world, const Options& options) {
  const bool is_said = std::ranges::any_of(world.warnings(), [&](const std::string& text) {
    return text.find(options.name(0)) != std::string::npos;
  });
  return is_said ? Texts{} : Texts{"expected a warning: " + options.name(0) + ", found none"};
}

struct Expectation {
  std::string_view word;
  Texts (*check)(World&, const Options&);
};
constexpr Expectation kExpectations[] = {
    {"job", check_job},         {"history", check_history},       {"step", check_step},
    {"node", check_nodes},      {"partition", check_partition},   {"experiment", check_experiment},
    {"trial", check_trial},     {"checkpoint", check_checkpoint}, {"sent", check_sent},
    {"refused", check_refused}, {"unanswered", check_unanswered}, {"jobs", check_jobs},
    {"warned", check_warned}};

}  // namespace

Texts check_expectation(World& world, const std::vector<std::string>& words) {
  if (words.empty()) return {"expect what?"};
  const auto row = std::ranges::find(kExpectations, words.front(), &Expectation::word);
  if (row == std::end(kExpectations)) return {"unknown word " + words.front()};
  const Options options{std::span(words).subspan(1)};
  Texts differences = row->check(world, options);
  for (std::string& problem : options.problems()) differences.push_back(std::move(problem));
  return differences;
}

}  // namespace muster::scenario
