// The threads without an event loop of their own: journal, planner, history, search, look-ups.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>

#include "apps/musterd/threads.h"
#include "base/turn_queue.h"
#include "engine/checkpoint_schedule.h"
#include "engine/recovery.h"
#include "env/posix/clocks.h"
#include "state/views.h"

namespace muster::daemon {

std::uint64_t open_files_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

namespace {

/// Kept beside the journal and given up when the disk is full, so that the ends of jobs still find
/// room.
constexpr off_t kReserveBytes = 16 << 20;
constexpr std::uint32_t kRowsPerTruncation = 500;
/// Between two pieces of a truncation while batches come in.
constexpr Duration kTruncationPause = Duration::milliseconds(50);
/// What the write-ahead log takes in before it is moved into the file.
constexpr std::size_t kLogBytes = 16 << 20;
constexpr std::size_t kLogBatches = 2000;
/// How long history goes on without a sync while it is busy.
constexpr Duration kHistorySync = Duration::seconds(1);

Error disk_full() {
  return Error{
      ErrorCode::kResourceExhausted, "Unable to write to the controller's disk",
      "the disk under StateSaveLocation is full: no new work is taken until there is room again"};
}

/// Room that must be left beside the reserve before it is laid down again: else the next batch
/// would be refused at once.
constexpr std::uint64_t kRoomBesideReserve = 2 << 20;

/// True when the reserve file stands in full.
bool keep_reserve(const std::string& path) {
  struct stat known {};
  if (::stat(path.c_str(), &known) == 0 && known.st_size == kReserveBytes) return true;
  struct statvfs disk {};
  const std::string folder = path.substr(0, path.rfind('/'));
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  if (std::uint64_t{disk.f_bavail} * disk.f_frsize < kReserveBytes + kRoomBesideReserve)
    return false;
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool is_kept = ::posix_fallocate(fd, 0, kReserveBytes) == 0;
  ::close(fd);
  if (!is_kept) ::unlink(path.c_str());
  return is_kept;
}

class JournalThread {
 public:
  JournalThread(Channels& channels, SqliteJournal& journal, const std::string& folder)
      : channels_(channels),
        journal_(journal),
        path_(folder + "/journal.db"),
        reserve_(folder + "/journal.reserve") {}

  void run() {
    watch_disk();
    for (;;) {
      if (slow_.empty()) wait_for(channels_.journal.fd(), has_truncation_ ? 20 : 1000);
      std::vector<ToJournal> messages = channels_.journal.take();
      std::vector<EventBatchRef> batches;
      for (ToJournal& message : messages) {
        if (auto* batch = std::get_if<EventBatchRef>(&message))
          batches.push_back(std::move(*batch));
      }
      if (!batches.empty()) append(batches);
      for (ToJournal& message : messages) {
        if (auto* fetch = std::get_if<FetchBlob>(&message)) {
          receive(*fetch);
        } else if (!std::holds_alternative<EventBatchRef>(message)) {
          slow_.push_back(std::move(message));
        }
      }
      if (!slow_.empty()) {
        // One at a time: each may be a sync of its own, and replies wait for the batches that come
        // meanwhile.
        ToJournal message = std::move(slow_.front());
        slow_.pop_front();
        std::visit([this](auto& body) { receive(body); }, message);
      } else if (messages.empty()) {
        idle();
      }
      if (!messages.empty() && has_truncation_ && steady_now() - truncate_time_ > kTruncationPause)
        truncate();
    }
  }

