// Everything that is journalled or sent comes back as it was. The values are drawn member by member
// (testing.h), so a member of a model struct that its list of fields forgets comes back as its
// default and fails here.
#include <capnp/any.h>
#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/job.h"
#include "records/batch_codec.h"
#include "records/bytes.h"
#include "records/checkpoint_codec.h"
#include "records/event_records.h"
#include "records/page_codec.h"
#include "records/testing.h"
#include "records/wire_records.h"

namespace muster {

template <>
inline constexpr bool testing::kIsRequired<Allocation> = true;
template <>
inline constexpr bool testing::kIsRequired<StepLayout> = true;

namespace {

using testing::difference;
using testing::draw;

constexpr std::uint64_t kSeeds = 60;

template <class Schema, class T>
T there_and_back(const T& value) {
  capnp::MallocMessageBuilder message;
  records::write(message.initRoot<Schema>(), value);
  T back;
  const Status read_it = records::with_message<Schema>(
      records::message_bytes(message),
      [&](typename Schema::Reader root) { records::read(root, back); });
  EXPECT_TRUE(read_it.has_value()) << read_it.error().text();
  return back;
}

template <class Schema, class T>
void expect_round_trips(const char* name) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    T value;
    draw(value, rng);
    ASSERT_EQ(difference(value, there_and_back<Schema>(value)), "") << name << ", seed " << seed;
  }
}

/// Calls `use(value)` for every alternative of a variant.
template <class Variant, class Use>
void for_each_alternative(Use&& use) {
  Variant::KindList::for_each([&]<class Kind>() { use(Variant(Kind())); });
}

template <class Schema, class Variant>
void expect_every_kind_round_trips() {
  for_each_alternative<Variant>([](Variant kind) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(seed);
      Variant value = kind;
      draw(value, rng);
      ASSERT_EQ(difference(value, there_and_back<Schema>(value)), "")
          << "alternative " << kind.index() << ", seed " << seed;
    }
  });
}

// ---- the means of the test itself ----

TEST(Testing, FindsMembersAndEnumerators) {
  EXPECT_EQ(member_count<StepId>(), 3);
  EXPECT_EQ(member_count<NodeConfig>(), 14);
  EXPECT_EQ(testing::enumerators<JobState>().size(), static_cast<std::size_t>(kJobStateCount));
  EXPECT_EQ(testing::enumerators<ErrorCode>().front(), ErrorCode::kInvalidArgument);
  StepId a;
  StepId b;
  EXPECT_EQ(difference(a, b), "");
  b.step = 1;
  EXPECT_EQ(difference(a, b), ".2!");
}

TEST(Testing, DrawsEveryMemberOfTheLargestStruct) {
  Rng rng(1);
  JobSpec spec;
  draw(spec, rng);
  EXPECT_NE(spec.task_count, JobSpec().task_count);
  EXPECT_NE(spec.environment, BlobId());
  EXPECT_NE(spec.get(JobText::kRlimits).size() + spec.get(JobText::kName).size(), 0U);
}

// ---- journal ----

TEST(RoundTrip, EveryKindOfEvent) {
  for_each_alternative<EventBody>([](EventBody kind) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(seed);
      Event event{TimePoint::from_seconds(1), kind};
      draw(event, rng);
      ASSERT_EQ(difference(event, there_and_back<schema::Event>(event)), "")
          << "kind " << kind.index() << ", seed " << seed;
    }
  });
}

TEST(RoundTrip, Batches) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    EventBatch batch;
    draw(batch, rng);
    batch.dead_blobs.clear();                                  // follow from the state
    for (BlobWrite& blob : batch.blobs) blob.bytes = nullptr;  // have rows of their own
    const auto back = records::decode_batch(records::encode_batch(batch));
    ASSERT_TRUE(back.has_value()) << back.error().text();
    ASSERT_EQ(difference(batch, *back), "") << "seed " << seed;
  }
}

TEST(RoundTrip, AnEventOfAKindThatThisVersionDoesNotKnowIsNamed) {
  const auto bytes_of = [](EventBody body) {
    EventBatch batch;
    batch.events.push_back(Event{{}, std::move(body)});
    return records::encode_batch(batch);
  };
  // The two differ in their kind alone.
  std::string bytes = bytes_of(JobSuspended{JobId(1)});
  const std::string other = bytes_of(JobResumed{JobId(1)});
  const auto kind =
      static_cast<std::size_t>(std::ranges::mismatch(bytes, other).in1 - bytes.begin());
  bytes[kind] = static_cast<char>(200);
  const auto back = records::decode_batch(bytes);
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().code, ErrorCode::kCorruption);
  EXPECT_NE(back.error().text().find("event of an unknown kind: written by a newer version"),
            std::string::npos);
  EXPECT_NE(back.error().text().find("200"), std::string::npos) << back.error().text();
}

