#include "state/request_pool.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

ResourceRequest request_of(std::uint32_t cpus, std::uint32_t gpus) {
  ResourceRequest request;
  request.cpus_per_task = cpus;
  if (gpus != 0) request.gres_per_node = {{"gpu", "", gpus}};
  return request;
}

JobSpecRef spec_of(std::uint32_t cpus, std::string_view name) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, name);
  spec->request = request_of(cpus, 1);
  return spec;
}

TEST(RequestPool, EqualRequestsAreOneObject) {
  RequestPool pool;
  const auto first = pool.share(request_of(2, 1));
  EXPECT_EQ(pool.share(request_of(2, 1)), first);
  EXPECT_NE(pool.share(request_of(3, 1)), first);
  EXPECT_NE(pool.share(request_of(2, 0)), first);
  EXPECT_EQ(*first, request_of(2, 1));
}

/// The elements of an array have one specification, and have one afterwards.
TEST(RequestPool, WhatIsOneSpecificationStaysOne) {
  RequestPool pool;
  const JobSpecRef job = spec_of(2, "a job");
  const JobSpecRef array = spec_of(2, "an array");
  std::vector<JobSpecRef> specs = {job, array, array, array};
  RequestPool::Sharing sharing(pool);
  for (JobSpecRef& spec : specs) sharing.share(spec);
  EXPECT_TRUE(specs[1]->request.is_one_with(job->request));
  EXPECT_EQ(*specs[1], *array);
  EXPECT_EQ(specs[2], specs[1]);
  EXPECT_EQ(specs[3], specs[1]);
}

TEST(RequestPool, SpecificationsKeepAllElse) {
  RequestPool pool;
  const JobSpecRef first = spec_of(2, "a");
  const JobSpecRef second = spec_of(2, "b");
  const JobSpecRef third = spec_of(3, "c");
  JobSpecRef shared_first = first;
  JobSpecRef shared_second = second;
  JobSpecRef shared_third = third;
  RequestPool::Sharing sharing(pool);
  for (JobSpecRef* spec : {&shared_first, &shared_second, &shared_third}) sharing.share(*spec);
  EXPECT_EQ(shared_first, first) << "the first to come keeps its own";
  EXPECT_EQ(shared_third, third);
  EXPECT_NE(shared_second, second) << "specifications never change: it is a new one";
  EXPECT_EQ(*shared_second, *second);
  EXPECT_TRUE(shared_second->request.is_one_with(first->request));
  EXPECT_FALSE(second->request.is_one_with(first->request));
  const JobSpecRef before = shared_second;
  sharing.share(shared_second);
  EXPECT_EQ(shared_second, before) << "a second time changes nothing";
}

TEST(RequestPool, ARequestGoesWithTheLastWhoHasIt) {
  RequestPool pool;
  std::weak_ptr<const ResourceRequest> known = pool.share(request_of(2, 1));
  EXPECT_TRUE(known.expired());
}

TEST(RequestPool, DoesNotGrowWithRequestsThatHaveGone) {
  RequestPool pool;
  const auto kept = pool.share(request_of(1, 1));
  for (std::uint32_t cpus = 2; cpus < 10'000; ++cpus) pool.share(request_of(cpus, 1));
  EXPECT_LE(pool.size(), 128U);
  EXPECT_EQ(pool.share(request_of(1, 1)), kept);
}

}  // namespace
}  // namespace muster