 private:
  void append(const std::vector<EventBatchRef>& batches) {
    if (is_failed_) return;
    JournalClock clock{boot_, steady_time(), {}};
    for (const EventBatchRef& batch : batches) {
      if (!batch->events.empty()) clock.event_time = batch->events.back().time;
      for (const BlobWrite& blob : batch->blobs) bytes_since_log_ += blob.size;
      bytes_since_log_ += batch->events.size() * kBytesPerEvent;
    }
    const Status stored = journal_.append(batches, clock);
    if (stored.has_value()) {
      batches_since_log_ += batches.size();
      channels_.core.push(DurableNote{batches.back()->seq});
      if (bytes_since_log_ > kLogBytes || batches_since_log_ > kLogBatches) move_log();
      return;
    }
    is_failed_ = true;
    ::unlink(reserve_.c_str());
    channels_.core.push(JournalFailure{stored.error()});
  }
  void note_written(std::size_t bytes) {
    bytes_since_log_ += bytes;
    if (bytes_since_log_ > kLogBytes) move_log();
  }
  /// Most of it is moved beside us: replies wait only while the rest is.
  void move_log() {
    if (std::exchange(is_log_moving_, true)) return;
    channels_.log_moves.push(Labour{[this] {
      [[maybe_unused]] const Status ignored =
          move_journal_log(path_);  // only the log's size depends on it
      channels_.journal.push(LogMoved{});
    }});
  }
  void receive(LogMoved&) {
    is_log_moving_ = false;
    checkpoint_log();
  }
  void checkpoint_log() {
    bytes_since_log_ = batches_since_log_ = 0;
    [[maybe_unused]] const Status ignored =
        journal_.checkpoint_log();  // only its size depends on it
  }
  void idle() {
    if (batches_since_log_ > 0) checkpoint_log();
    if (has_truncation_) truncate();
    watch_disk();
  }
  /// Without the reserve no new work is taken: what room there is belongs to the ends of jobs.
  void watch_disk() {
    const bool is_kept = keep_reserve(reserve_);
    if (is_kept != is_reserve_kept_) {
      const DiskNote note{is_kept ? std::nullopt : std::optional(disk_full())};
      channels_.core.push(note);
      channels_.gateway.push(note);
    }
    is_reserve_kept_ = is_kept;
  }
  void truncate() {
    note_written(kRowsPerTruncation * kBytesPerEvent);
    const auto done = journal_.truncate(history_, kRowsPerTruncation);
    has_truncation_ = done.has_value() && !*done;
    truncate_time_ = steady_now();
  }
  void receive(EventBatchRef&) {}
  void receive(FetchBlob& fetch) {
    auto bytes = journal_.read_blob(fetch.id);
    if (!bytes.has_value() && bytes.error().code == ErrorCode::kCorruption) {
      [[maybe_unused]] const Status ignored =
          journal_.note_damaged(fetch.id);  // else the next run finds out again
    }
    if (fetch.token != 0) {
      channels_.gateway.push(BlobAnswer{fetch.token, std::move(bytes)});
    } else if (bytes.has_value()) {
      channels_.core.push(
          BlobBytes{fetch.id, std::make_shared<const std::string>(std::move(bytes).value())});
    } else {
      channels_.core.push(BlobBytes{fetch.id, fail(bytes.error())});
    }
  }
  void receive(CheckpointBegin&) { is_checkpoint_whole_ = journal_.begin_checkpoint().has_value(); }
  void receive(CheckpointSliceRow& slice) {
    note_written(slice.record.size());
    is_checkpoint_whole_ = is_checkpoint_whole_ && journal_.add_slice(slice.record).has_value();
    channels_.checkpoint_slices.give();
  }
  void receive(CheckpointEnd& end) {
    if (!is_checkpoint_whole_ || !journal_.finish_checkpoint(end.seal).has_value()) return;
    has_truncation_ = true;
  }
  void receive(TruncateNote& note) {
    history_ = note.history;
    has_truncation_ = true;
  }

