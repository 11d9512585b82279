// What the texts of a job ask for, as the planner compares it.
#include "slurm/request_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(RequestText, AJobWithoutTextsAsksForNothingByThem) {
  JobSpec spec;
  spec.text.set(JobText::kName, "train");
  spec.text.set(JobText::kPartition, "gpu");
  EXPECT_FALSE(asks_by_text(spec));
  ASSERT_TRUE(parse_request(spec).has_value());
  EXPECT_EQ(*spec.request, ResourceRequest());
}

TEST(RequestText, EachTextIsReadIntoItsList) {
  JobSpec spec;
  spec.text.set(JobText::kGresPerNode, "gpu:h100:2,nic:1");
  spec.text.set(JobText::kGresPerJob, "gpu:8");
  spec.text.set(JobText::kGresPerTask, "gpu:1");
  spec.text.set(JobText::kFeatures, "fast&big|rare");
  spec.text.set(JobText::kPrefer, "fast");
  spec.text.set(JobText::kNodeList, "n[10,2]");
  spec.text.set(JobText::kExcludeList, "m1,m1");
  EXPECT_TRUE(asks_by_text(spec));
  ASSERT_TRUE(parse_request(spec).has_value());
  const ResourceRequest& request = *spec.request;
  EXPECT_EQ(request.gres_per_node, (std::vector<GresAmount>{{"gpu", "h100", 2}, {"nic", "", 1}}));
  EXPECT_EQ(request.gres_per_job, (std::vector<GresAmount>{{"gpu", "", 8}}));
  EXPECT_EQ(request.gres_per_task, (std::vector<GresAmount>{{"gpu", "", 1}}));
  EXPECT_EQ(request.features.alternatives,
            (std::vector<std::vector<std::string>>{{"big", "fast"}, {"rare"}}));
  EXPECT_EQ(request.preferred.alternatives, (std::vector<std::vector<std::string>>{{"fast"}}));
  EXPECT_EQ(request.required_nodes, (std::vector<std::string>{"n10", "n2"}));
  EXPECT_EQ(request.excluded_nodes, (std::vector<std::string>{"m1"}));
}

TEST(RequestText, OfOneTextTheOthersAreNotRead) {
  NodeListMemo memo;
  for (int job = 0; job < 2; ++job) {
    JobSpec spec;
    spec.text.set(JobText::kNodeList, "n[");  // as another parser may have let it pass
    spec.text.set(JobText::kExcludeList, "m[2,1,2]");
    ASSERT_TRUE(parse_request_text(spec, JobText::kExcludeList, memo).has_value());
    EXPECT_EQ(spec.request->excluded_nodes, (std::vector<std::string>{"m1", "m2"}));
    EXPECT_TRUE(spec.request->required_nodes.empty());
    ASSERT_TRUE(parse_request_text(spec, JobText::kComment, memo).has_value());
    ASSERT_FALSE(parse_request_text(spec, JobText::kNodeList, memo).has_value());
    spec.text.set(JobText::kExcludeList, "m3");
    ASSERT_TRUE(parse_request_text(spec, JobText::kExcludeList, memo).has_value());
    EXPECT_EQ(spec.request->excluded_nodes, std::vector<std::string>{"m3"});
  }
}

TEST(RequestText, NumbersStayAsTheyAre) {
  JobSpec spec;
  spec.request.edit()->task_count = 7;
  spec.request.edit()->is_contiguous = true;
  spec.text.set(JobText::kFeatures, "fast");
  ASSERT_TRUE(parse_request(spec).has_value());
  EXPECT_EQ(spec.request->task_count, 7U);
  EXPECT_TRUE(spec.request->is_contiguous);
}

TEST(RequestText, ATextTakenAwayTakesItsListAlong) {
  JobSpec spec;
  spec.text.set(JobText::kNodeList, "n1");
  ASSERT_TRUE(parse_request(spec).has_value());
  spec.text.set(JobText::kNodeList, "");
  ASSERT_TRUE(parse_request(spec).has_value());
  EXPECT_TRUE(spec.request->required_nodes.empty());
}

TEST(RequestText, WhatCannotBeReadLeavesTheRequestAsItWas) {
  const std::pair<JobText, const char*> broken[] = {
      {JobText::kNodeList, "n[1-"},           {JobText::kExcludeList, "n[2-1]"},
      {JobText::kFeatures, "fast&&big"},      {JobText::kPrefer, "&"},
      {JobText::kGresPerNode, "gpu:x:y:z:1"}, {JobText::kGresPerJob, ":"},
      {JobText::kGresPerTask, "gpu:-1"}};
  for (const auto& [key, text] : broken) {
    JobSpec spec;
    spec.text.set(JobText::kFeatures, "before");
    ASSERT_TRUE(parse_request(spec).has_value());
    const ResourceRequest before = *spec.request;
    spec.text.set(key, text);
    const Status parsed = parse_request(spec);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_EQ(*spec.request, before) << text;
  }
}

}  // namespace
}  // namespace muster
