// What clients may say comes back as they said it, and nothing else can be said.
#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "records/event_records.h"
#include "records/round_trip.h"
#include "records/wire_records.h"

namespace muster {
namespace {

using testing::difference;
using testing::draw;
using testing::for_each_alternative;
using testing::kSeeds;
using testing::there_and_back;

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
  said->asked = MemoryTerms();
  for (const JobText key : {JobText::kUserName, JobText::kGroupName, JobText::kAdminComment})
    said->text.set(key, "");
  said->request.edit()->gres_per_node.clear();  // what texts say is read where the job comes in
  said->request.edit()->gres_per_job.clear();
  said->request.edit()->gres_per_task.clear();
  said->request.edit()->features = {};
  said->request.edit()->preferred = {};
  said->request.edit()->required_nodes.clear();
  said->request.edit()->excluded_nodes.clear();
  return said;
}
StepSpecRef sayable(const StepSpecRef& spec) {
  if (spec == nullptr) return nullptr;
  auto said = std::make_shared<StepSpec>(*spec);
  said->environment = BlobId();
  return said;
}
void restrict_to_sayable(Request& request) {
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
      restrict_to_sayable(value);
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

}  // namespace
}  // namespace muster
