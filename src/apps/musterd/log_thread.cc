// Events, output and answers are taken in their order; then one store for all of the output, so
// that a sync serves many; then the readers' questions; deletions in the gaps.
#include <fmt/format.h>

#include <algorithm>

#include "apps/musterd/threads.h"
#include "platform/logs/log_role.h"

namespace muster::daemon {
namespace {

constexpr int kIdleMs = 1000;
/// How often it is looked for logs that have been kept for long enough, and how long what comes in
/// may keep their deletion waiting.
constexpr Duration kExpiryInterval = Duration::seconds(10);
constexpr Duration kSweepInterval = Duration::milliseconds(100);

class ChannelLogPort final : public LogPort {
 public:
  explicit ChannelLogPort(Channels& channels) : channels_(channels) {}
  void acknowledge(NodeIndex node, const OutputReceived& answer) override {
    channels_.core.push(OutputStored{node, answer});
  }
  void answer(std::uint64_t token, Result<LogPage> page) override {
    channels_.asker(token).push(PageAnswer{token, std::move(page)});
  }
  void act_upon(std::uint64_t token, std::vector<LogFinding> findings) override {
    channels_.gateway.push(LogFindings{std::move(findings), token});
  }
  void complain(const Error& error) override {
    fmt::print(stderr, "musterd: logs: {}: trying again\n", error.text());
  }

 private:
  Channels& channels_;
};

int timeout_ms(const LogRole& role) {
  const TimePoint next = role.next_tick();
  if (next.is_never()) return kIdleMs;
  // Rounded up: a wait must not end just before its time.
  return static_cast<int>(
      std::clamp<std::int64_t>((next - cluster_now()).milliseconds() + 1, 0, kIdleMs));
}

}  // namespace

/// What came is stored before questions that came with it are answered.
void run_logs(Channels& channels, LogStore& store, LogBook& book) {
  lower_priority();
  ChannelLogPort port(channels);
  LogRole role(store, book, port);
  TimePoint expiry_time;
  TimePoint sweep_time;
  for (;;) {
    wait_for(channels.logs.fd(), timeout_ms(role));
    std::vector<ToLogs> messages = channels.logs.receive_all();
    for (ToLogs& message : messages) {
      if (const auto* batch = std::get_if<EventBatchRef>(&message)) book.apply(**batch);
      if (auto* push = std::get_if<OutputPush>(&message))
        role.on_output(push->node, std::move(push->fragment));
      if (const auto* done = std::get_if<FindingsDone>(&message))
        role.on_done(done->token, done->error, cluster_now());
      if (const auto* expired = std::get_if<ExpiredLogs>(&message)) role.expire(expired->owners);
    }
    role.store(cluster_now());
    for (ToLogs& message : messages) {
      if (auto* read = std::get_if<LogRead>(&message))
        role.on_read(std::move(read->query), read->wait, read->token, cluster_now());
      if (const auto* wake = std::get_if<LogWake>(&message)) role.wake(wake->owner);
    }
    const TimePoint now = cluster_now();
    role.on_tick(now);
    // The gateway sends them back as ExpiredLogs.
    if (now >= expiry_time) {
      channels.gateway.push(ExpiredLogsAsked{});
      expiry_time = now + kExpiryInterval;
    }
    if (role.has_expired() && (messages.empty() || now >= sweep_time)) {
      role.sweep(now);
      sweep_time = now + kSweepInterval;
    }
  }
}

}  // namespace muster::daemon
