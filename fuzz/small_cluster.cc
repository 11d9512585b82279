#include "fuzz/small_cluster.h"

#include "fuzz/fuzz.h"
#include "fuzz/likely_request.h"
#include "gateway/prepare.h"
#include "records/batch_codec.h"
#include "records/bytes.h"
#include "workload/planning/planner_role.h"

namespace muster::fuzz {
namespace {

using testing::kAlice;
using testing::kBob;

/// The rig counts its own commands from 1.
constexpr std::uint64_t kGatewayTokens = 1ULL << 32;

CallerNames names_of(UserId user) {
  return user == kBob.user     ? CallerNames{"bob", "users"}
         : user == kAlice.user ? CallerNames{"alice", "users"}
                               : CallerNames{"root", "root"};
}

}  // namespace

SmallCluster::SmallCluster(kj::AsyncIoContext& io, const ClusterStart& start)
    : io_(io),
      metrics_(start.metrics),
      logs_(start.logs),
      rig_(2),
      gateway_(*this, io.provider->getTimer(), replica_) {
  search_.load(rig_.core.state());
  rig_.connect_all();
  follow();
  gateway_.begin();
  if (!start.is_idle) fill();
}

void SmallCluster::fill() {
  ask(kAlice, submit_of(job_spec(JobKind::kBatch, "runs")));
  run_until_idle();
  auto waits = job_spec(JobKind::kBatch, "waits");
  waits->request.edit()->task_count = 8;
  waits->request.edit()->min_nodes = 2;
  waits->request.edit()->max_nodes = 2;
  ask(kAlice, submit_of(waits));
  auto array = job_spec(JobKind::kBatch, "array");
  array->text.set(JobText::kArray, "0-9");
  array->is_held = true;
  ask(kAlice, submit_of(array));
  ask(kAlice, submit_of(job_spec(JobKind::kInteractive, "allocation")));
  ask(kBob, submit_of(job_spec(JobKind::kBatch, "bobs")));
  run_until_idle();
  ask(kAlice, experiment_of(kSearchConfig));
  run_until_idle();
}

// Not through the gateway: clusters are made in the middle of calls, where nothing may be waited
// for.
void SmallCluster::ask(const Identity& identity, Request request) {
  LastBlob last;
  auto prepared =
      prepare(std::move(request), identity, names_of(identity.user), state().settings(), last);
  FUZZ_EXPECT(prepared.has_value(), "the cluster's own job is refused: " + prepared.error().text());
  const Reply reply = rig_.done(std::move(*prepared), identity);
  FUZZ_EXPECT(!reply.error, "the cluster's own job is refused: " + reply.error->text());
}

std::vector<Reply> SmallCluster::submit(const Identity& identity, std::vector<Request> requests) {
  auto promise = gateway_.submit(identity, std::move(requests), RequestId());
  for (int i = 0; i < 3 && !promise.poll(io_.waitScope); ++i) {
    run_until_idle();
    pass(Duration::seconds(2));
  }
  if (!promise.poll(io_.waitScope)) return {};
  auto replies = promise.wait(io_.waitScope);
  for (const Reply& reply : replies) {
    FUZZ_EXPECT(!reply.error || reply.error->code != ErrorCode::kInternal,
                "refused as a fault of ours: " + reply.error->text());
  }
  return replies;
}

Result<std::size_t> SmallCluster::query(const Identity& identity, const Query& query) {
  std::size_t pages = 0;
  const auto error = gateway_
                         .query(identity, query,
                                [&](const std::string&) -> kj::Promise<void> {
                                  ++pages;
                                  return kj::READY_NOW;
                                })
                         .wait(io_.waitScope);
  if (error) return fail(*error);
  return pages;
}

bool SmallCluster::hear(NodeIndex node, const FromAgent& message) {
  const bool is_obeyed = rig_.core.on_agent(node, message, rig_.now);
  rig_.core.end_turn(rig_.now);
  rig_.flush();
  follow();
  return is_obeyed;
}
Result<NodeIndex> SmallCluster::greet(const RegisterNode& hello) {
  auto node = rig_.greet(hello);
  follow();
  return node;
}
void SmallCluster::pass(Duration span) {
  rig_.pass(span);
  follow();
}

void SmallCluster::stand_still(Duration span) {
  rig_.stand_still(span);
  follow();
}
std::vector<std::pair<NodeIndex, ToAgent>> SmallCluster::new_orders() {
  std::vector<std::pair<NodeIndex, ToAgent>> orders(
      rig_.sent.begin() + static_cast<std::ptrdiff_t>(ordered_), rig_.sent.end());
  ordered_ = rig_.sent.size();
  return orders;
}

void SmallCluster::follow() {
  for (; seen_ < rig_.published.size(); ++seen_) {
    search_.apply(*rig_.published[seen_]);
    DurableUpdate update;
    update.batch = rig_.published[seen_];
    gateway_.on_update(update);
  }
  std::erase_if(unanswered_, [this](std::uint64_t token) {
    const auto answer = rig_.replies.find(token + kGatewayTokens);
    if (answer == rig_.replies.end()) return false;
    gateway_.on_reply(token, answer->second);
    return true;
  });
}

void SmallCluster::run_until_idle() {
  for (int i = 0; i < 20; ++i) {
    const std::size_t before = rig_.published.size();
    follow();
    for (const SearchDecision& decision : search_.decide(rig_.now))
      rig_.done(decision, testing::kRoot);
    rig_.plan();
    carry();
    rig_.confirm_launches();
    follow();
    if (rig_.published.size() == before) return;
  }
}

/// What the core asked of the journal comes, and what it sent nodes arrives.
void SmallCluster::carry() {
  for (; fetched_ < rig_.fetched.size(); ++fetched_)
    rig_.core.on_blob(rig_.fetched[fetched_], blob_in_journal(rig_.fetched[fetched_]));
  for (; carried_ < rig_.sent.size(); ++carried_) {
    const auto [node, message] = rig_.sent[carried_];
    if (const auto* launch = get_if<LaunchStep>(&message))
      rig_.core.on_received(node, launch->id, rig_.now);
  }
  rig_.core.end_turn(rig_.now);
  rig_.flush();
  rig_.work();
}

void SmallCluster::command(Command command) {
  const std::uint64_t token = command.token;
  command.token += kGatewayTokens;
  rig_.core.on_command(std::move(command), rig_.now);
  rig_.core.end_turn(rig_.now);
  rig_.flush();
  rig_.work();
  unanswered_.insert(token);
  follow();
}

void SmallCluster::forecast(Command command) {
  gateway_.on_reply(command.token, std::vector<Reply>(command.requests.size()));
}
kj::Promise<Result<HistorySlice>> SmallCluster::history(UserId, HistoryListing listing) {
  std::vector<std::string> pages = next_pages(listing, nullptr).value();
  return Result<HistorySlice>(HistorySlice{std::move(listing), std::move(pages)});
}
kj::Promise<Result<std::string>> SmallCluster::blob(BlobId id) {
  const auto bytes = blob_in_journal(id);
  if (bytes != nullptr) return Result<std::string>(*bytes);
  return Result<std::string>(fail(ErrorCode::kNotFound, "there is no such blob"));
}
std::shared_ptr<const std::string> SmallCluster::blob_in_journal(BlobId id) const {
  for (const EventBatchRef& batch : rig_.journal) {
    for (const BlobWrite& blob : batch->blobs) {
      if (blob.id == id) return blob.bytes;
    }
  }
  return nullptr;
}
kj::Promise<CallerNames> SmallCluster::names(UserId user, GroupId) { return names_of(user); }
kj::Promise<Result<std::string>> SmallCluster::token(TokenOwner owner, TimePoint) {
  return Result<std::string>("token of " + owner.name);
}
kj::Promise<Result<ReportOutcome>> SmallCluster::store_report(MetricReport report) {
  if (metrics_ == nullptr) return Result<ReportOutcome>(ReportOutcome::kStored);
  const auto outcomes = metrics_->append({std::move(report)});
  if (!outcomes.has_value()) return Result<ReportOutcome>(fail(outcomes.error()));
  return Result<ReportOutcome>(outcomes->front());
}
kj::Promise<std::map<JobId, Reasons>> SmallCluster::explain(std::vector<JobId> jobs) {
  return rig_.planner->explain(jobs);
}

kj::Promise<Result<MetricAnswers>> SmallCluster::measure(std::vector<MetricQuestion> questions) {
  if (metrics_ != nullptr) return answer(*metrics_, questions);
  return Result<MetricAnswers>(fail(ErrorCode::kUnavailable, "no metrics are stored here"));
}
void SmallCluster::forget_trials(std::vector<TrialId> trials) {
  for (const TrialId trial : trials) {
    if (metrics_ != nullptr) FUZZ_EXPECT(metrics_->delete_trial(trial).has_value(), "metrics stay");
    const LogOwner owner{LogOwnerKind::kTrial, trial.value()};
    if (logs_ != nullptr) FUZZ_EXPECT(logs_->delete_owner(owner).has_value(), "logs stay");
  }
}
void SmallCluster::begin_metrics(TrialId trial, std::uint32_t run, std::int64_t steps) {
  if (metrics_ == nullptr) return;
  FUZZ_EXPECT(metrics_->begin_run(trial, run, steps).has_value(), "no run can be begun");
}
kj::Promise<Result<TokenAnswer>> SmallCluster::ask_tokens(TokenQuestion) {
  return Result<TokenAnswer>(fail(ErrorCode::kUnavailable, "no tokens are stored here"));
}
kj::Promise<Result<LogPage>> SmallCluster::read_logs(LogQuery query, Duration) {
  if (logs_ != nullptr) return logs_->read(query);
  LogPage page;
  page.is_end = true;
  return Result<LogPage>(std::move(page));
}

void SmallCluster::expect_replay() {
  rig_.flush();
  ClusterState again;
  for (const EventBatchRef& batch : rig_.stored()) {
    const auto decoded = records::decode_batch(records::encode_batch(*batch));
    FUZZ_EXPECT(decoded.has_value(), "the journal holds what cannot be read");
    again.apply(*decoded);
  }
  FUZZ_EXPECT(again.hash() == state().hash(), "what the journal replays is not the state");
}

}  // namespace muster::fuzz
