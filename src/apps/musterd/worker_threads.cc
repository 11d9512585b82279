// The threads without an event loop of their own: journal, planner, history, search, look-ups.
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>

#include "apps/musterd/threads.h"
#include "base/turn_queue.h"
#include "engine/journal/checkpoint_role.h"
#include "engine/journal/history_role.h"
#include "engine/journal/journal_role.h"
#include "engine/recovery.h"
#include "env/posix/clocks.h"
#include "env/posix/reserve_file.h"
#include "platform/search/search_role.h"
#include "state/views.h"
#include "workload/planning/planner_role.h"

namespace muster::daemon {

std::uint64_t open_files_max() {
  // 1024: the usual soft limit of Linux.
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

namespace {

/// The words of the journal's role, by channel.
class JournalChannels final : public JournalRolePort {
 public:
  explicit JournalChannels(Channels& channels) : channels_(channels) {}

  void on_durable(Seq seq) override { channels_.core.push(BatchDurable{seq}); }
  void on_failure(const Error& error) override { channels_.core.push(JournalFailure{error}); }
  void on_blob(const FetchBlob& asked, Result<std::string> bytes) override {
    // 0 is the core's own question.
    if (asked.token != 0) {
      channels_.asker(asked.token).push(BlobAnswer{asked.token, std::move(bytes)});
    } else if (bytes.has_value()) {
      channels_.core.push(
          BlobBytes{asked.id, std::make_shared<const std::string>(std::move(bytes).value())});
    } else {
      channels_.core.push(BlobBytes{asked.id, fail(bytes.error())});
    }
  }
  void on_slice() override { channels_.checkpoint_slices.release(); }
  void on_room(const std::optional<Error>& refusal) override {
    channels_.core.push(DiskStatus{refusal});
    channels_.gateway.push(DiskStatus{refusal});
    if (channels_.is_http_served) channels_.http.push(DiskStatus{refusal});
  }
  void tidy_beside() override { channels_.tidier.push(TidyOrder{}); }

 private:
  Channels& channels_;
};

void answer_history(Channels& channels, HistoryStore& store, HistoryQuery query) {
  auto pages = next_pages(query.listing, &store);
  if (pages.has_value()) {
    channels.asker(query.token)
        .push(HistoryAnswer{query.token,
                            HistorySlice{std::move(query.listing), std::move(pages).value()}});
  } else {
    channels.asker(query.token).push(HistoryAnswer{query.token, fail(pages.error())});
  }
}

/// Nullopt: there is no such group.
std::optional<std::string> group_name(gid_t id) {
  // For entries of large groups: one that does not fit reads as no group.
  std::vector<char> buffer(1 << 16);
  ::group entry{};
  ::group* found = nullptr;
  if (::getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return std::string(found->gr_name);
}

std::vector<std::string> groups_of(const char* user, gid_t group) {
  std::vector<gid_t> ids(64);
  auto count = static_cast<int>(ids.size());
  // It says how many there are, where they are more.
  if (::getgrouplist(user, group, ids.data(), &count) < 0) {
    ids.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user, group, ids.data(), &count) < 0) return {};
  }
  ids.resize(static_cast<std::size_t>(count));
  std::vector<std::string> names;
  // AllowGroups has names: a group without one cannot stand there.
  for (const gid_t id : ids) {
    if (auto name = group_name(id)) names.push_back(std::move(*name));
  }
  return names;
}

CallerNames look_up(UserId user, GroupId group) {
  // A user without an entry goes by number.
  CallerNames names{std::to_string(user.value()), std::to_string(group.value())};
  std::vector<char> buffer(1 << 16);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user.value(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    names.user = found->pw_name;
    names.groups = groups_of(found->pw_name, group.value());
  }
  names.group = group_name(group.value()).value_or(names.group);
  return names;
}

}  // namespace

void wait_for(int fd, int timeout_ms) {
  pollfd poll_fd{fd, POLLIN, 0};
  ::poll(&poll_fd, 1, timeout_ms);
}

// Linux gives each thread a priority of its own. Source: setpriority(2).
void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 5); }

void run_journal(Channels& channels, Journal& journal, const DaemonOptions& options) {
  PosixReserveFile file(options.state_folder + "/journal.reserve");
  DiskReserve reserve(file);
  JournalChannels port(channels);
  JournalRole role(journal, reserve, port, boot_number());
  role.start();
  for (;;) {
    wait_for(channels.journal.fd(), static_cast<int>(role.timeout().microseconds() / 1000));
    role.turn(channels.journal.receive_all(), steady_time());
  }
}