/// A job as the state may hold it: an element has an index and its array's facts, both or neither.
Job job_of(Rng& rng) {
  Job job;
  draw(job, rng);
  job.spec_hash = 0;  // follow from the rest
  if (job.run != nullptr) job.run->steps_hash = 0;
  if (job.detail != nullptr && job.detail->empty()) job.detail = nullptr;
  if (!job.array_index || job.array != nullptr) job.array_facts = nullptr;
  if (job.array_index && job.array != nullptr)
    job.array_facts = std::make_unique<ArrayFacts>(job.array->facts);
  if (job.array_index && job.array_facts == nullptr)
    job.array_facts = std::make_unique<ArrayFacts>();
  return job;
}

Experiment experiment_of(Rng& rng) {
  Experiment experiment;
  draw(experiment, rng);
  experiment.spec_hash = 0;  // follow from the rest
  experiment.inputs = {SearchBegun{}, ReportInput{}, ExitInput{},
                       LimitInput{},  AgainInput{},  OperationsInput{}};
  for (SearchInput& input : experiment.inputs) draw(input, rng);
  return experiment;
}

TEST(RoundTrip, CheckpointSlices) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    records::SliceToWrite slice;
    records::Slice expected;
    draw(expected.cluster, rng);
    draw(expected.nodes, rng);
    draw(expected.blobs, rng);
    draw(expected.answers, rng);
    for (int i = 0; i < 3; ++i) expected.jobs.push_back(job_of(rng));
    for (int i = 0; i < 3; ++i) expected.experiments.push_back(experiment_of(rng));
    for (int i = 0; i < 3; ++i) draw(expected.trials.emplace_back(), rng);
    slice.cluster = expected.cluster;
    slice.nodes = expected.nodes;
    slice.blobs = expected.blobs;
    slice.answers = expected.answers;
    for (const Job& job : expected.jobs) slice.jobs.push_back(&job);
    for (const Experiment& experiment : expected.experiments)
      slice.experiments.push_back(&experiment);
    for (const Trial& trial : expected.trials) slice.trials.push_back(&trial);
    const auto back = records::decode_slice(records::encode_slice(slice));
    ASSERT_TRUE(back.has_value()) << back.error().text();
    ASSERT_EQ(difference(expected, *back), "") << "seed " << seed;
  }
}

// ---- wire ----

/// What a client cannot say is not sent.
JobSpecRef sayable(const JobSpecRef& spec) {
  if (spec == nullptr) return nullptr;
  auto said = std::make_shared<JobSpec>(*spec);
  said->user = UserId();
  said->group = GroupId();
  said->script = said->environment = BlobId();
  said->trial = TrialId();
  said->runs_before = 0;
  for (const JobText key : {JobText::kUserName, JobText::kGroupName, JobText::kAdminComment})
    said->text.set(key, "");
  return said;
}
StepSpecRef sayable(const StepSpecRef& spec) {
  if (spec == nullptr) return nullptr;
  auto said = std::make_shared<StepSpec>(*spec);
  said->environment = BlobId();
  return said;
}
void keep_sayable(Request& request) {
  if (auto* submit = get_if<SubmitJob>(&request)) {
    submit->spec = sayable(submit->spec);
    submit->first_step = sayable(submit->first_step);
  } else if (auto* step = get_if<CreateStep>(&request)) {
    step->spec = sayable(step->spec);
  } else if (auto* experiment = get_if<CreateExperiment>(&request)) {
    experiment->job = sayable(experiment->job);
  } else if (auto* store = get_if<StoreDocument>(&request)) {
    store->is_import = false;
    store->document.user = UserId();
    store->document.user_name.clear();
    store->document.create_time = store->document.change_time = TimePoint();
  }
}

