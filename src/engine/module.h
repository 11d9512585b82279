// A part of the controller: what it contributes to a turn.
//
//   command ─▶ take | handle ─▶ draft ─▶ applied ─▶ after_event, of every module
//   timer, agent message, tick, work ─▶ events ─▶ after_event, of every module
//   end of the turn: settle, of every module, until no more events are added ─▶ one batch
// Each kind of request and of timer belongs to one module (module_of.h); events are told to all.
// Modules share events, the state and the interfaces of this folder; they never include each other.
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
  /// This controller leads, and the configuration has been applied: takes up what a crash cut off.
  virtual void begin(const CoreStart& start) = 0;

  /// True: the module has taken the whole command, answers it in its own time, and it is not
  /// drafted.
  virtual bool accept(Command& command) = 0;
  /// Drafts what the request means. Requires: the request is of this module's kinds.
  virtual Reply handle(Draft& draft, const PreparedRequest& request, const Identity& identity) = 0;
  /// A draft is about to be applied: what it sends beside its events.
  virtual void before_apply(const Draft& draft) = 0;

  /// The event has been applied. What it sets in motion is kept for settle(), or added at once.
  virtual void after_event(const Event& event) = 0;
  /// A timer of this module's kinds has fired. Requires: its job is in the state.
  virtual void on_timer(const Timer& timer, const Job& job) = 0;
  /// Time passes; before the timers that are due.
  virtual void on_tick() = 0;

  /// The turn comes to its end: what each turn may do once is allowed anew.
  virtual void before_end() = 0;
  /// Brings what this turn has set in motion as far as the turn's allowance goes. Called again as
  /// long as any module adds events. False: it must be called again even so.
  virtual bool settle() = 0;
  /// Something has ended in this turn and what follows from that has not been added: a command
  /// must not see the state so.
  virtual bool has_open_ends() const = 0;
  /// The turn's batch is about to be given to the journal.
  virtual void before_flush(Seq seq) = 0;

  /// Something is left for another turn.
  virtual bool has_work() const = 0;
  /// Takes up a part of that, as far as the turn's allowance goes.
  virtual void on_work() = 0;
};

}  // namespace muster
