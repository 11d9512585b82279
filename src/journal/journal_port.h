// What the core needs of a journal. The real one writes SQLite on a thread of its own; the
// simulator's forgets, tears and refuses on purpose.
#pragma once

#include "base/result.h"
#include "model/event.h"

namespace muster {

/// The port is asynchronous: `append` returns at once. Whoever wires the parts calls
/// Core::on_durable with the highest number that is on stable storage. Nothing after a refused
/// batch is stored: there this run of the controller ends.
class JournalPort {
 public:
  virtual ~JournalPort() = default;
  virtual void append(EventBatchRef batch) = 0;
};

}  // namespace muster