TEST(RoundTrip, EveryKindOfRequestComesBackWithWhatAClientMaySay) {
  std::size_t sent = 0;
  for_each_alternative<Request>([&](const Request& kind) {
    if (visit(
            [](const auto& body) {
              return records::kIsAskedOverHttpAlone<std::decay_t<decltype(body)>>;
            },
            kind))
      return;
    ++sent;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(seed);
      Request value = kind;
      draw(value, rng);
      const Request back = there_and_back<schema::Request>(value);
      keep_sayable(value);
      ASSERT_EQ(difference(value, back), "") << "alternative " << kind.index() << ", seed " << seed;
    }
  });
  EXPECT_EQ(sent, Request::KindList::kSize - 6);
}

/// Every struct that a message of `type` may hold, by its name.
void collect(const capnp::Type& type, std::map<std::string, std::set<std::string>>& structs) {
  if (type.isList()) return collect(type.asList().getElementType(), structs);
  if (!type.isStruct()) return;
  const capnp::StructSchema schema = type.asStruct();
  const auto [entry, is_new] = structs.try_emplace(schema.getShortDisplayName().cStr());
  if (!is_new) return;
  std::set<std::string>& fields = entry->second;
  for (const auto field : schema.getFields()) fields.insert(field.getProto().getName().cStr());
  for (const auto field : schema.getFields()) collect(field.getType(), structs);
}
template <class Schema>
std::map<std::string, std::set<std::string>> structs_of() {
  std::map<std::string, std::set<std::string>> structs;
  collect(capnp::Type(capnp::Schema::from<Schema>()), structs);
  return structs;
}

/// What requests and the journal share are plain values that mean the same from anybody's mouth,
/// and every field of them was looked at: a new one, which a client could then send, fails here
/// until it has been.
TEST(WireTypes, NoRecordOfTheJournalIsAClientsToSend) {
  const std::map<std::string, std::set<std::string>> shared = {
      {"TextPack", {"mask", "ends", "buffer"}},
      {"StepId", {"job", "attempt", "step"}},
      {"CheckpointRetention", {"experimentBest", "trialBest", "trialLatest"}},
      {"JobSelector", {"job", "indices", "isElement", "hasStep", "step"}},
      {"KeyValue", {"key", "value"}},
  };
  const auto requests = structs_of<schema::Request>();
  const auto journalled = structs_of<schema::EventBatch>();
  EXPECT_TRUE(requests.contains("JobRequest") &&
              journalled.contains("JobSpec"));  // the walk goes all the way down
  for (const auto& [name, fields] : requests) {
    const auto allowed = shared.find(name);
    if (allowed != shared.end()) {
      EXPECT_EQ(fields, allowed->second) << name << ": may a client say this?";
    } else {
      EXPECT_FALSE(journalled.contains(name))
          << name << " is the journal's: give requests a struct of their own";
    }
  }
  const std::set<std::string> controllers = {
      "user",  "group", "uid",        "gid",        "userName", "script",    "environment",
      "trial", "run",   "runsBefore", "reportTime", "state",    "createTime"};
  for (const char* name : {"JobRequest", "StepRequest", "DocumentRequest"}) {
    for (const std::string& field : requests.at(name))
      EXPECT_FALSE(controllers.contains(field)) << name << "." << field;
  }
}

TEST(WireTypes, NamesOfUsersInAJobsTextsAreRefused) {
  capnp::MallocMessageBuilder message;
  auto text = message.initRoot<schema::Request>().initSubmitJob().initSpec().initText();
  text.setMask(std::uint64_t{1} << static_cast<unsigned>(JobText::kUserName));
  text.initEnds(1).set(0, 4);
  text.setBuffer(kj::StringPtr("root").asBytes());
  Request request;
  const Status read = records::with_message<schema::Request>(
      records::message_bytes(message),
      [&](schema::Request::Reader root) { records::read(root, request); });
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().text().find("the controller's to set"), std::string::npos)
      << read.error().text();
}

TEST(RoundTrip, EveryMessageToAgents) {
  expect_every_kind_round_trips<schema::AgentMessage, ToAgent>();
}
TEST(RoundTrip, EveryMessageFromAgents) {
  expect_every_kind_round_trips<schema::AgentMessage, FromAgent>();
}

TEST(RoundTrip, RepliesAndQueries) {
  expect_round_trips<schema::Reply, Reply>("Reply");
  expect_round_trips<schema::Query, Query>("Query");
  expect_round_trips<schema::JobFilter, JobFilter>("JobFilter");
}

