// The tables by themselves: what is found, in which order, what memory is freed, and that each
// hash is the sum of what is there.
#include <gtest/gtest.h>

#include "state/answer_table.h"
#include "state/blob_table.h"
#include "state/catalog.h"
#include "state/checkpoint_table.h"
#include "state/experiment_table.h"
#include "state/job_table.h"
#include "state/node_table.h"
#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::config_of;
using testing::grant_of;
using testing::spec_of;

Job job_of(std::uint32_t id) {
  Job job;
  job.id = JobId(id);
  job.spec = spec_of();
  return job;
}

std::vector<std::uint32_t> ids_from(const JobTable& table, std::uint32_t first, std::size_t most) {
  std::vector<std::uint32_t> ids;
  table.for_each_from(JobId(first), [&](const Job& job) {
    ids.push_back(job.id.value());
    return ids.size() < most;
  });
  return ids;
}

TEST(JobTable, VisitsInTheOrderOfIdsAcrossItsChunks) {
  JobTable table;
  for (const std::uint32_t id : {700U, 3U, 256U, 255U}) table.insert(job_of(id));
  using Ids = std::vector<std::uint32_t>;
  EXPECT_EQ(ids_from(table, 0, 9), (Ids{3, 255, 256, 700}));
  EXPECT_EQ(ids_from(table, 256, 9), (Ids{256, 700}));
  EXPECT_EQ(ids_from(table, 257, 9), (Ids{700}));
  EXPECT_EQ(ids_from(table, 4, 1), (Ids{255})) << "until the visitor has enough";
  EXPECT_EQ(ids_from(table, 100'000, 9), Ids());
  EXPECT_EQ(table.size(), 4U);
}

TEST(JobTable, AnErasedJobIsGoneWithItsHash) {
  JobTable table;
  table.insert(job_of(1));
  const std::uint64_t one = table.hash();
  const Job* first = table.find(JobId(1));
  table.insert(job_of(300));
  EXPECT_NE(table.hash(), one);
  EXPECT_EQ(table.find(JobId(1)), first) << "others' coming moves no job";
  table.erase(JobId(300));
  EXPECT_EQ(table.hash(), one);
  EXPECT_EQ(table.find(JobId(300)), nullptr);
  EXPECT_EQ(ids_from(table, 200, 9), std::vector<std::uint32_t>()) << "its chunk is freed";
  EXPECT_DEATH(table.erase(JobId(300)), "job 300 is not there");
  EXPECT_DEATH(table.insert(job_of(1)), "job 1 is there already");
}

TEST(JobTable, ElementsAreFoundByTheirIndexUntilErased) {
  JobTable table;
  for (const std::uint32_t id : {10U, 11U}) {
    Job job = job_of(id);
    job.array_job = JobId(10);
    job.array_index = 20 - id;
    table.insert(std::move(job));
    table.add_element(JobId(10), 20 - id, JobId(id));
  }
  ASSERT_NE(table.elements(JobId(10)), nullptr);
  EXPECT_EQ(table.elements(JobId(10))->begin()->second, JobId(11)) << "rising by index";
  table.erase(JobId(11));
  EXPECT_EQ(table.elements(JobId(10))->size(), 1U);
  table.erase(JobId(10));
  EXPECT_EQ(table.elements(JobId(10)), nullptr);
}

TEST(JobTable, AChangeIsSeenAfterRehash) {
  JobTable table;
  Job& job = table.insert(job_of(1));
  const std::uint64_t before = table.hash();
  job.priority = 5;
  EXPECT_EQ(table.hash(), before);
  table.rehash(job);
  EXPECT_NE(table.hash(), before);
  job.priority = 0;
  table.rehash(job);
  EXPECT_EQ(table.hash(), before);
}

NodeTable nodes_of(std::uint32_t count) {
  NodeTable table;
  table.configure(config_of(count)->nodes);
  return table;
}

TEST(NodeTable, WhatIsGivenBackLeavesNoTrace) {
  NodeTable table = nodes_of(2);
  const std::uint64_t idle = table.hash();
  NodeGrant grant = grant_of(0, 1, 2);
  grant.gres.push_back({"gpu", "", Bitmap::range(1, 1)});
  table.allocate(JobId(7), grant);
  table.allocate(JobId(3), grant_of(0, 0, 1));
  const Node& node = table.at(NodeIndex(0));
  EXPECT_EQ(node.jobs, (std::vector{JobId(3), JobId(7)})) << "rising";
  EXPECT_EQ(node.used_cpus, Bitmap::range(0, 3));
  EXPECT_EQ(node.used_memory_mib, 200U);
  EXPECT_NE(table.hash(), idle);
  table.release(JobId(3), grant_of(0, 0, 1));
  table.release(JobId(7), grant);
  EXPECT_EQ(table.hash(), idle) << "an empty pool hashes like one that was never used";
}

TEST(NodeTable, RefusesToGiveTwiceAndToTakeBackWhatIsNotOut) {
  NodeTable table = nodes_of(1);
  NodeGrant grant = grant_of(0, 0, 1);
  grant.gres.push_back({"gpu", "", Bitmap::range(0, 1)});
  table.allocate(JobId(1), grant);
  NodeGrant device = grant_of(0, 1, 1);
  device.gres = grant.gres;
  EXPECT_DEATH(table.allocate(JobId(2), grant_of(0, 0, 2)), "a CPU would be given twice, to job 2");
  EXPECT_DEATH(table.allocate(JobId(2), device), "a gpu would be given twice, to job 2");
  EXPECT_DEATH(table.release(JobId(1), grant_of(0, 0, 2)), "returns CPUs it has not");
  NodeGrant more = grant;
  more.gres[0].devices = Bitmap::range(0, 2);
  EXPECT_DEATH(table.release(JobId(1), more), "returns gpu it has not");
  more = grant;
  more.memory_mib = 200;
  EXPECT_DEATH(table.release(JobId(1), more), "used_memory_mib");
  EXPECT_DEATH(table.release(JobId(2), grant), "found");
}

TEST(NodeTable, TwoNodesThatChangePlacesMakeAnotherSum) {
  NodeTable table = nodes_of(2);
  table.at(NodeIndex(0)).status.comment = "a";
  table.rehash(NodeIndex(0));
  const std::uint64_t first = table.hash();
  std::swap(table.at(NodeIndex(0)).status, table.at(NodeIndex(1)).status);
  table.rehash(NodeIndex(0));
  table.rehash(NodeIndex(1));
  EXPECT_NE(table.hash(), first);
}

TEST(NodeTable, FindsByNameAndIndex) {
  const NodeTable table = nodes_of(2);
  EXPECT_EQ(table.find_by_name("n1"), NodeIndex(1));
  EXPECT_EQ(table.find_by_name("n"), std::nullopt);
  EXPECT_EQ(table.find(NodeIndex(2)), nullptr);
  EXPECT_EQ(table.find(NodeIndex(1))->config.name, "n1");
  EXPECT_EQ(table.all().size(), 2U);
}

TEST(DevicesOf, AreNumberedThroughThePoolsOfAName) {
  NodeConfig node;
  node.gres = {{"gpu", "a100", 2, {}}, {"nic", "", 1, {}}, {"gpu", "h100", 3, {}}};
  EXPECT_EQ(devices_of(node, "gpu", ""), Bitmap::range(0, 5));
  EXPECT_EQ(devices_of(node, "gpu", "a100"), Bitmap::range(0, 2));
  EXPECT_EQ(devices_of(node, "gpu", "h100"), Bitmap::range(2, 3));
  EXPECT_EQ(devices_of(node, "nic", ""), Bitmap::range(0, 1));
  EXPECT_TRUE(devices_of(node, "gpu", "v100").empty());
  EXPECT_TRUE(devices_of(node, "shard", "").empty());
}

std::string digest(char fill) { return std::string(32, fill); }

TEST(BlobTable, EqualBytesAreFoundByTheirDigest) {
  BlobTable table;
  table.add(BlobId(1), digest('a'), 10);
  EXPECT_EQ(table.find(digest('a')), BlobId(1));
  EXPECT_EQ(table.find(digest('b')), BlobId(0));
  table.add(BlobId(200), digest('b'), 20);
  EXPECT_EQ(table.find(digest('b')), BlobId(200)) << "also once there is an index";
  EXPECT_EQ(table.record(BlobId(200))->size, 20U);
  EXPECT_FALSE(table.record(BlobId(3)).has_value());
  EXPECT_DEATH(table.add(BlobId(1), digest('c'), 1), "blob 1 is there already");
  EXPECT_DEATH(table.add(BlobId(2), "short", 1), "a digest of 5 bytes");
}

TEST(BlobTable, GoesWithItsLastReference) {
  BlobTable table;
  table.add(BlobId(1), digest('a'), 10);
  const std::uint64_t unused = table.hash();
  EXPECT_DEATH(table.release(BlobId(1)), "blob 1 is not referenced");
  table.reference(BlobId(1));
  table.reference(BlobId(1));
  EXPECT_NE(table.hash(), unused);
  EXPECT_FALSE(table.release(BlobId(1)));
  EXPECT_TRUE(table.release(BlobId(1)));
  EXPECT_EQ(table.hash(), 0U);
  EXPECT_EQ(table.find(digest('a')), BlobId(0));
  EXPECT_DEATH(table.reference(BlobId(1)), "no blob 1");
}

TEST(BlobTable, ADamagedOneIsReplacedByTheNextOfItsDigest) {
  BlobTable table;
  table.add(BlobId(1), digest('a'), 10);
  table.reference(BlobId(1));
  const std::uint64_t hash = table.hash();
  table.do_not_share(BlobId(1));
  table.do_not_share(BlobId(99));
  EXPECT_EQ(table.hash(), hash) << "no part of the state";
  EXPECT_EQ(table.find(digest('a')), BlobId(0));
  table.add(BlobId(2), digest('a'), 10);
  EXPECT_EQ(table.find(digest('a')), BlobId(2));
  EXPECT_TRUE(table.release(BlobId(1)));
  EXPECT_EQ(table.find(digest('a')), BlobId(2)) << "the end of the first hides not the second";
}

TEST(BlobTable, VisitsInTheOrderOfIds) {
  BlobTable table;
  for (const std::uint64_t id : {65U, 1U, 64U}) table.add(BlobId(id), digest('a'), id);
  std::vector<std::uint64_t> seen;
  table.for_each([&](BlobId id, const BlobRecord& record) {
    EXPECT_EQ(record.size, id.value());
    seen.push_back(id.value());
  });
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 64, 65}));
}

