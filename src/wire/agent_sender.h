// Sends messages to the agent of one connection in batches: one call is in flight, the next has
// what gathered meanwhile, as far as an agent reads it in one piece.
#pragma once

#include <capnp/message.h>
#include <kj/async.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/agent_message.h"
#include "schema/wire.capnp.h"
#include "wire/controller_calls.h"

namespace muster {

class RpcAgentSender final : public AgentSender, private kj::TaskSet::ErrorHandler {
 public:
  /// The callbacks for what becomes of messages. They are called from the loop, never from within
  /// send().
  struct Outcome {
    std::function<void(const LaunchStep&)> received;
    /// Called with a message that the agent does not accept, and what it said.
    std::function<void(const ToAgent&, const std::string&)> refused;
  };

  RpcAgentSender(schema::Agent::Client agent, Outcome outcome);
  ~RpcAgentSender() noexcept override = default;

  void send(const ToAgent& message) override;
  /// Returns the signals that the agent has not acknowledged.
  std::vector<SignalStep> unheard() const;

 private:
  using Parcel = std::unique_ptr<capnp::MallocMessageBuilder>;
  std::vector<Parcel> pack();
  void flush();
  kj::Promise<void> deliver();
  void on_received();
  bool write(schema::AgentMessage::Builder wire, const ToAgent& message);
  void refuse(const ToAgent& message, const std::string& why);
  void taskFailed(kj::Exception&& exception) override;

  schema::Agent::Client agent_;
  Outcome outcome_;
  std::deque<ToAgent> waiting_;
  std::deque<ToAgent> under_way_;  ///< in the call that is not answered yet
  std::size_t alone_ = 0;          ///< so many of those that wait go one by one
  bool is_busy_ = false;
  kj::TaskSet tasks_;
};

}  // namespace muster
