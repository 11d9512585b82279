// Passes the core's decisions on to the other threads and to the agents.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/musterd/handover.h"
#include "apps/musterd/log_line.h"
#include "apps/musterd/messages.h"
#include "env/posix/crash_record.h"
#include "platform/logs/log_book.h"
#include "wire/controller_calls.h"

namespace muster::daemon {

/// The port lives on the core's thread. `senders` has one entry per node, null while its agent is
/// not connected.
class ChannelCorePort final : public CorePort, public JournalPort {
 public:
  ChannelCorePort(Channels& channels, CrashRecord* crash_record, std::string mail_program,
                  std::function<Status()> reconfigure)
      : channels_(channels),
        crash_record_(crash_record),
        mail_program_(std::move(mail_program)),
        reconfigure_(std::move(reconfigure)) {}

  std::vector<AgentSender*>& senders() { return senders_; }

  void append(EventBatchRef batch) override { channels_.journal.push(std::move(batch)); }
  void reply(std::uint64_t token, std::vector<Reply> replies) override {
    channels_.asker(token).push(CommandAnswer{token, std::move(replies)});
  }
  void send(NodeIndex node, const ToAgent& message) override {
    if (AgentSender* sender = senders_[node.value()]) sender->send(message);
  }
  void publish(DurableUpdate update) override {
    channels_.planner.push(update.batch);
    if (concerns_search(*update.batch)) channels_.search.push(update.batch);
    if (concerns_logs(*update.batch)) channels_.logs.push(update.batch);
    // History comes before the gateway: what that finds gone from memory is in history when it asks
    // there.
    channels_.history.push(HistoryBatch{std::move(update.history), mark_of(*update.batch)});
    update.history.clear();
    // HTTP comes before its answers: who asks it sees what he was answered is done.
    if (channels_.is_http_served) channels_.http.push(update);
    channels_.gateway.push(std::move(update));
  }
  void plan_consumed(Seq until) override { channels_.planner.push(PlanConsumed{until}); }
  void fetch_blob(BlobId id) override { channels_.journal.push(FetchBlob{id, 0}); }
  void mail(Mail mail) override {
    if (!mail_program_.empty()) channels_.mail.push(MailOrder{mail_program_, std::move(mail)});
  }
  Status reconfigure() override { return reconfigure_(); }
  void warn(const std::string& text) override { log_line(text); }
  void lead_beyond(Epoch epoch) override { restart_beyond(epoch); }
  void works_on(JobId job) override {
    if (crash_record_ != nullptr) crash_record_->works_on(job);
  }

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