CheckpointRef checkpoint_of(const std::string& uuid, CheckpointState state,
                            std::uint32_t trial = 1) {
  return std::make_shared<const Checkpoint>(
      Checkpoint{uuid, TrialId(trial), 1, 4, state, at(20), 10, "{}", "{}"});
}

std::string order_of(const CheckpointTable& table, std::uint32_t trial) {
  std::string order;
  for (const CheckpointRef& one : table.of(TrialId(trial))) order += one->uuid;
  return order;
}

TEST(CheckpointTable, TheLatestIsTheOneThatWasFinishedLast) {
  CheckpointTable table;
  EXPECT_EQ(table.latest(TrialId(1)), nullptr);
  for (const char* uuid : {"a", "b"}) table.put(checkpoint_of(uuid, CheckpointState::kActive));
  EXPECT_EQ(table.latest(TrialId(1)), nullptr) << "their files may be half written";
  table.put(checkpoint_of("b", CheckpointState::kCompleted));
  table.put(checkpoint_of("a", CheckpointState::kCompleted));
  EXPECT_EQ(order_of(table, 1), "ba");
  EXPECT_EQ(table.latest(TrialId(1))->uuid, "a");
  table.put(checkpoint_of("b", CheckpointState::kPartiallyDeleted));
  EXPECT_EQ(order_of(table, 1), "ba") << "what happens to it later moves it no more";
  table.put(checkpoint_of("a", CheckpointState::kDeleted));
  EXPECT_EQ(table.latest(TrialId(1)), nullptr);
}

