// Requests about many jobs, and what one event means for many: a bounded part of it a turn, so that
// nobody else waits.
#include <algorithm>

#include "controller/core.h"
#include "controller/frontend/experiment.h"

namespace muster {
namespace {

/// Batches on their way to the journal beyond which no further part is taken up: the disk sets the
/// pace.
constexpr std::size_t kUndurableMax = 2;

/// Null: the request concerns a bounded number of things by itself.
std::optional<frontend::Sweep> sweep_of(const PreparedRequest& request, const Identity& identity,
                                        const ClusterState& state) {
  if (const auto* cancel = get_if<CancelJobs>(&request))
    return frontend::Sweep(*cancel, identity, state);
  if (const auto* control = get_if<ControlJobs>(&request))
    return frontend::Sweep(*control, identity, state);
  const auto* update = get_if<PreparedUpdate>(&request);
  if (update != nullptr && update->kind == UpdateKind::kJob)
    return frontend::Sweep(*update, identity, state);
  return std::nullopt;
}

/// What a repeat is told. Of very many outcomes the failures are kept, up to a bound: every replica
/// has the answer for ten minutes.
Reply kept_of(const Reply& reply) {
  constexpr std::size_t kOutcomesKept = 1000;
  Reply kept = reply;
  if (kept.outcomes.size() <= kOutcomesKept) return kept;
  std::erase_if(kept.outcomes, [](const JobOutcome& outcome) { return !outcome.error; });
  if (kept.outcomes.size() > kOutcomesKept) kept.outcomes.resize(kOutcomesKept);
  return kept;
}

}  // namespace

/// The client may have come back while its request is under way: it waits for the one answer.
bool Core::joins_sweep(const Command& command) {
  if (!command.request.is_set()) return false;
  for (Sweeping& sweeping : sweeps_) {
    if (sweeping.request != command.request || sweeping.identity.user != command.identity.user)
      continue;
    sweeping.tokens.push_back(command.token);
    return true;
  }
  return false;
}

bool Core::begin_sweep(const Command& command, TimePoint now) {
  if (command.requests.size() != 1) return false;
  auto sweep = sweep_of(command.requests.front(), command.identity, state_);
  if (!sweep) return false;
  sweeps_.push_back(Sweeping{std::move(*sweep),
                             command.identity,
                             command.request,
                             {command.token},
                             asking_job(command.requests.front())});
  // What is small is done at once, whatever else is under way.
  if (advance(sweeps_.back(), now)) sweeps_.pop_back();
  return true;
}

/// True: it is done and answered. Each part is a draft of its own: a part that is refused is not
/// applied, those before it stay.
bool Core::advance(Sweeping& sweeping, TimePoint now) {
  if (sweeping.asker.value() != 0) askers_.insert(sweeping.asker);
  Draft draft(state_, now);
  std::vector<frontend::SignalOrder> orders;
  const std::size_t done = sweeping.sweep.step(draft, allowance_, orders);
  allowance_ -= std::min(allowance_, done);
  Reply& reply = sweeping.sweep.reply();
  if (!reply.error) check_changes(draft, 0, reply);
  if (const Status sound = reply.error ? Status() : check_before_apply(draft); !sound.has_value())
    reply.error = sound.error();
  if (!reply.error) {
    send_signals(orders, now);
    sweeping.has_changed = sweeping.has_changed || !draft.events.empty();
    apply_draft(draft, now);
  }
  if (!reply.error && !sweeping.sweep.is_done()) return false;
  if (sweeping.request.is_set() && sweeping.has_changed) {
    emit(RequestAnswered{sweeping.request, sweeping.identity.user, {kept_of(reply)}}, now);
  }
  for (const std::uint64_t token : sweeping.tokens)
    replies_.emplace_back(token, std::vector<Reply>{reply});
  return true;
}

bool Core::has_work() const {
  const bool is_any = !sweeps_.empty() || !downed_.empty() || !carried_on_.empty() ||
                      dependencies_.has_affected() || is_node_watch_cut_ || has_turns_left_ ||
                      has_starts_left();
  return is_started_ && is_any && undurable_.size() < kUndurableMax;
}

void Core::on_work(TimePoint now) {
  now_ = now;
  if (std::exchange(is_node_watch_cut_, false)) watch_nodes(now);
  if (std::exchange(has_turns_left_, false)) serve_launches(now);
  while (allowance_ > 0 && !sweeps_.empty()) {
    Sweeping sweeping = std::move(sweeps_.front());
    sweeps_.pop_front();
    // In turns, so that a short one does not wait for the end of a long one.
    if (!advance(sweeping, now)) sweeps_.push_back(std::move(sweeping));
  }
  carry_on_experiments(now);
}

/// What an experiment's state means for its trials, a part of them a turn.
void Core::carry_on_experiments(TimePoint now) {
  while (allowance_ > 0 && !carried_on_.empty()) {
    const auto [id, carried] = *carried_on_.begin();
    const Experiment* experiment = state_.experiments().find(id);
    Draft draft(state_, now);
    const std::size_t next = experiment == nullptr
                                 ? 0
                                 : frontend::carry_on(draft, *experiment, carried.next, carried.by);
    const bool is_sound = check_before_apply(draft).has_value();
    const bool is_done = experiment == nullptr || next >= experiment->trials.size() || !is_sound;
    allowance_ -= std::min(allowance_, std::max<std::size_t>(draft.events.size(), 1));
    if (is_done) {
      carried_on_.erase(carried_on_.begin());
    } else {
      carried_on_.begin()->second.next = next;
    }
    if (is_sound) apply_draft(draft, now);
  }
}

/// Operators took nodes down: what runs there is ended.
void Core::end_jobs_on_downed(TimePoint now) {
  while (allowance_ > 0 && !downed_.empty()) {
    const NodeIndex node = downed_.back();
    const bool is_down = (state_.nodes().at(node).status.conditions & node_condition::kDown) != 0;
    if (!is_down || end_jobs_on(node, now)) downed_.pop_back();
  }
}

}  // namespace muster
