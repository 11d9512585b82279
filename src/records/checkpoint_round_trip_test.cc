// As event_round_trip_test.cc, of the slices of a checkpoint.
#include <gtest/gtest.h>

#include "model/job.h"
#include "records/checkpoint_codec.h"
#include "records/round_trip.h"

namespace muster {
namespace {

using testing::difference;
using testing::draw;
using testing::job_of;
using testing::kSeeds;

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

}  // namespace
}  // namespace muster
