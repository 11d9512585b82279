// Passes the core's decisions on to the other threads and to the agents.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/musterd/messages.h"
#include "env/posix/crash_record.h"
#include "wire/controller_calls.h"

namespace muster::daemon {

/// The port lives on the core's thread. `senders` has one entry per node, null while its agent is
/// not connected.
class ChannelCorePort final : public CorePort, public JournalPort {
 public:
  ChannelCorePort(Channels& channels, CrashRecord* crash_record, std::string mail_program,
                  std::function<Status()> reconfigure);
  ~ChannelCorePort() override;

  std::vector<AgentSender*>& senders() { return senders_; }

  void append(EventBatchRef batch) override;
  void reply(std::uint64_t token, std::vector<Reply> replies) override;
  void send(NodeIndex node, const ToAgent& message) override;
  void publish(DurableUpdate update) override;
  void plan_consumed(Seq until) override;
  void fetch_blob(BlobId id) override;
  void mail(Mail mail) override;
  Status reconfigure() override;
  void warn(const std::string& text) override;
  void lead_beyond(Epoch epoch) override;
  void works_on(JobId job) override;

  /// Returns the crash record; null: there is none.
  CrashRecord* crash_record() { return crash_record_; }

 private:
  Channels& channels_;
  CrashRecord* crash_record_;
  std::string mail_program_;
  std::function<Status()> reconfigure_;
  std::vector<AgentSender*> senders_;
};

}  // namespace muster::daemon
