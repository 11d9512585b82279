#include "apps/musterd/core_port.h"

#include "apps/musterd/handover.h"
#include "apps/musterd/log_line.h"
#include "platform/logs/log_book.h"
#include "platform/search/search_role.h"

namespace muster::daemon {

ChannelCorePort::ChannelCorePort(Channels& channels, CrashRecord* crash_record,
                                 std::string mail_program, std::function<Status()> reconfigure)
    : channels_(channels),
      crash_record_(crash_record),
      mail_program_(std::move(mail_program)),
      reconfigure_(std::move(reconfigure)) {}
ChannelCorePort::~ChannelCorePort() = default;

void ChannelCorePort::append(EventBatchRef batch) { channels_.journal.push(std::move(batch)); }

void ChannelCorePort::reply(std::uint64_t token, std::vector<Reply> replies) {
  channels_.asker(token).push(CommandAnswer{token, std::move(replies)});
}

void ChannelCorePort::send(NodeIndex node, const ToAgent& message) {
  if (AgentSender* sender = senders_[node.value()]) sender->send(message);
}

void ChannelCorePort::publish(DurableUpdate update) {
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

void ChannelCorePort::plan_consumed(Seq until) { channels_.planner.push(PlanConsumed{until}); }
void ChannelCorePort::fetch_blob(BlobId id) { channels_.journal.push(FetchBlob{id, 0}); }

void ChannelCorePort::mail(Mail mail) {
  if (!mail_program_.empty()) channels_.mail.push(MailOrder{mail_program_, std::move(mail)});
}

Status ChannelCorePort::reconfigure() { return reconfigure_(); }
void ChannelCorePort::warn(const std::string& text) { log_line(text); }
void ChannelCorePort::lead_beyond(Epoch epoch) { restart_beyond(epoch); }

void ChannelCorePort::works_on(JobId job) {
  if (crash_record_ != nullptr) crash_record_->works_on(job);
}

}  // namespace muster::daemon
