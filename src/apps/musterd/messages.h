// The messages between the threads of the controller. Values go through channels; nothing else is
// shared.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/variant.h"
#include "controller/core.h"
#include "engine/command.h"
#include "engine/journal/history_role.h"
#include "engine/journal/journal_messages.h"
#include "env/channel.h"
#include "gateway/gateway.h"
#include "store/metrics/metric_questions.h"
#include "store/tokens/token_questions.h"
#include "workload/mail/mail_queue.h"
#include "workload/planning/forecast.h"
#include "workload/planning/plan_result.h"

namespace muster::daemon {

// ---- to the core ----
struct BatchDurable {
  Seq seq;
};
struct JournalFailure {
  Error error;
};
struct BlobBytes {
  BlobId id;
  Result<Bytes> bytes;
};
struct HistoryDurable {
  Seq seq;
};  ///< on stable storage
struct DiskStatus {
  std::optional<Error> refusal;
};  ///< also to the gateway
struct OutputStored {
  NodeIndex node;
  OutputReceived answer;
};
struct ToCoreKinds : TypeList<Command, PlanResult, BatchDurable, JournalFailure, BlobBytes,
                              HistoryDurable, DiskStatus, OutputStored> {};
using ToCore = Variant<ToCoreKinds>;

// ---- to whoever tidies the journal beside its writer ----
struct TidyOrder {};

// ---- to the planner ----
struct PlanConsumed {
  Seq until;
};
struct ForecastAsked {
  Command question;
};
struct ForecastDone {};
struct ExplainAsked {
  std::vector<JobId> jobs;
  std::uint64_t token = 0;
};
using ToPlanner =
    std::variant<EventBatchRef, PlanConsumed, ForecastAsked, ForecastDone, ExplainAsked>;

// ---- to the forecasts' worker ----
struct ForecastOrder {
  std::uint64_t token = 0;
  ForecastTask task;
};

// ---- to the search: batches that concern it ----
using ToSearch = EventBatchRef;

// ---- to history ----
struct HistoryQuery {
  UserId user;
  HistoryListing listing;
  std::uint64_t token = 0;
};
using ToHistory = std::variant<HistoryBatch, HistoryQuery>;

// ---- to the logs ----
struct OutputPush {
  NodeIndex node;
  LogFragment fragment;
};
struct LogRead {
  LogQuery query;
  Duration wait;
  std::uint64_t token = 0;
};
struct LogWake {
  LogOwner owner;
};  ///< who waits for lines of it is answered without
struct FindingsDone {
  std::uint64_t token = 0;
  std::optional<Error> error;
};
struct ExpiredLogs {
  std::vector<LogOwner> owners;
};  ///< all that have been kept for long enough
using ToLogs = std::variant<EventBatchRef, OutputPush, LogRead, LogWake, FindingsDone,
                            ExpiredLogs>;  ///< batches: those that concern logs

// ---- to a gateway: that of the command line's clients, or HTTP's ----
struct ClockStatus {
  std::string warning;  ///< empty: the wall clock is followed
};
struct CommandAnswer {
  std::uint64_t token = 0;
  std::vector<Reply> replies;
};
struct PlanReported {
  std::shared_ptr<const PlanReport> report;
};
struct NodeLoads {
  std::vector<NodeLoad> loads;
};
struct ExplainAnswer {
  std::uint64_t token = 0;
  std::map<JobId, Reasons> reasons;
};
struct HistoryAnswer {
  std::uint64_t token = 0;
  Result<HistorySlice> slice;
};
struct BlobAnswer {
  std::uint64_t token = 0;
  Result<std::string> bytes;
};
struct NamesAnswer {
  std::uint64_t token = 0;
  CallerNames names;
};
struct ReportStored {
  std::uint64_t token = 0;
  Result<ReportOutcome> outcome;
};
struct PageAnswer {
  std::uint64_t token = 0;
  Result<LogPage> page;
};
struct LogFindings {
  std::vector<LogFinding> findings;
  std::uint64_t token = 0;
};
/// Asks the state which logs have been kept for long enough: ExpiredLogs answers.
struct ExpiredLogsAsked {};
struct MetricsAnswer {
  std::uint64_t token = 0;
  Result<MetricAnswers> answers;
};
struct TokensAnswer {
  std::uint64_t token = 0;
  Result<TokenAnswer> answer;
};
struct WorkDone {
  std::uint64_t token = 0;
};
struct ToGatewayKinds
    : TypeList<DurableUpdate, CommandAnswer, PlanReported, NodeLoads, HistoryAnswer, BlobAnswer,
               NamesAnswer, ReportStored, PageAnswer, LogFindings, DiskStatus, ClockStatus,
               ExplainAnswer, ExpiredLogsAsked, MetricsAnswer, TokensAnswer, WorkDone> {};
using ToGateway = Variant<ToGatewayKinds>;
/// HTTP's gateway counts its tokens from here, so that an answer finds its way back.
constexpr std::uint64_t kHttpTokens = std::uint64_t{1} << 63;

// ---- to the metric store's thread ----
struct StoreReport {
  MetricReport report;
  std::uint64_t token = 0;
};
struct BeginMetrics {
  TrialId trial;
  std::uint32_t run = 0;
  std::int64_t resumed_from_steps = 0;
};
struct MetricsAsked {
  std::vector<MetricQuestion> questions;
  std::uint64_t token = 0;
};
struct ForgetMetrics {
  std::vector<TrialId> trials;
};
using ToMetrics = std::variant<StoreReport, BeginMetrics, MetricsAsked, ForgetMetrics>;

// ---- to the workers ----
/// A computation over values that nobody else has meanwhile, and over what never changes while the
/// controller runs (settings, the machine's accounts): compression, large texts, look-ups of users.
/// The only message that is a function.
struct BackgroundWork {
  std::function<void()> compute;
  std::uint64_t token = 0;
};

// ---- to the look-up worker ----
struct NamesQuery {
  UserId user;
  GroupId group;
  std::uint64_t token = 0;
};

// ---- to the tokens of people ----
struct TokensAsked {
  TokenQuestion question;
  std::uint64_t token = 0;
};

/// How many slices of a checkpoint may be on their way to the journal: it holds the whole state
/// otherwise.
constexpr std::size_t kSlicesInFlight = 8;

/// Every channel of the process.
struct Channels {
  Channels();
  ~Channels();

