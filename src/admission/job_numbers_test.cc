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

/// Sets each number of a specification alone, and returns the places of those that are let in. A
/// new number shows up here.
template <class Spec>
std::set<std::size_t> let_in() {
  std::set<std::size_t> open;
  Spec spec;
  auto members = members_of(spec);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto try_member = [&]<class Member>(Member& member, std::size_t place) {
      const Member before = member;
      for (const auto& extreme : {largest<Member>(), smallest<Member>()}) {
        if (!extreme) continue;
        member = *extreme;
        if (check_numbers(spec).has_value()) open.insert(place);
      }
      member = before;
    };
    (try_member(std::get<i>(members), i), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(members)>>());
  return open;
}
template <class Spec>
std::size_t place_of(const Spec& spec, const void* wanted) {
  std::size_t place = 0;
  std::size_t found = SIZE_MAX;
  std::apply(
      [&](const auto&... member) {
        ((static_cast<const void*>(&member) == wanted ? found = place : place, ++place), ...);
      },
      members_of(spec));
  return found;
}

TEST(JobNumbers, NoNumberOfAJobIsWithoutABound) {
  const JobSpec spec;
  // Compared alone, or looked at by nobody: the controller never reckons with them.
  std::set<std::size_t> harmless;
  for (const void* one :
       {static_cast<const void*>(&spec.given), static_cast<const void*>(&spec.priority),
        static_cast<const void*>(&spec.submit_session),
        static_cast<const void*>(&spec.tmp_disk_mib), static_cast<const void*>(&spec.core_spec),
        static_cast<const void*>(&spec.oom_kill_step),
        static_cast<const void*>(&spec.runs_before)}) {
    harmless.insert(place_of(spec, one));
  }
  EXPECT_EQ(let_in<JobSpec>(), harmless);
}

TEST(JobNumbers, NoNumberOfAStepIsWithoutABound) {
  const StepSpec spec;
  std::set<std::size_t> harmless;
  for (const void* one : {static_cast<const void*>(&spec.relative_node),
                          static_cast<const void*>(&spec.kill_on_bad_exit),
                          static_cast<const void*>(&spec.wait_seconds)}) {
    harmless.insert(place_of(spec, one));
  }
  EXPECT_EQ(let_in<StepSpec>(), harmless);
}

TEST(JobNumbers, WhatSlurmAllowsIsAllowed) {
  JobSpec spec;
  spec.time_limit = Duration::infinite();
  spec.task_count = kCountMax;
  spec.memory_mib = kMemoryMibMax;
  spec.nice = -2'147'483'645;
  spec.begin_time = kTimeMax;
  spec.signal_seconds = 65535;
  EXPECT_TRUE(check_numbers(spec).has_value());
  spec.time_limit = kLimitMax;
  EXPECT_TRUE(check_numbers(spec).has_value());
  spec.task_count = kCountMax + 1;
  const Error error = check_numbers(spec).error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.text(), "ntasks: 16777216 is too large: give at most 16777215");
  ResourceRequest need;
  need.gres_per_node.push_back({"gpu", "", kCountMax + 1});
  EXPECT_FALSE(check_numbers(need).has_value());
}

}  // namespace
}  // namespace muster::admission
