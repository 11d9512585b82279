// The interface to which the engine's decisions go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/durable_update.h"
#include "engine/mail.h"
#include "model/request.h"

namespace muster {

/// Its methods are called within a turn; an implementation must not call back into the controller.
/// Everything but warnings and works_on() concerns what is on stable storage already.
class EnginePort {
 public:
  virtual ~EnginePort() = default;
  /// Answers the command with that token, with one reply for each of its requests.
  virtual void reply(std::uint64_t token, std::vector<Reply> replies) = 0;
  virtual void publish(DurableUpdate update) = 0;
  /// Sends a mail at most once: a crash here loses it.
  virtual void mail(Mail mail) = 0;
  /// Writes to the operator's log.
  virtual void warn(const std::string& text) = 0;
  /// Says that what follows is done for this job, until another is named; 0: for none. Should the
  /// process die of it, this is the job to be held.
  virtual void works_on(JobId) {}
};

}  // namespace muster