  Channels& channels_;
  SqliteJournal& journal_;
  std::string path_;
  std::string reserve_;
  bool is_log_moving_ = false;
  std::deque<ToJournal> slow_;  ///< all but batches and blobs, in their order
  bool is_failed_ = false;
  bool is_reserve_kept_ = true;
  bool is_checkpoint_whole_ = false;
  bool has_truncation_ = false;
  /// What an event takes in the log, roughly.
  static constexpr std::size_t kBytesPerEvent = 200;
  const std::uint64_t boot_ = boot_number();
  std::size_t bytes_since_log_ = 0;
  std::size_t batches_since_log_ = 0;
  TimePoint truncate_time_;
  Seq history_;
};

/// A checkpoint is written from the planner's replica, which stands still between batches.
void write_checkpoint_of(Channels& channels, const ClusterState& state) {
  channels.journal.push(CheckpointBegin{});
  const Status written = write_checkpoint(state, [&](std::string record) {
    channels.checkpoint_slices.take();
    channels.journal.push(CheckpointSliceRow{std::move(record)});
    return Status();
  });
  if (written.has_value()) channels.journal.push(CheckpointEnd{seal_of(state)});
}

void answer_history(Channels& channels, HistoryStore& store, HistoryQuery query) {
  auto pages = next_pages(query.listing, &store);
  if (pages.has_value()) {
    channels.gateway.push(HistoryAnswer{
        query.token, HistorySlice{std::move(query.listing), std::move(pages).value()}});
  } else {
    channels.gateway.push(HistoryAnswer{query.token, fail(pages.error())});
  }
}

/// Nullopt: there is no such group.
std::optional<std::string> group_name(gid_t id) {
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
  if (::getgrouplist(user, group, ids.data(), &count) < 0) {
    ids.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user, group, ids.data(), &count) < 0) return {};
  }
  ids.resize(static_cast<std::size_t>(count));
  std::vector<std::string> names;
  for (const gid_t id : ids) {
    if (auto name = group_name(id)) names.push_back(std::move(*name));
  }
  return names;
}

CallerNames look_up(UserId user, GroupId group) {
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

void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 5); }

void run_journal(Channels& channels, SqliteJournal& journal, const DaemonOptions& options) {
  JournalThread(channels, journal, options.state_folder).run();
}

namespace {

/// Hands the next question to the worker, or answers it at once when there is nothing to plan.
void take_up_forecast(Channels& channels, const PlannerRole& planner, ForecastQueue& questions) {
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
    channels.gateway.push(ReplyNote{question->token, {std::move(refusal)}});
    questions.done();
  }
}

void add_forecast(Channels& channels, ForecastQueue& questions, Command question) {
  const std::uint64_t token = question.token;
  const Status added = questions.add(std::move(question));
  if (added.has_value()) return;
  Reply refusal;
  refusal.error = added.error();
  channels.gateway.push(ReplyNote{token, {std::move(refusal)}});
}

}  // namespace

void run_forecasts(Channels& channels) {
  lower_priority();
  for (;;) {
    wait_for(channels.forecasts.fd(), 1000);
    for (const auto& order : channels.forecasts.take()) {
      channels.gateway.push(ReplyNote{order->token, {forecast(order->task)}});
      channels.planner.push(ForecastDone{});
    }
  }
}

void run_planner(Channels& channels, PlannerRole& planner, const RecoveryReport& recovered,
                 CrashNote* crash_note) {
  lower_priority();
  if (crash_note != nullptr) {
    crash_note->watch_this_thread();
    planner.show_work(crash_note->work_of_this_thread());
  }
  planner.start();
  CheckpointSchedule schedule({}, recovered.checkpoint, recovered.replayed_events);
  ForecastQueue questions;
  for (;;) {
    wait_for(channels.planner.fd(), 250);
    for (ToPlanner& message : channels.planner.take()) {
      if (auto* batch = std::get_if<EventBatchRef>(&message)) {
        planner.apply(**batch);
        schedule.count((*batch)->events.size());
      } else if (const auto* consumed = std::get_if<PlanConsumed>(&message)) {
        planner.consumed(consumed->until);
      } else if (auto* asked = std::get_if<ForecastAsked>(&message)) {
        add_forecast(channels, questions, std::move(asked->question));
      } else if (const auto* why = std::get_if<ExplainAsked>(&message)) {
        channels.gateway.push(ExplainAnswer{why->token, planner.explain(why->jobs)});
      } else {
        questions.done();
      }
    }
    take_up_forecast(channels, planner, questions);
    auto plan = planner.plan(cluster_now());
    if (crash_note != nullptr) crash_note->works_on(JobId());
    if (plan) {
      channels.gateway.push(ReportNote{plan->report});
      channels.core.push(std::move(*plan));
    }
    if (schedule.is_due(planner.state().seq())) {
      write_checkpoint_of(channels, planner.state());
      schedule.written(planner.state().seq());
    }
  }
}

