// One call at a time. Small messages are packed into it as far as an agent reads them in one piece;
// a large one goes alone, so that it is written once and nothing waits behind it within the call.
#include "wire/agent_sender.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "records/wire_records.h"

namespace muster {
namespace {

/// What one call holds at most, unless a message alone has more: an agent reads 64 MiB.
constexpr std::size_t kCallBytes = std::size_t{4} << 20;
/// A message that has as much goes alone.
constexpr std::size_t kLarge = std::size_t{64} << 10;

/// What may be large of a message; the rest is little beside it.
std::size_t bulk_of(const ToAgent& message) {
  const auto* launch = get_if<LaunchStep>(&message);
  if (launch == nullptr) return 0;
  std::size_t bytes = (launch->script == nullptr ? 0 : launch->script->size()) +
                      (launch->environment == nullptr ? 0 : launch->environment->size());
  if (launch->job != nullptr) bytes += launch->job->text.bytes();
  if (launch->step != nullptr) bytes += launch->step->text.bytes();
  for (const std::string& variable : launch->variables) bytes += variable.size();
  for (const TaskFile& file : launch->files) bytes += file.text.size();
  return bytes;
}

}  // namespace

RpcAgentSender::RpcAgentSender(schema::Agent::Client agent, Outcome outcome)
    : agent_(kj::mv(agent)), outcome_(std::move(outcome)), tasks_(*this) {}

void RpcAgentSender::send(const ToAgent& message) {
  waiting_.push_back(message);
  if (!is_busy_) flush();
}

std::vector<SignalStep> RpcAgentSender::unheard() const {
  std::vector<SignalStep> signals;
  for (const auto* messages : {&under_way_, &waiting_}) {
    for (const ToAgent& message : *messages) {
      if (const auto* signal = get_if<SignalStep>(&message)) signals.push_back(*signal);
    }
  }
  return signals;
}

/// The first of those that wait, as many as one call may hold. How large a message is shows when it
/// is written; one that is large goes alone, and is not written twice.
std::vector<RpcAgentSender::Parcel> RpcAgentSender::pack() {
  std::vector<Parcel> parcels;
  // After a refusal the messages of that call go one by one.
  const std::size_t most = alone_ > 0 ? 1 : waiting_.size();
  std::size_t bytes = 0;
  while (parcels.size() < most && bulk_of(waiting_[parcels.size()]) < kLarge) {
    auto parcel = std::make_unique<capnp::MallocMessageBuilder>();
    // Refused: it is taken out, and the others go first.
    if (!write(parcel->initRoot<schema::AgentMessage>(), waiting_[parcels.size()])) {
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(parcels.size()));
      return parcels;
    }
    bytes += parcel->sizeInWords() * sizeof(capnp::word);
    // It goes with the next call, in which it is the first.
    if (!parcels.empty() && bytes > kCallBytes) break;
    parcels.push_back(std::move(parcel));
  }
  return parcels;
}

/// False: it is larger than any message may be, and refused.
bool RpcAgentSender::write(schema::AgentMessage::Builder wire, const ToAgent& message) {
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&] { records::write(wire, message); })) {
    refuse(message, exception->getDescription().cStr());
    return false;
  }
  return true;
}

/// Not at once: who sends is in the middle of its own work.
void RpcAgentSender::refuse(const ToAgent& message, const std::string& why) {
  tasks_.add(kj::evalLater([this, message, why] { outcome_.refused(message, why); }));
}

void RpcAgentSender::flush() {
  is_busy_ = false;
  if (waiting_.empty()) return;
  is_busy_ = true;
  tasks_.add(deliver());
}

/// Who hears of it may send more at once.
void RpcAgentSender::on_received() {
  for (const ToAgent& message : std::exchange(under_way_, {})) {
    if (const auto* launch = get_if<LaunchStep>(&message)) outcome_.received(*launch);
  }
}

kj::Promise<void> RpcAgentSender::deliver() {
  const bool is_large = bulk_of(waiting_.front()) >= kLarge;
  const std::vector<Parcel> parcels = is_large ? std::vector<Parcel>() : pack();
  const std::size_t count = is_large ? 1 : parcels.size();
  auto request = agent_.deliverRequest();
  auto messages = request.initMessages(static_cast<unsigned>(count));
  const bool is_refused = is_large && !write(messages[0], waiting_.front());
  if (is_refused) waiting_.pop_front();
  if (is_refused || count == 0) {
    flush();
    return kj::READY_NOW;
  }
  for (unsigned i = 0; i < parcels.size(); ++i)
    // Without a copy of each list: the parcels are messages already.
    messages.setWithCaveats(i, parcels[i]->getRoot<schema::AgentMessage>().asReader());
  // Kept until the call is answered: should the agent refuse it, they are sent anew.
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  under_way_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  if (alone_ > 0) --alone_;
  return request.send().ignoreResult().then([this] {
    on_received();
    flush();
  });
}

/// A connection that is gone takes nothing more. Of what an agent refused, being of another version
/// perhaps, it is given each message alone: only what it refuses then is lost.
void RpcAgentSender::taskFailed(kj::Exception&& exception) {
  if (exception.getType() == kj::Exception::Type::DISCONNECTED) return;
  if (under_way_.size() == 1) {
    refuse(under_way_.front(), exception.getDescription().cStr());
  } else {
    // Which of them was it? Each goes alone now.
    alone_ = under_way_.size();
    waiting_.insert(waiting_.begin(), std::make_move_iterator(under_way_.begin()),
                    std::make_move_iterator(under_way_.end()));
  }
  under_way_.clear();
  flush();
}

}  // namespace muster
