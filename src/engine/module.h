// A module is a part of the controller that contributes to each turn.
//
//   command ─▶ accept | handle ─▶ draft ─▶ applied ─▶ after_event, of every module
//   timer, agent message, tick, work ─▶ events ─▶ after_event, of every module
//   end of the turn: settle, of every module, until no more events are added ─▶ one batch
// Each kind of request and of timer belongs to one module (module_of.h); every module sees all
// events. Modules share events, the state and the interfaces of this folder; they never include
// each other.
#pragma once

#include "engine/command.h"
#include "engine/core_start.h"
#include "engine/draft.h"
#include "engine/job_timers.h"
#include "model/event.h"

namespace muster {

class Module {
 public:
  virtual ~Module() = default;

  /// Builds up what is derived from the restored state. No event may be added.
  virtual void load() = 0;
  /// Begins once this controller leads and the configuration has been applied: the module continues
  /// what a crash interrupted.
  virtual void begin(const CoreStart& start) = 0;

  /// Accepts the whole command, where true is returned: then the module answers it in its own time,
  /// and it is not drafted. It is offered commands of a single request, before anything is checked:
  /// what it accepts the module itself checks against Engine::refusal(), and records as answered.
  virtual bool accept(Command& command) = 0;
  /// Drafts what the request means. Also called for what follows a refused request of the same
  /// command: the draft's events are gone then, its claims are not, and nothing of it is applied.
  /// Requires: the request is of this module's kinds.
  virtual Reply handle(Draft& draft, const PreparedRequest& request, const Identity& identity) = 0;
  /// Called when a draft is about to be applied, for what it sends beside its events.
  virtual void before_apply(const Draft& draft) = 0;

  /// Called when the event has been applied. What follows from it is stored for settle(), or
  /// emitted at once: modules that come later are shown what follows first, and find the state
  /// ahead of `event`.
  virtual void after_event(const Event& event) = 0;
  /// Called when a timer of this module's kinds has fired. Requires: its job is in the state.
  virtual void on_timer(const Timer& timer, const Job& job) = 0;
  /// Called when time passes, before the timers that are due.
  virtual void on_tick() = 0;

  /// Called when the turn comes to its end: what each turn may do once is allowed anew.
  virtual void before_end() = 0;
  /// Brings what this turn has set in motion as far as the turn's allowance goes. Called again as
  /// long as any module adds events, and in mid-turn before a command while has_open_ends(). False:
  /// it must be called again even so.
  virtual bool settle() = 0;
  /// True when something has ended in this turn and what follows from that has not been emitted: a
  /// command must not see the state so.
  virtual bool has_open_ends() const = 0;
  /// Called when the turn's batch is about to be given to the journal.
  virtual void before_flush(Seq seq) = 0;

  /// True when something is left for another turn.
  virtual bool has_work() const = 0;
  /// Does a part of that, as far as the turn's allowance goes.
  virtual void on_work() = 0;
};

}  // namespace muster
