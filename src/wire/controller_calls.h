// The calls of clients and agents as typed functions: the server implements them, and a caller uses
// them.
#pragma once

#include <kj/async.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/request.h"
#include "model/task_log.h"
#include "model/view.h"

namespace muster {

/// The event until which a caller of `wait` waits.
enum class WaitUntil : std::uint8_t { kStarted = 0, kEnded = 1, kStepEnded = 2 };

/// What a caller of `wait` waits for.
struct WaitFor {
  StepId what;  ///< the step counts for kStepEnded alone
  WaitUntil until = WaitUntil::kEnded;
  /// The launch key, as in StepView: where another step has the number, the answer is kNotFound. 0:
  /// whichever step has it.
  std::uint64_t launch_key = 0;
};

struct WaitAnswer {
  std::optional<JobView> job;  ///< unset: still not, ask again
  std::optional<StepView> step;
  std::optional<Error> error;
};

/// What a task wrote, as far as it is known now.
struct LogAnswer {
  LogPage page;
  bool is_over = false;  ///< its owner had ended before this was read; the last lines may still be
                         ///< on their way from a node
};

/// Sends one page; the promise is fulfilled when the next may be sent.
using SendPage = std::function<kj::Promise<void>(const std::string& bytes)>;

/// The controller's gateway implements these. They are called on the thread of the connection.
class ClientCalls {
 public:
  virtual ~ClientCalls() = default;
  virtual kj::Promise<std::vector<Reply>> submit(const Identity& identity,
                                                 std::vector<Request> requests, RequestId id) = 0;
  virtual kj::Promise<std::optional<Error>> query(const Identity& identity, Query query,
                                                  SendPage send) = 0;
  virtual kj::Promise<WaitAnswer> wait(const Identity& identity, WaitFor wanted) = 0;
  /// Returns lines of a trial's tasks. When there are none, forward, the answer is kept back until
  /// there are some, the trial has ended, or `wait` is over. The query's bounds are brought down to
  /// what one answer may hold. Errors: kNotFound when there is no such trial; kPermissionDenied: it
  /// is not the caller's to read; as LogStore::read.
  virtual kj::Promise<Result<LogAnswer>> read_logs(const Identity& identity, LogQuery query,
                                                   Duration wait) = 0;
};

/// Sends messages to the agent of one connection, in order.
class AgentSender {
 public:
  virtual ~AgentSender() = default;
  virtual void send(const ToAgent& message) = 0;
};

/// The controller's core thread implements these.
class AgentCalls {
 public:
  virtual ~AgentCalls() = default;
  /// Registers a node. The agent gets the errors. The sender lives as long as the connection.
  virtual Result<NodeIndex> agent_registered(const Identity& identity, const RegisterNode& hello,
                                             AgentSender& sender) = 0;
  /// Returns which cluster a node that registers will serve: each answer to a registration has it.
  virtual ClusterIdentity cluster_identity() const = 0;
  /// Handles a message from the agent that `sender` leads to: another one may serve the node by
  /// now. False: another agent does, and this one is to register anew.
  virtual bool agent_message(NodeIndex node, AgentSender& sender, const FromAgent& message) = 0;
  /// Says that an agent's connection is gone. `unheard`: signals sent there of which nobody knows
  /// whether they arrived.
  virtual void agent_lost(NodeIndex node, AgentSender& sender,
                          const std::vector<SignalStep>& unheard) = 0;
  /// Says that the node's agent has received its part of the step's launch.
  virtual void agent_received(NodeIndex node, AgentSender& sender, const StepId& step) = 0;
  /// Says that the node's agent does not accept an order, and why: the order is lost.
  virtual void agent_refused(NodeIndex node, AgentSender& sender, const ToAgent& message,
                             const std::string& why) = 0;
};

}  // namespace muster
