#include "workload/sweep_role.h"

#include <algorithm>

#include "engine/module_of.h"
#include "workload/start_role.h"

namespace muster {
namespace {

/// Null: the request concerns a bounded number of things by itself.
std::optional<requests::Sweep> sweep_of(const PreparedRequest& request, const Identity& identity,
                                        const ClusterState& state) {
  if (const auto* cancel = get_if<CancelJobs>(&request))
    return requests::Sweep(*cancel, identity, state);
  if (const auto* control = get_if<ControlJobs>(&request))
    return requests::Sweep(*control, identity, state);
  const auto* update = get_if<PreparedUpdate>(&request);
  if (update != nullptr && update->kind == UpdateKind::kJob)
    return requests::Sweep(*update, identity, state);
  return std::nullopt;
}

/// What a repeat is told. Of very many outcomes the failures are kept, up to a bound: every replica
/// has the answer for ten minutes.
Reply stored_reply(const Reply& reply) {
  constexpr std::size_t kOutcomesMax = 1000;
  Reply stored = reply;
  if (stored.outcomes.size() <= kOutcomesMax) return stored;
  std::erase_if(stored.outcomes, [](const JobOutcome& outcome) { return !outcome.error; });
  if (stored.outcomes.size() > kOutcomesMax) stored.outcomes.resize(kOutcomesMax);
  return stored;
}

}  // namespace

SweepRole::SweepRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

bool SweepRole::accept(const Command& command) {
  return joins_sweep(command) || begin_sweep(command);
}

void SweepRole::on_work() {
  while (engine_.allowance() > 0 && !sweeps_.empty()) {
    Sweeping sweeping = std::move(sweeps_.front());
    sweeps_.pop_front();
    // In turns, so that a short one does not wait for the end of a long one.
    if (!advance(sweeping)) sweeps_.push_back(std::move(sweeping));
  }
}

/// The client may have come back while its request is under way: it waits for the one answer.
bool SweepRole::joins_sweep(const Command& command) {
  if (!command.request.is_set()) return false;
  for (Sweeping& sweeping : sweeps_) {
    if (sweeping.request != command.request || sweeping.identity.user != command.identity.user)
      continue;
    sweeping.tokens.push_back(command.token);
    return true;
  }
  return false;
}

bool SweepRole::begin_sweep(const Command& command) {
  // In a batch of several requests, which is atomic, it is drafted together with the others.
  if (command.requests.size() != 1) return false;
  auto sweep = sweep_of(command.requests.front(), command.identity, state_);
  if (!sweep) return false;
  sweeps_.push_back(Sweeping{std::move(*sweep),
                             command.identity,
                             command.request,
                             {command.token},
                             asking_job(command.requests.front())});
  // What is small is done at once, whatever else is under way.
  if (advance(sweeps_.back())) sweeps_.pop_back();
  return true;
}

/// True: it is done and answered. Each part is a draft of its own: a part that is refused is not
/// applied, those before it stay.
bool SweepRole::advance(Sweeping& sweeping) {
  // For each part again: who asked is forgotten at the end of a turn.
  engine_.remember_asker(sweeping.asker);
  Draft draft(state_, engine_.now());
  const std::size_t done = sweeping.sweep.step(draft, engine_.allowance(), draft.signals);
  engine_.spend(done);
  Reply& reply = sweeping.sweep.reply();
  if (!reply.error) roles_.starts->check_changes(draft, 0, reply);
  if (const Status sound = reply.error ? Status() : engine_.check(draft); !sound.has_value())
    reply.error = sound.error();
  if (!reply.error) {
    sweeping.has_changed = sweeping.has_changed || !draft.events.empty();
    engine_.apply(draft);
  }
  if (!reply.error && !sweeping.sweep.is_done()) return false;
  // A repeat of what changed nothing does no harm, and its answer would lie in every replica.
  if (sweeping.request.is_set() && sweeping.has_changed) {
    engine_.emit(RequestAnswered{sweeping.request, sweeping.identity.user, {stored_reply(reply)}});
  }
  for (const std::uint64_t token : sweeping.tokens) engine_.reply(token, std::vector<Reply>{reply});
  return true;
}

}  // namespace muster