void run_tidier(Channels& channels, const std::function<Status()>& tidy) {
  lower_priority();
  for (;;) {
    wait_for(channels.tidier.fd(), 1000);
    for ([[maybe_unused]] const TidyOrder& order : channels.tidier.receive_all()) {
      [[maybe_unused]] const Status ignored = tidy();  // only room depends on it
      channels.journal.push(TidiedBeside{});
    }
  }
}

namespace {

/// Hands the next question to the worker, or answers it at once when there is nothing to plan.
void begin_forecast(Channels& channels, const PlannerRole& planner, ForecastQueue& questions) {
  while (auto question = questions.next()) {
    auto task = forecast_task(planner.state(), planner.snapshot(),
                              get<PreparedSubmit>(question->requests.front()), question->identity,
                              cluster_now());
    if (task.has_value()) {
      return channels.forecasts.push(
          std::make_unique<ForecastOrder>(ForecastOrder{question->token, std::move(task).value()}));
    }
    Reply refusal;
    refusal.error = task.error();
    channels.asker(question->token).push(CommandAnswer{question->token, {std::move(refusal)}});
    // Answered: another question may be taken up.
    questions.done();
  }
}

void add_forecast(Channels& channels, ForecastQueue& questions, Command question) {
  const std::uint64_t token = question.token;
  const Status added = questions.add(std::move(question));
  if (added.has_value()) return;
  Reply refusal;
  refusal.error = added.error();
  channels.asker(token).push(CommandAnswer{token, {std::move(refusal)}});
}

}  // namespace

void run_forecasts(Channels& channels) {
  lower_priority();
  for (;;) {
    wait_for(channels.forecasts.fd(), 1000);
    for (const auto& order : channels.forecasts.receive_all()) {
      channels.asker(order->token).push(CommandAnswer{order->token, {forecast(order->task)}});
      channels.planner.push(ForecastDone{});
    }
  }
}

void run_planner(Channels& channels, PlannerRole& planner, const RecoveryReport& recovered,
                 CrashRecord* crash_record) {
  lower_priority();
  // Null: the record could not be opened, and the daemon runs without it.
  if (crash_record != nullptr) {
    crash_record->watch_this_thread();
    planner.show_work(crash_record->work_of_this_thread());
  }
  planner.start();
  CheckpointRole checkpoints({}, recovered);
  const auto to_journal = [&](ToJournal message) {
    // A credit for each slice: here the planner waits for the journal.
    if (std::holds_alternative<CheckpointSlice>(message)) channels.checkpoint_slices.acquire();
    channels.journal.push(std::move(message));
  };
  ForecastQueue questions;
  for (;;) {
    // Also without news: a job may become eligible by time alone.
    wait_for(channels.planner.fd(), 250);
    for (ToPlanner& message : channels.planner.receive_all()) {
      if (auto* batch = std::get_if<EventBatchRef>(&message)) {
        planner.apply(**batch);
        checkpoints.applied(**batch);
      } else if (const auto* consumed = std::get_if<PlanConsumed>(&message)) {
        planner.consumed(consumed->until);
      } else if (auto* asked = std::get_if<ForecastAsked>(&message)) {
        add_forecast(channels, questions, std::move(asked->question));
      } else if (const auto* why = std::get_if<ExplainAsked>(&message)) {
        channels.asker(why->token).push(ExplainAnswer{why->token, planner.explain(why->jobs)});
      } else {
        questions.done();
      }
    }
    begin_forecast(channels, planner, questions);
    auto plan = planner.plan(cluster_now());
    // The plan is made: what this thread dies of next is not that job's doing.
    if (crash_record != nullptr) crash_record->works_on(JobId());
    if (plan) {
      channels.gateway.push(PlanReported{plan->report});
      channels.core.push(std::move(*plan));
    }
    // Between two batches the replica stands still.
    checkpoints.write_if_due(planner.state(), to_journal);
  }
}

std::string history_refusal(const Error& error) {
  std::string text = "history.db: " + error.text();
  if (error.code != ErrorCode::kCorruption) return text;
  return text +
         "; with the file moved aside (keep it) the next start makes a new one of what the "
         "journal still has";
}