TEST(RoundTrip, Views) {
  expect_round_trips<schema::JobView, JobView>("JobView");
  expect_round_trips<schema::StepView, StepView>("StepView");
  expect_round_trips<schema::NodeView, NodeView>("NodeView");
  expect_round_trips<schema::PartitionView, PartitionView>("PartitionView");
  expect_round_trips<schema::PingView, PingView>("PingView");
  expect_round_trips<schema::ExperimentView, ExperimentView>("ExperimentView");
  expect_round_trips<schema::TrialView, TrialView>("TrialView");
  expect_round_trips<schema::LogQuery, LogQuery>("LogQuery");
  expect_round_trips<schema::LogPage, LogPage>("LogPage");
}

TEST(RoundTrip, Pages) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    Page page;
    draw(page, rng);
    const auto back = records::decode_page(records::encode_page(page));
    ASSERT_TRUE(back.has_value()) << back.error().text();
    ASSERT_EQ(difference(page, *back), "") << "seed " << seed;
  }
}

TEST(RoundTrip, AMessageForTheOtherDirectionIsRefused) {
  EXPECT_EQ(records::decode_from_agent(records::encode_message(ToAgent(ForgetJob{JobId(1), 0})))
                .error()
                .code,
            ErrorCode::kCorruption);
  EXPECT_EQ(records::decode_to_agent(records::encode_message(FromAgent(Heartbeat{}))).error().code,
            ErrorCode::kCorruption);
}

// ---- hostile bytes ----

/// Cuts, overwrites and flips. Whatever comes out is decoded or refused.
std::string damaged(std::string bytes, Rng& rng) {
  if (rng.chance(0.2)) bytes.resize(rng.below(bytes.size() + 1));
  for (std::uint64_t i = rng.below(6); i > 0 && !bytes.empty(); --i) {
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.chance(0.3) ? 0xff : rng.below(256));
  }
  return bytes;
}

/// A page of 32 bytes that says it has half a milliard jobs of no size each.
TEST(HostileBytes, AShortMessageIsNoLongList) {
  const std::uint64_t words[] = {0x0000000300000000, 0x0001000000000000, 0x0000000700000001,
                                 0x000000007ffffffc};
  const auto page =
      records::decode_page(std::string_view(reinterpret_cast<const char*>(words), sizeof words));
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, ErrorCode::kCorruption);
}

/// A request of a few words that names a million jobs.
TEST(HostileBytes, AListOfElementsWithoutASizeIsRefused) {
  capnp::MallocMessageBuilder message;
  capnp::AnyStruct::Builder(message.initRoot<schema::Request>().initControlJobs())
      .getPointerSection()[0]
      .initAsListOfAnyStruct(0, 0, 1'000'000);
  Request request;
  kj::Maybe<kj::Exception> failure = kj::runCatchingExceptions(
      [&] { records::read(message.getRoot<schema::Request>().asReader(), request); });
  KJ_IF_MAYBE (exception, failure) {
    EXPECT_NE(std::string(exception->getDescription().cStr()).find("without a size"),
              std::string::npos);
    return;
  }
  FAIL() << get<ControlJobs>(request).jobs.size() << " jobs were read";
}

TEST(HostileBytes, AreDecodedOrRefusedAndNeverMore) {
  std::uint64_t refused = 0;
  const auto look = [&](const auto& result) {
    if (result.has_value()) return;
    ++refused;
    ASSERT_EQ(result.error().code, ErrorCode::kCorruption);
    for (const std::string told : {"stack", "0x", ".c++", "@"})  // where this process's code lies
      ASSERT_EQ(result.error().text().find(told), std::string::npos) << result.error().text();
  };
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    EventBatch batch;
    batch.events.push_back(Event{{}, JobSubmitted{}});
    draw(batch, rng);
    look(records::decode_batch(damaged(records::encode_batch(batch), rng)));
    Page page;
    draw(page, rng);
    look(records::decode_page(damaged(records::encode_page(page), rng)));
    for (JobView& job : page.jobs) {
      if (job.spec == nullptr) job.spec = std::make_shared<const JobSpec>();
    }
    look(records::decode_page(damaged(records::encode_page(page, QueryDetail::kRow), rng)));
    ToAgent order = LaunchStep{};
    draw(order, rng);
    look(records::decode_to_agent(damaged(records::encode_message(order), rng)));
    FromAgent report = RegisterNode{};
    draw(report, rng);
    look(records::decode_from_agent(damaged(records::encode_message(report), rng)));
    records::SliceToWrite slice;
    const Job job = job_of(rng);
    slice.jobs = {&job};
    look(records::decode_slice(damaged(records::encode_slice(slice), rng)));
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 1'000U);
}

}  // namespace
}  // namespace muster