namespace {

/// What history has on stable storage, the journal may give up and the core may forget.
void release(Channels& channels, HistoryStore& store, Seq& released) {
  if (released == store.watermark() || !store.make_durable().has_value()) return;
  released = store.watermark();
  channels.journal.push(TruncateNote{released});
  channels.core.push(HistoryNote{released});
}

}  // namespace

/// What ends comes first, then one page of a list for sacct, and so on by turns.
std::string history_refusal(const Error& error) {
  const std::string text = "history.db: " + error.text();
  if (error.code != ErrorCode::kCorruption) return text;
  return text +
         "; with the file moved aside (keep it) the next start makes a new one of what the "
         "journal still has";
}

void run_history(Channels& channels, HistoryStore& store) {
  lower_priority();
  Seq released;
  TimePoint release_time;
  TurnQueue<UserId, HistoryQuery> queries;
  for (;;) {
    if (queries.is_empty()) wait_for(channels.history.fd(), 1000);
    std::vector<HistoryObject> objects;
    BatchMark until{store.watermark(), {}, {}};
    for (ToHistory& message : channels.history.take()) {
      if (auto* batch = std::get_if<HistoryBatch>(&message)) {
        for (HistoryRecord& record : batch->records) objects.push_back(std::move(record.object));
        if (batch->batch.seq > until.seq) until = batch->batch;
      } else {
        auto& query = std::get<HistoryQuery>(message);
        queries.add(query.user, std::move(query));
      }
    }
    if (until.seq > store.watermark() &&
        (!objects.empty() || until.seq.value() > store.watermark().value() + 1000)) {
      const Status stored = store.append(objects, until);
      if (!stored.has_value()) restart_process(history_refusal(stored.error()));
    }
    const bool is_idle = objects.empty() && queries.is_empty();
    if (is_idle || steady_now() - release_time > kHistorySync) {
      release(channels, store, released);
      release_time = steady_now();
    }
    if (auto query = queries.next()) answer_history(channels, store, std::move(*query));
  }
}

void run_search(Channels& channels, SearchRole& role) {
  lower_priority();
  for (;;) {
    for (SearchDecision& decision : role.decide(cluster_now())) {
      Command command;
      command.identity.is_operator = true;
      command.requests.push_back(std::move(decision));
      channels.core.push(std::move(command));
    }
    wait_for(channels.search.fd(), 1000);
    for (const EventBatchRef& batch : channels.search.take()) role.apply(*batch);
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
        channels.gateway.push(ReportStored{tokens[i], std::move(outcome)});
      }
      reports.clear();
      tokens.clear();
    };
    const std::vector<ToMetrics> messages = channels.metrics.take();
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
      } else {
        std::get<MetricTask>(message).run(store);
      }
    }
    store_all();
    if (messages.empty()) {
      [[maybe_unused]] const auto compacted = store.compact(10'000);
      [[maybe_unused]] const auto swept = store.sweep(10'000);
    }
  }
}

void run_tokens(Channels& channels, TokenStore& store) {
  for (;;) {
    wait_for(channels.tokens.fd(), 1000);
    for (TokenTask& one : channels.tokens.take()) one.run(store);
  }
}

void run_labour(Channel<Labour>& labour) {
  lower_priority();
  for (;;) {
    wait_for(labour.fd(), 1000);
    for (Labour& one : labour.take()) one.run();
  }
}

void run_lookup(Channels& channels) {
  for (;;) {
    wait_for(channels.lookup.fd(), 1000);
    for (const NamesQuery& query : channels.lookup.take()) {
      channels.gateway.push(NamesAnswer{query.token, look_up(query.user, query.group)});
    }
  }
}

}  // namespace muster::daemon
