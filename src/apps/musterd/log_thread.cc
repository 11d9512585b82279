#include <fmt/format.h>

#include <algorithm>

#include "apps/musterd/threads.h"
#include "controller/logs/log_role.h"

namespace muster::daemon {
namespace {

constexpr int kIdleMs = 1000;

class ChannelLogPort final : public LogPort {
 public:
  explicit ChannelLogPort(Channels& channels) : channels_(channels) {}
  void acknowledge(NodeIndex node, const OutputReceived& answer) override { channels_.core.push(OutputNote{node, answer}); }
  void answer(std::uint64_t token, Result<LogPage> page) override { channels_.gateway.push(PageAnswer{token, std::move(page)}); }
  void complain(const Error& error) override { fmt::print(stderr, "musterd: logs: {}: trying again\n", error.text()); }

 private:
  Channels& channels_;
};

int patience_ms(const LogRole& role) {
  const TimePoint next = role.next_tick();
  if (next.is_never()) return kIdleMs;
  return static_cast<int>(std::clamp<std::int64_t>((next - wall_clock()).milliseconds() + 1, 0, kIdleMs));
}

}  // namespace

/// What came is stored before questions that came with it are answered.
void run_logs(Channels& channels, LogStore& store) {
  lower_priority();
  ChannelLogPort port(channels);
  LogRole role(store, port);
  for (;;) {
    wait_for(channels.logs.fd(), patience_ms(role));
    std::vector<ToLogs> messages = channels.logs.take();
    for (ToLogs& message : messages) {
      if (auto* push = std::get_if<OutputPush>(&message)) role.on_output(push->node, std::move(push->fragment));
    }
    role.store(wall_clock());
    for (ToLogs& message : messages) {
      if (auto* read = std::get_if<LogRead>(&message)) role.on_read(std::move(read->query), read->wait, read->token, wall_clock());
      if (const auto* wake = std::get_if<LogWake>(&message)) role.wake(wake->owner);
    }
    role.on_tick(wall_clock());
  }
}

}  // namespace muster::daemon