TEST(CheckpointTable, LeavesWithItsTrial) {
  CheckpointTable table;
  table.put(checkpoint_of("a", CheckpointState::kCompleted, 1));
  const std::uint64_t one = table.hash();
  table.put(checkpoint_of("b", CheckpointState::kCompleted, 2));
  table.erase(TrialId(2));
  table.erase(TrialId(3));
  EXPECT_EQ(table.hash(), one);
  EXPECT_EQ(table.find("b"), nullptr);
  EXPECT_TRUE(table.of(TrialId(2)).empty());
  EXPECT_DEATH(table.put(checkpoint_of("a", CheckpointState::kCompleted, 2)),
               "checkpoint a moves to another trial");
}

TEST(CheckpointTable, ACollectionHoldsItsCheckpoints) {
  CheckpointTable table;
  table.begin({JobId(5), ExperimentId(1), false, {"a", "b"}});
  EXPECT_TRUE(table.is_going("a"));
  EXPECT_FALSE(table.is_going("c"));
  EXPECT_DEATH(table.begin({JobId(6), ExperimentId(1), false, {"b"}}), "b is deleted twice");
  EXPECT_DEATH(table.begin({JobId(5), ExperimentId(1), false, {"c"}}), "deletes something else");
  EXPECT_EQ(table.end(JobId(5)).uuids.size(), 2U);
  EXPECT_EQ(table.hash(), 0U);
  EXPECT_FALSE(table.is_going("a"));
}