/// What ends comes first, then one page of a list for sacct, and so on by turns.
void run_history(Channels& channels, HistoryStore& store) {
  lower_priority();
  HistoryRole role(store);
  TurnQueue<UserId, HistoryQuery> queries;
  for (;;) {
    // While lists are under way nothing is waited for: each round sends one page or so of one list.
    if (queries.is_empty()) wait_for(channels.history.fd(), 1000);
    std::vector<HistoryBatch> ended;
    for (ToHistory& message : channels.history.receive_all()) {
      if (auto* batch = std::get_if<HistoryBatch>(&message)) {
        ended.push_back(std::move(*batch));
      } else {
        auto& query = std::get<HistoryQuery>(message);
        const UserId user = query.user;
        queries.add(user, std::move(query));
      }
    }
    const bool is_idle = ended.empty() && queries.is_empty();
    const Status stored = role.store(std::move(ended));
    // Nothing may end that history does not take: the next run begins with what is stored.
    if (!stored.has_value()) restart_process(history_refusal(stored.error()));
    // What history has on stable storage, the journal may give up and the core may forget.
    if (const auto seq = role.sync(is_idle, steady_time())) {
      channels.journal.push(HistoryStored{*seq});
      channels.core.push(HistoryDurable{*seq});
    }
    if (auto query = queries.next()) answer_history(channels, store, std::move(*query));
  }
}

void run_search(Channels& channels, SearchRole& role) {
  lower_priority();
  for (;;) {
    // First what the recovered state asks for, then what follows from each batch.
    for (SearchDecision& decision : role.decide(cluster_now())) {
      Command command;
      // As an operator: a search speaks for no user.
      command.identity.is_operator = true;
      command.requests.push_back(std::move(decision));
      channels.core.push(std::move(command));
    }
    wait_for(channels.search.fd(), 1000);
    for (const EventBatchRef& batch : channels.search.receive_all()) role.apply(*batch);
  }
}

void run_metrics(Channels& channels, MetricStore& store) {
  lower_priority();
  for (;;) {
    wait_for(channels.metrics.fd(), 1000);
    std::vector<MetricReport> reports;
    std::vector<std::uint64_t> tokens;
    // What waits together is stored by one sync; what begins or reads in between sees what came
    // before it.
    const auto store_all = [&] {
      if (reports.empty()) return;
      const auto outcomes = store.append(reports);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        Result<ReportOutcome> outcome = fail(ErrorCode::kInternal, "");
        if (outcomes.has_value()) {
          outcome = (*outcomes)[i];
        } else {
          outcome = fail(outcomes.error());
        }
        channels.asker(tokens[i]).push(ReportStored{tokens[i], std::move(outcome)});
      }
      reports.clear();
      tokens.clear();
    };
    const std::vector<ToMetrics> messages = channels.metrics.receive_all();
    for (const ToMetrics& message : messages) {
      if (const auto* report = std::get_if<StoreReport>(&message)) {
        reports.push_back(report->report);
        tokens.push_back(report->token);
        continue;
      }
      store_all();
      if (const auto* begin = std::get_if<BeginMetrics>(&message)) {
        // Without it a report of the run begins it all the same, and only what is beyond the
        // checkpoint stays visible longer.
        [[maybe_unused]] const auto ignored =
            store.begin_run(begin->trial, begin->run, begin->resumed_from_steps);
      } else if (const auto* asked = std::get_if<MetricsAsked>(&message)) {
        channels.asker(asked->token)
            .push(MetricsAnswer{asked->token, answer(store, asked->questions)});
      } else {
        // What a full disk keeps is out of every answer all the same: the trials are gone.
        for (const TrialId trial : std::get<ForgetMetrics>(message).trials)
          [[maybe_unused]] const Status ignored = store.delete_trial(trial);
      }
    }
    store_all();
    if (messages.empty()) {
      // Nothing is waited for: some of what lies in memory goes into blocks, and some of what was
      // deleted goes.
      [[maybe_unused]] const auto compacted = store.compact(10'000);
      [[maybe_unused]] const auto swept = store.sweep(10'000);
    }
  }
}

void run_tokens(Channels& channels, TokenStore& store) {
  for (;;) {
    wait_for(channels.tokens.fd(), 1000);
    for (const TokensAsked& asked : channels.tokens.receive_all()) {
      channels.asker(asked.token).push(TokensAnswer{asked.token, answer(store, asked.question)});
    }
  }
}

void run_background(Channels& channels, std::size_t worker) {
  lower_priority();
  Channel<BackgroundWork>& inbox = channels.background[worker];
  for (;;) {
    wait_for(inbox.fd(), 1000);
    for (BackgroundWork& work : inbox.receive_all()) {
      work.compute();
      work.compute = nullptr;  // what it holds is freed here
      channels.asker(work.token).push(WorkDone{work.token});
    }
  }
}

void run_lookup(Channels& channels) {
  for (;;) {
    wait_for(channels.lookup.fd(), 1000);
    for (const NamesQuery& query : channels.lookup.receive_all()) {
      channels.asker(query.token).push(NamesAnswer{query.token, look_up(query.user, query.group)});
    }
  }
}

}  // namespace muster::daemon
