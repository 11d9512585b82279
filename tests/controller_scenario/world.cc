#include "tests/controller_scenario/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/prepare.h"
#include "platform/config/prepare_experiment.h"
#include "workload/planning/planner_role.h"

namespace muster::scenario {
namespace {

/// More rounds than any chain of answers, plans and decisions at one instant takes.
constexpr int kRoundsMax = 500;
constexpr std::int64_t kLeaseSeconds = 20;

/// The time of a state that the batches make.
TimePoint time_of(const std::vector<EventBatchRef>& stored) {
  ClusterState state;
  for (const EventBatchRef& batch : stored) state.apply(*batch);
  return state.time();
}

std::vector<Error> errors_of(const Reply& reply) {
  std::vector<Error> errors;
  if (reply.error) errors.push_back(*reply.error);
  for (const JobOutcome& outcome : reply.outcomes) {
    if (outcome.error) errors.push_back(*outcome.error);
  }
  for (const ExperimentOutcome& outcome : reply.experiments) {
    if (outcome.error) errors.push_back(*outcome.error);
  }
  return errors;
}

}  // namespace

const User* find_user(const std::string& name) {
  static const std::vector<User> kUsers = {
      {"root", testing::kRoot},
      {"alice", testing::kAlice},
      {"bob", testing::kBob},
      {"carol", Identity{UserId(1002), GroupId(100), false}},
  };
  const auto found = std::ranges::find(kUsers, name, &User::name);
  return found == kUsers.end() ? nullptr : &*found;
}

World::World(std::shared_ptr<const ClusterConfig> config,
             std::map<std::string, NodeStatus> first_status)
    : config_(std::move(config)), nodes_(config_->nodes.size()), orders_(config_->nodes.size()) {
  Restart first;
  first.beginning.first_status = std::move(first_status);
  begin({}, first);
}

void World::begin(std::vector<EventBatchRef> stored, const Restart& how) {
  rig_ = std::make_unique<testing::Rig>(config_, std::move(stored), how.away, how.beginning);
  replica_ = std::make_unique<QueryReplica>("head", "test");
  searches_ = std::make_unique<SearchRole>();
  report_ = nullptr;
  replica_->state().copy_from(rig_->core.state());
  searches_->load(rig_->core.state());
  seen_batches_ = rig_->published.size();
  seen_orders_ = seen_fetches_ = 0;
  waiting_.clear();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_away) connect(NodeIndex(i));
  }
  run_until_idle();
}

void World::restart(const Restart& how) {
  collect();
  std::vector<EventBatchRef> stored = how.is_tail_stored ? rig_->journal : rig_->stored();
  Restart restart = how;
  restart.away = (rig_->now - time_of(stored)) + how.away;
  is_stalled_ = false;
  begin(std::move(stored), restart);
}

void World::advance(std::int64_t to) {
  while (seconds() < to) {
    if (is_stalled_) {
      faults_.emplace_back("time passes while the journal stalls: let a crash end that");
      return;
    }
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      Heartbeat heartbeat;
      heartbeat.fault = nodes_[i].fault;
      send_from(NodeIndex(i), {heartbeat});
    }
    if (seconds() % kLeaseSeconds == 0) renew_leases();
    rig_->pass(Duration::seconds(1));
    run_until_idle();
  }
}

void World::stand_still(Duration span) {
  rig_->stand_still(span);
  run_until_idle();
}

void World::renew_leases() {
  std::vector<std::pair<JobId, UserId>> jobs;
  state().jobs().for_each([&](const Job& job) {
    const bool is_held = job.spec->kind != JobKind::kBatch && !job.is_over();
    if (is_held && !lost_clients_.contains(job.id)) jobs.emplace_back(job.id, job.spec->user);
  });
  for (const auto& [job, user] : jobs) rig_->done(RenewLease{job}, testing::kRoot);
}

void World::ask(Request request, const User& user) {
  last_ = std::move(request);
  last_user_ = &user;
  ++number_;
  repeat();
}

void World::repeat() {
  answer_ = {};
  if (!last_) return;
  Request request = *last_;
  const CallerNames names{last_user_->name, "users", {"users"}};
  const auto* continuation = get_if<ContinueExperiment>(&request);
  auto prepared = continuation != nullptr
                      ? prepare_continuation(*continuation, state())
                      : prepare(std::move(request), last_user_->identity, names, state().settings(),
                                environments_[last_user_->name]);
  if (prepared.has_value()) {
    send(std::move(prepared).value());
  } else {
    answer_ = {{prepared.error()}, {}, true};
  }
}

