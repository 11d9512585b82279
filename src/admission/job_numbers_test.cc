#include "admission/job_numbers.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <type_traits>

#include "base/members.h"

namespace muster::admission {
namespace {

/// The most that a number's type can say. Nullopt: it is no number.
template <class T>
std::optional<T> largest() {
  if constexpr (std::is_same_v<T, Duration>)
    return Duration::microseconds(std::numeric_limits<std::int64_t>::max() - 1);
  else if constexpr (std::is_same_v<T, TimePoint>)
    return TimePoint::from_microseconds(std::numeric_limits<std::int64_t>::max() - 1);
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return std::numeric_limits<T>::max();
  else
    return std::nullopt;
}
template <class T>
std::optional<T> smallest() {
  if constexpr (std::is_same_v<T, Duration>)
    return Duration::microseconds(-1);
  else if constexpr (std::is_same_v<T, TimePoint>)
    return TimePoint::from_microseconds(-1);
  else if constexpr (std::is_signed_v<T>)
    return std::numeric_limits<T>::min();
  else
    return std::nullopt;
}

/// How far behind the specification's beginning a member lies: what tells it from the others. A
/// job's request lies elsewhere and counts as if it stood far behind.
template <class Spec>
std::ptrdiff_t offset_in(const Spec& spec, const void* member) {
  return static_cast<const char*>(member) - reinterpret_cast<const char*>(&spec);
}
std::ptrdiff_t offset_in(const ResourceRequest& request, const void* member) {
  constexpr std::ptrdiff_t kFarBehind = 10'000;
  return kFarBehind + static_cast<const char*>(member) - reinterpret_cast<const char*>(&request);
}

/// Calls `use(member, offset)` for every member of a specification, those of a job's request among
/// them: what is set there is seen in the specification.
template <class Value, class Use>
void for_each_member(Value& value, Use&& use) {
  with_members(value, [&](auto&... members) {
    const auto look = [&]<class Member>(Member& member) {
      if constexpr (std::is_same_v<Member, Shared<ResourceRequest>>) {
        const auto request = std::make_shared<ResourceRequest>(*member);
        member = Shared<ResourceRequest>::of(request);
        for_each_member(*request, use);
      } else {
        use(member, offset_in(value, &member));
      }
    };
    (look(members), ...);
  });
}

/// Sets each number of a specification alone, and returns the offsets of those that are let in. A
/// new number shows up here.
template <class Spec>
std::set<std::ptrdiff_t> let_in() {
  std::set<std::ptrdiff_t> open;
  Spec spec;
  for_each_member(spec, [&]<class Member>(Member& member, std::ptrdiff_t offset) {
    const Member before = member;
    for (const auto& extreme : {largest<Member>(), smallest<Member>()}) {
      if (!extreme) continue;
      member = *extreme;
      if (check_numbers(spec).has_value()) open.insert(offset);
    }
    member = before;
  });
  return open;
}

TEST(JobNumbers, NoNumberOfAJobIsWithoutABound) {
  const JobSpec spec;
  // Compared alone, or looked at by nobody: the controller never reckons with them.
  std::set<std::ptrdiff_t> harmless;
  for (const void* one :
       {static_cast<const void*>(&spec.given), static_cast<const void*>(&spec.priority),
        static_cast<const void*>(&spec.submit_session), static_cast<const void*>(&spec.core_spec),
        static_cast<const void*>(&spec.oom_kill_step),
        static_cast<const void*>(&spec.runs_before)}) {
    harmless.insert(offset_in(spec, one));
  }
  harmless.insert(offset_in(*spec.request, &spec.request->tmp_disk_mib));
  EXPECT_EQ(let_in<JobSpec>(), harmless);
}

TEST(JobNumbers, NoNumberOfAStepIsWithoutABound) {
  const StepSpec spec;
  std::set<std::ptrdiff_t> harmless;
  for (const void* one : {static_cast<const void*>(&spec.relative_node),
                          static_cast<const void*>(&spec.kill_on_bad_exit),
                          static_cast<const void*>(&spec.wait_seconds)}) {
    harmless.insert(offset_in(spec, one));
  }
  EXPECT_EQ(let_in<StepSpec>(), harmless);
}

TEST(JobNumbers, WhatSlurmAllowsIsAllowed) {
  JobSpec spec;
  spec.time_limit = Duration::infinite();
  spec.request.edit()->task_count = kCountMax;
  spec.request.edit()->memory_mib = kMemoryMibMax;
  spec.nice = -2'147'483'645;
  spec.begin_time = kTimeMax;
  spec.signal_seconds = 65535;
  EXPECT_TRUE(check_numbers(spec).has_value());
  spec.time_limit = kLimitMax;
  EXPECT_TRUE(check_numbers(spec).has_value());
  spec.request.edit()->task_count = kCountMax + 1;
  const Error error = check_numbers(spec).error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.text(), "ntasks: 16777216 is too large: give at most 16777215");
  ResourceRequest need;
  need.gres_per_node.push_back({"gpu", "", kCountMax + 1});
  EXPECT_FALSE(check_numbers(need).has_value());
}

}  // namespace
}  // namespace muster::admission
