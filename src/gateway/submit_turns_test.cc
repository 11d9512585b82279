// Experiments' configurations take long to read: whoever submits many leaves room for the others.
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <vector>

#include "admission/testing.h"
#include "gateway/testing.h"
#include "state/testing.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kBob;

/// Notes whose commands come to the core, in their order.
class Recorder final : public testing::SilentPort {
 public:
  Recorder() : io(kj::setupAsyncIo()), gateway(*this, io.provider->getTimer(), replica) {
    for (const EventBatchRef& batch : log.batches()) gateway.on_update({batch, {}});
  }
  ~Recorder() noexcept override = default;
  void command(Command command) override {
    order.push_back(command.identity.user);
    gateway.on_reply(command.token, std::vector<Reply>(command.requests.size()));
  }
  void forecast(Command question) override {
    ++questions;
    gateway.on_reply(question.token, std::vector<Reply>(question.requests.size()));
  }
  kj::Promise<std::vector<Reply>> submit(const Identity& who, std::vector<Request> requests) {
    return gateway.submit(who, std::move(requests), {});
  }

  kj::AsyncIoContext io;
  testing::Log log;
  QueryReplica replica{"host", "test"};
  Gateway gateway;
  std::vector<UserId> order;
  std::size_t questions = 0;  ///< that went to the planner
};

Request experiment() {
  CreateExperiment create;
  create.config = "{name: e, entrypoint: train, searcher: {name: single, metric: loss}}";
  create.job = testing::spec_of("base");
  return create;
}

Request job() {
  SubmitJob submit;
  submit.spec = testing::spec_of("job");
  submit.script = std::make_shared<const std::string>("#!/bin/sh\n");
  return submit;
}

TEST(SubmitTurns, OthersAreServedBetweenConfigurations) {
  Recorder recorder;
  // So that the names of both are known.
  for (const Identity& who : {kAlice, kBob})
    recorder.submit(who, {job()}).wait(recorder.io.waitScope);
  recorder.order.clear();
  std::vector<kj::Promise<std::vector<Reply>>> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(recorder.submit(kBob, {experiment()}));
  auto reply = recorder.submit(kAlice, {job()}).wait(recorder.io.waitScope);
  EXPECT_FALSE(reply.at(0).error);
  EXPECT_LE(recorder.order.size(), 2U)
      << "the configurations were all read before others had a turn";
  for (auto& answer : answers) {
    const std::vector<Reply> replies = answer.wait(recorder.io.waitScope);
    EXPECT_FALSE(replies.at(0).error) << replies.at(0).error->text();
  }
  EXPECT_EQ(recorder.order.size(), 6U);
}

TEST(SubmitTurns, ManyConfigurationsInOneCallAreRefusedUnread) {
  Recorder recorder;
  const auto replies =
      recorder.submit(kBob, {experiment(), experiment()}).wait(recorder.io.waitScope);
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[1].error->message, "a request about experiments stands alone");
  EXPECT_TRUE(recorder.order.empty());
}

TEST(SubmitTurns, AJobThatIsOnlyTestedComesToThePlannerAndNeverToTheCore) {
  Recorder recorder;
  Request question = job();
  get<SubmitJob>(question).is_test_only = true;
  const auto replies = recorder.submit(kBob, {question}).wait(recorder.io.waitScope);
  EXPECT_FALSE(replies.at(0).error);
  EXPECT_EQ(recorder.questions, 1U);
  const auto refused = recorder.submit(kBob, {question, job()}).wait(recorder.io.waitScope);
  EXPECT_EQ(refused.at(1).error->message, "a job that is only tested stands alone");
  EXPECT_EQ(recorder.questions, 1U);
  EXPECT_TRUE(recorder.order.empty()) << "whoever asks takes no turn of those who submit";
}

}  // namespace
}  // namespace muster
