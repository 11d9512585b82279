#include "tests/controller_scenario/fake_node.h"

#include <algorithm>
#include <csignal>

namespace muster::scenario {
namespace {

using Answers = std::vector<FromAgent>;

bool is_meant(const StepId& id, std::uint64_t key, const StepId& step, std::uint64_t wanted_key) {
  return id == step && (wanted_key == 0 || key == wanted_key);
}

StepDone end_by(int signal, const StepId& step, std::uint64_t launch_key) {
  StepDone done;
  done.id = step;
  done.launch_key = launch_key;
  done.tasks = {ExitStatus::signalled(signal)};
  return done;
}

void append(Answers& all, Answers more) {
  for (FromAgent& one : more) all.push_back(std::move(one));
}

}  // namespace

Answers FakeNode::receive(const ToAgent& order) {
  if (const auto* found = get_if<LaunchStep>(&order)) return launch(*found);
  if (const auto* found = get_if<TerminateJob>(&order)) return terminate(*found);
  if (const auto* found = get_if<EndStep>(&order))
    return kill(found->id, found->launch_key, SIGKILL);
  if (const auto* found = get_if<FindSteps>(&order)) return answer(*found);
  if (const auto* found = get_if<AcknowledgeStep>(&order)) forget(*found);
  const auto* signal = get_if<SignalStep>(&order);
  if (signal != nullptr && signal->signal == SIGKILL)
    return kill(signal->id, signal->launch_key, SIGKILL);
  return {};
}

Answers FakeNode::launch(const LaunchStep& order) {
  const bool is_known =
      std::ranges::any_of(running_,
                          [&](const KnownStep& one) {
                            return is_meant(one.id, one.launch_key, order.id, order.launch_key);
                          }) ||
      std::ranges::any_of(ended_, [&](const StepDone& one) {
        return is_meant(one.id, one.launch_key, order.id, order.launch_key);
      });
  if (!is_known) running_.push_back({order.id, StepPhase::kRunning, order.launch_key});
  if (is_mute || is_known) return {};
  return {StepRunning{order.id, order.launch_key}};
}

Answers FakeNode::terminate(const TerminateJob& order) {
  if (is_clinging) {
    terminating_.push_back(order);
    return {};
  }
  Answers answers;
  const std::vector<KnownStep> before = running_;
  for (const KnownStep& one : before) {
    if (one.id.job != order.job || one.id.attempt != order.attempt) continue;
    const int signal = order.kill_wait == Duration() ? SIGKILL : SIGTERM;
    append(answers, end(end_by(signal, one.id, one.launch_key)));
  }
  answers.push_back(JobClean{order.job, order.attempt});
  return answers;
}

Answers FakeNode::kill(const StepId& step, std::uint64_t launch_key, int signal) {
  if (is_clinging) {
    killed_.emplace_back(step, launch_key);
    return {};
  }
  const auto found = std::ranges::find_if(running_, [&](const KnownStep& one) {
    return is_meant(one.id, one.launch_key, step, launch_key);
  });
  if (found == running_.end()) return {};
  return end(end_by(signal, step, found->launch_key));
}

Answers FakeNode::answer(const FindSteps& order) const {
  Answers answers;
  for (const KnownStep& wanted : order.steps) {
    if (runs(wanted.id)) {
      answers.push_back(StepRunning{wanted.id, wanted.launch_key});
    } else if (const StepDone* done = find_end(wanted.id)) {
      answers.push_back(*done);
    } else {
      StepDone lost = end_by(SIGKILL, wanted.id, wanted.launch_key);
      lost.is_lost = lost.is_node_fault = true;
      answers.push_back(std::move(lost));
    }
  }
  return answers;
}

void FakeNode::forget(const AcknowledgeStep& order) {
  std::erase_if(ended_, [&](const StepDone& done) {
    return is_meant(done.id, done.launch_key, order.id, order.launch_key);
  });
}

std::vector<KnownStep> FakeNode::known_steps() const {
  std::vector<KnownStep> steps = running_;
  for (const StepDone& done : ended_)
    steps.push_back({done.id, StepPhase::kEnded, done.launch_key});
  return steps;
}

const StepDone* FakeNode::find_end(const StepId& step) const {
  const auto found = std::ranges::find(ended_, step, &StepDone::id);
  return found == ended_.end() ? nullptr : &*found;
}

bool FakeNode::runs(const StepId& step) const {
  return std::ranges::find(running_, step, &KnownStep::id) != running_.end();
}

const KnownStep* FakeNode::find(JobId job, std::uint32_t step) const {
  const auto found = std::ranges::find_if(
      running_, [&](const KnownStep& one) { return one.id.job == job && one.id.step == step; });
  return found == running_.end() ? nullptr : &*found;
}

Answers FakeNode::end(StepDone report) {
  const auto found = std::ranges::find(running_, report.id, &KnownStep::id);
  if (found == running_.end()) return {};
  report.launch_key = found->launch_key;
  running_.erase(found);
  ended_.push_back(report);
  if (is_away) return {};
  return {std::move(report)};
}

Answers FakeNode::let_go() {
  is_clinging = false;
  Answers answers;
  for (const auto& [step, key] : std::exchange(killed_, {}))
    append(answers, kill(step, key, SIGKILL));
  for (const TerminateJob& order : std::exchange(terminating_, {}))
    append(answers, terminate(order));
  return is_away ? Answers{} : answers;
}

void FakeNode::reboot() {
  running_.clear();
  ended_.clear();
  terminating_.clear();
  killed_.clear();
  ++boots_;
}

std::string_view order_name(const ToAgent& order) {
  static constexpr std::string_view kNames[] = {
      "LaunchStep", "SignalStep", "TerminateJob",   "SuspendJob", "AcknowledgeStep", "ForgetJob",
      "ChangeEnd",  "StopStep",   "OutputReceived", "FindSteps",  "EndStep"};
  return kNames[order.index()];
}

JobId job_of(const ToAgent& order) {
  return visit(
      [](const auto& one) {
        if constexpr (requires { one.id.job; }) {
          return one.id.job;
        } else if constexpr (requires { one.job; }) {
          return one.job;
        } else {
          return JobId();
        }
      },
      order);
}

}  // namespace muster::scenario