void World::send(PreparedRequest request) {
  token_ = rig_->ask({std::move(request)}, last_user_->identity, RequestId{1, number_});
  waiting_.insert(token_);
  if (is_stalled_) return;
  rig_->flush();
  rig_->work();
  collect_answers();
  run_until_idle();
}

void World::collect_answers() {
  if (const auto found = rig_->replies.find(token_); found != rig_->replies.end()) {
    answer_.reply = found->second.front();
    answer_.errors = errors_of(answer_.reply);
    answer_.is_given = true;
  }
  for (const auto& [token, replies] : rig_->replies) waiting_.erase(token);
}

void World::run_until_idle() {
  if (is_stalled_) return;
  for (int round = 0; round < kRoundsMax; ++round) {
    rig_->work();
    bool has_moved = fetch();
    has_moved = deliver() || has_moved;
    has_moved = decide() || has_moved;
    has_moved = plan() || has_moved;
    collect();
    collect_answers();
    if (!has_moved && !rig_->core.has_work()) return;
  }
  faults_.emplace_back("the controller does not come to rest");
}

/// What is durable reaches the replica and the record of what has ended.
void World::collect() {
  for (; seen_batches_ < rig_->published.size(); ++seen_batches_) {
    replica_->apply(*rig_->published[seen_batches_]);
    searches_->apply(*rig_->published[seen_batches_]);
  }
  for (HistoryRecord& record : std::exchange(rig_->history, {}))
    history_.push_back(std::move(record));
}

bool World::fetch() {
  const bool has_any = seen_fetches_ < rig_->fetched.size();
  for (; seen_fetches_ < rig_->fetched.size(); ++seen_fetches_) {
    rig_->core.on_blob(rig_->fetched[seen_fetches_],
                       std::make_shared<const std::string>("#!/bin/sh\n"));
    rig_->core.end_turn(rig_->now);
    rig_->flush();
  }
  return has_any;
}

bool World::deliver() {
  const bool has_any = seen_orders_ < rig_->sent.size();
  for (; seen_orders_ < rig_->sent.size(); ++seen_orders_) {
    const auto [index, order] = rig_->sent[seen_orders_];
    if (node(index).is_away) continue;
    orders_[index.value()].push_back(order);
    send_from(index, node(index).receive(order));
  }
  return has_any;
}

bool World::decide() {
  collect();
  const auto decisions = searches_->decide(rig_->now);
  for (const SearchDecision& decision : decisions) rig_->done(decision, testing::kRoot);
  return !decisions.empty();
}

bool World::plan() {
  bool has_planned = false;
  while (auto result = rig_->planner->plan(rig_->now)) {
    report_ = result->report;
    replica_->set_report(report_);
    rig_->core.on_plan(*result, rig_->now);
    rig_->flush();
    has_planned = true;
  }
  return has_planned;
}

void World::lose(NodeIndex index) {
  node(index).is_away = true;
  rig_->core.on_agent_lost(index);
}

void World::connect(NodeIndex index) {
  FakeNode& one = node(index);
  one.is_away = false;
  const NodeConfig& config = state().nodes().at(index).config;
  RegisterNode hello = testing::Rig::hello_of(index.value());
  hello.node_name = config.name;
  hello.machine_id = "machine of " + config.name;
  hello.cpus = one.cpus != 0 ? one.cpus : config.cpus;
  hello.memory_mib = one.memory_mib != 0 ? one.memory_mib : config.memory_mib;
  hello.gres = config.gres;
  hello.boot_id = one.boot_id();
  hello.steps = one.known_steps();
  const bool has_met = !state().nodes().at(index).status.boot_id.empty();
  if (has_met) hello.cluster_id = rig_->core.identity().cluster_id;
  if (const auto answer = rig_->greet(hello); !answer.has_value()) {
    forget_answer();
    answer_.errors = {answer.error()};
    return;
  }
  std::vector<FromAgent> ends;
  for (const StepDone& done : one.unacknowledged()) ends.emplace_back(done);
  send_from(index, ends);
}

void World::send_from(NodeIndex index, const std::vector<FromAgent>& messages) {
  if (node(index).is_away || messages.empty()) return;
  if (is_stalled_) {
    faults_.emplace_back("nodes are not heard while the journal stalls: let a crash end that");
    return;
  }
  for (const FromAgent& message : messages) rig_->hear(index.value(), message);
}

void World::forget_orders() {
  for (auto& orders : orders_) orders.clear();
}

}  // namespace muster::scenario
