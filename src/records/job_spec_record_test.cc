// A job's request is recorded with it; records from before it was are read by their texts.
#include <gtest/gtest.h>

#include "records/model_records.h"
#include "records/round_trip.h"
#include "slurm/request_text.h"

namespace muster {
namespace {

JobSpec asking_spec() {
  JobSpec spec;
  spec.text.set(JobText::kNodeList, "n[1-2]");
  spec.text.set(JobText::kFeatures, "fast");
  EXPECT_TRUE(parse_request(spec).has_value());
  return spec;
}

TEST(JobSpecRecord, TheParsedRequestIsWhatCounts) {
  JobSpec spec = asking_spec();
  spec.request.edit()->required_nodes = {"n7"};  // as a parser of another version may have read it
  capnp::MallocMessageBuilder message;
  records::write(message.initRoot<schema::JobSpec>(), spec);
  JobSpec back;
  records::read(message.getRoot<schema::JobSpec>().asReader(), back);
  EXPECT_EQ(back, spec);
}

TEST(JobSpecRecord, OneFromBeforeRequestsWereRecordedIsReadByItsTexts) {
  const JobSpec spec = asking_spec();
  capnp::MallocMessageBuilder message;
  auto record = message.initRoot<schema::JobSpec>();
  records::write(record, spec);
  ASSERT_TRUE(record.hasParsed());
  record.disownParsed();
  JobSpec back;
  records::read(record.asReader(), back);
  EXPECT_EQ(back, spec);
}

TEST(JobSpecRecord, AJobThatAsksForNothingByTextHasNoParsedRequest) {
  JobSpec spec;
  spec.text.set(JobText::kName, "plain");
  capnp::MallocMessageBuilder message;
  auto record = message.initRoot<schema::JobSpec>();
  records::write(record, spec);
  EXPECT_FALSE(record.hasParsed());
}

}  // namespace
}  // namespace muster