DocumentRef document_of(DocumentKind kind, std::uint32_t id, std::uint32_t parent,
                        const std::string& name, std::vector<std::string> checkpoints = {}) {
  return std::make_shared<const Document>(Document{kind, id, parent, 0, name, UserId(1), "ann",
                                                   at(1), at(1), false, "{}",
                                                   std::move(checkpoints)});
}

TEST(Catalog, FindsByNameBelowAParent) {
  Catalog catalog;
  catalog.put(document_of(DocumentKind::kProject, 1, 10, "p"));
  catalog.put(document_of(DocumentKind::kProject, 2, 20, "p"));
  catalog.put(document_of(DocumentKind::kModel, 3, 0, "p"));
  EXPECT_EQ(catalog.find(DocumentKind::kProject, 20, "p")->id, 2U);
  EXPECT_EQ(catalog.find(DocumentKind::kProject, 0, "p")->id, 1U) << "the lowest";
  EXPECT_EQ(catalog.find(DocumentKind::kProject, 30, "p"), nullptr);
  EXPECT_EQ(catalog.find(DocumentKind::kProject, 0, "P"), nullptr);
  EXPECT_EQ(catalog.all(DocumentKind::kProject).size(), 2U);
  EXPECT_EQ(catalog.all(DocumentKind::kProject, 10).size(), 1U);
  EXPECT_EQ(catalog.all(DocumentKind::kTemplate).size(), 0U);
}

TEST(Catalog, GivesNoIdTwice) {
  Catalog catalog;
  EXPECT_EQ(catalog.next(DocumentKind::kModel), 1U);
  catalog.put(document_of(DocumentKind::kModel, 7, 0, "m"));
  EXPECT_EQ(catalog.next(DocumentKind::kModel), 8U);
  EXPECT_EQ(catalog.next(DocumentKind::kWorkspace), 1U) << "each kind counts by itself";
  catalog.remove(DocumentKind::kModel, 7);
  EXPECT_EQ(catalog.next(DocumentKind::kModel), 8U);
  EXPECT_EQ(catalog.hash(), 0U);
  EXPECT_DEATH(catalog.remove(DocumentKind::kModel, 7), "no document 7 of kind 0");
}

TEST(Catalog, CountsWhoNamesACheckpoint) {
  Catalog catalog;
  catalog.put(document_of(DocumentKind::kModelVersion, 1, 1, "", {"a", "b"}));
  catalog.put(document_of(DocumentKind::kModelVersion, 2, 1, "", {"a"}));
  EXPECT_TRUE(catalog.names_checkpoint("b"));
  catalog.put(document_of(DocumentKind::kModelVersion, 1, 1, "", {"c"}));
  EXPECT_FALSE(catalog.names_checkpoint("b")) << "it names another now";
  EXPECT_TRUE(catalog.names_checkpoint("a"));
  catalog.remove(DocumentKind::kModelVersion, 2);
  EXPECT_FALSE(catalog.names_checkpoint("a"));
}