  Channel<ToCore> core;
  Channel<ToJournal> journal;
  Credits checkpoint_slices{kSlicesInFlight};
  Channel<ToPlanner> planner;
  Channel<std::unique_ptr<ForecastOrder>> forecasts;
  Channel<ToHistory> history;
  Channel<ToSearch> search;
  Channel<ToLogs> logs;
  Channel<ToGateway> gateway;
  Channel<ToGateway> http;  ///< read where HTTP is served
  // True when HTTP is served; set before the threads start.
  bool is_http_served = false;
  std::string http_warning;  ///< as in ServedHttp
  /// Returns the gateway that asked under this token.
  Channel<ToGateway>& asker(std::uint64_t token) { return token > kHttpTokens ? http : gateway; }
  Channel<NamesQuery> lookup;
  Channel<MailOrder> mail;
  Channel<TokensAsked> tokens;
  Channel<ToMetrics> metrics;
  std::array<Channel<BackgroundWork>, 2> background;  ///< one for each worker
  Channel<TidyOrder> tidier;
};

}  // namespace muster::daemon

// Compiled in messages.cc: whoever sends or receives does not compile what moves a message.
namespace muster {
extern template class Variant<daemon::ToCoreKinds>;
extern template class Variant<daemon::ToGatewayKinds>;
extern template class Channel<daemon::ToCore>;
extern template class Channel<ToJournal>;
extern template class Channel<daemon::ToPlanner>;
extern template class Channel<std::unique_ptr<daemon::ForecastOrder>>;
extern template class Channel<daemon::ToHistory>;
extern template class Channel<daemon::ToSearch>;
extern template class Channel<daemon::ToLogs>;
extern template class Channel<daemon::ToGateway>;
extern template class Channel<daemon::NamesQuery>;
extern template class Channel<MailOrder>;
extern template class Channel<daemon::TokensAsked>;
extern template class Channel<daemon::ToMetrics>;
extern template class Channel<daemon::BackgroundWork>;
extern template class Channel<daemon::TidyOrder>;
}  // namespace muster
