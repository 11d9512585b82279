// Helpers to check that a value comes back from its record as it was. For tests of records/.
#pragma once

#include <gtest/gtest.h>

#include "model/agent_message.h"
#include "model/job.h"
#include "records/bytes.h"
#include "records/event_records.h"
#include "records/model_records.h"
#include "records/testing.h"
#include "records/wire_records.h"

namespace muster {

template <>
inline constexpr bool testing::kIsRequired<Allocation> = true;
template <>
inline constexpr bool testing::kIsRequired<StepLayout> = true;

namespace testing {

// What much of model/ holds is compiled once: in testing.cc, what is journalled or sent in the test
// of that.
extern template void draw(JobSpec& value, Rng& rng);
extern template void draw(StepSpec& value, Rng& rng);
extern template void draw(ExperimentSpec& value, Rng& rng);
extern template void draw(Job& value, Rng& rng);
extern template void draw(Experiment& value, Rng& rng);
extern template void draw(ClusterConfig& value, Rng& rng);
extern template void draw(EventBatch& value, Rng& rng);
extern template void draw(Page& value, Rng& rng);
extern template void draw(ToAgent& value, Rng& rng);
extern template void draw(FromAgent& value, Rng& rng);
extern template std::string difference(const JobSpec& a, const JobSpec& b);
extern template std::string difference(const StepSpec& a, const StepSpec& b);
extern template std::string difference(const ExperimentSpec& a, const ExperimentSpec& b);
extern template std::string difference(const Job& a, const Job& b);
extern template std::string difference(const Experiment& a, const Experiment& b);
extern template std::string difference(const ClusterConfig& a, const ClusterConfig& b);

inline constexpr std::uint64_t kSeeds = 60;

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

/// Draws a job as the state may hold it: an element has an index and its array's facts, both or
/// neither.
inline Job job_of(Rng& rng) {
  Job job;
  draw(job, rng);
  job.spec_hash = 0;  // follow from the rest
  if (job.run != nullptr) job.run->steps_hash = 0;
  if (job.detail != nullptr && job.detail->empty()) job.detail = nullptr;
  if (!job.array_index || job.array != nullptr) job.array_range = nullptr;
  if (job.array_index && job.array != nullptr)
    job.array_range = std::make_unique<ArrayRange>(job.array->range);
  if (job.array_index && job.array_range == nullptr)
    job.array_range = std::make_unique<ArrayRange>();
  return job;
}

}  // namespace testing
}  // namespace muster