TEST(ExperimentTable, ImportedOnesAreFoundByTheirOrigin) {
  ExperimentTable table;
  auto spec = std::make_shared<ExperimentSpec>();
  spec->imported_from = "x/1";
  for (const std::uint32_t id : {4U, 5U}) {
    Experiment experiment;
    experiment.id = ExperimentId(id);
    experiment.spec = spec;
    experiment.trials = {TrialId(id)};
    table.insert(std::move(experiment));
    Trial trial;
    trial.id = TrialId(id);
    trial.experiment = ExperimentId(id);
    trial.imported_from = "9";
    table.insert(std::move(trial));
  }
  EXPECT_EQ(table.find_imported_experiment("x/1")->id, ExperimentId(4)) << "the first";
  EXPECT_EQ(table.find_imported_trial(ExperimentId(5), "9")->id, TrialId(5));
  EXPECT_EQ(table.find_imported_experiment("x/2"), nullptr);
  table.erase(ExperimentId(5));
  EXPECT_EQ(table.find_imported_experiment("x/1")->id, ExperimentId(4));
  EXPECT_EQ(table.find_imported_trial(ExperimentId(5), "9"), nullptr);
  table.erase(ExperimentId(4));
  EXPECT_EQ(table.find_imported_experiment("x/1"), nullptr);
  EXPECT_EQ(table.hash(), 0U);
  EXPECT_DEATH(table.erase(ExperimentId(4)), "no experiment 4");
}

TEST(AnswerTable, DropsAFewOverdueAnswersWithEachEvent) {
  AnswerTable table;
  for (std::uint64_t i = 0; i < 40; ++i) table.add(RequestId{1, i}, Answer{UserId(1), at(0), {}});
  table.expire(at(599));
  EXPECT_EQ(table.size(), 40U);
  table.expire(at(600));
  EXPECT_EQ(table.size(), 24U) << "no single event pays for a long silence";
  EXPECT_FALSE(table.find(RequestId{1, 15}).has_value());
  EXPECT_TRUE(table.find(RequestId{1, 16}).has_value());
  table.expire(at(600));
  table.expire(at(600));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.hash(), 0U);
}

TEST(AnswerTable, MovesWithTheClock) {
  AnswerTable table;
  table.add(RequestId{1, 1}, Answer{UserId(1), at(0), {}});
  const std::uint64_t before = table.hash();
  table.move(Duration::hours(1));
  EXPECT_NE(table.hash(), before);
  table.expire(at(700));
  EXPECT_EQ(table.find(RequestId{1, 1})->time, at(3600));
}

TEST(AnswerTable, AReplyThatIsANumberComesBackWhole) {
  AnswerTable table;
  Reply number;
  number.job = JobId(12);
  Reply more = number;
  more.error = Error{ErrorCode::kUnavailable, "later", ""};
  table.add(RequestId{1, 1}, Answer{UserId(1), at(0), {number}});
  table.add(RequestId{1, 2}, Answer{UserId(1), at(0), {more}});
  table.add(RequestId{1, 3}, Answer{UserId(1), at(0), {number, number}});
  EXPECT_EQ(table.find(RequestId{1, 1})->replies, std::vector<Reply>{number});
  EXPECT_EQ(table.find(RequestId{1, 2})->replies, std::vector<Reply>{more});
  EXPECT_EQ(table.find(RequestId{1, 3})->replies.size(), 2U);
  std::vector<std::uint64_t> order;
  table.for_each([&](RequestId id, const Answer&) { order.push_back(id.low); });
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3})) << "oldest first";
  EXPECT_DEATH(table.add(RequestId{1, 1}, Answer{UserId(1), at(0), {}}), "a second answer");
}

}  // namespace
}  // namespace muster
