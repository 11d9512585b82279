// The state's hash sees every member of every record: each is changed alone, and the hash must
// move.
#include "state/state_hash.h"

#include <gtest/gtest.h>

#include "records/testing.h"
#include "state/answer_table.h"
#include "state/testing.h"
#include "state/value_hash.h"

namespace muster {

namespace testing {
template <>
inline constexpr bool kIsRequired<JobSpec> = true;
template <>
inline constexpr bool kIsRequired<StepSpec> = true;
template <>
inline constexpr bool kIsRequired<StepLayout> = true;
template <>
inline constexpr bool kIsRequired<Allocation> = true;
template <>
inline constexpr bool kIsRequired<ExperimentSpec> = true;
template <>
inline constexpr bool kIsRequired<JobRun> = true;
}  // namespace testing

namespace {

using testing::draw;

/// Draws until the value is another one.
template <class T>
void change(T& value, Rng& rng) {
  for (int tries = 0; tries < 1000; ++tries) {
    T other{};
    draw(other, rng);
    if (value_hash(other) == value_hash(value)) continue;
    value = std::move(other);
    return;
  }
  FAIL() << "cannot be drawn differently";
}

/// Changes each member of a drawn value alone. `hash` is what must see it; `skipped` members are
/// derived.
template <class T, class Hash>
void expect_each_member_seen(const char* name, Hash&& hash, std::set<std::size_t> skipped = {}) {
  constexpr std::size_t kMembers = static_cast<std::size_t>(member_count<T>());
  for (std::size_t member = 0; member < kMembers; ++member) {
    if (skipped.contains(member)) continue;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Rng rng(seed);
      T value{};
      draw(value, rng);
      const std::uint64_t before = hash(value);
      std::size_t number = 0;
      with_members(value, [&](auto&... members) {
        ((number++ == member ? change(members, rng) : void()), ...);
      });
      EXPECT_NE(hash(value), before) << name << ", member " << member << ", seed " << seed;
    }
  }
}
template <class T>
void expect_each_member_seen(const char* name, std::set<std::size_t> skipped = {}) {
  expect_each_member_seen<T>(
      name, [](const T& value) { return hash_of(value); }, std::move(skipped));
}

TEST(StateHash, SeesEachMemberOfEachRecord) {
  expect_each_member_seen<JobSpec>("JobSpec");
  expect_each_member_seen<StepState>("StepState");
  expect_each_member_seen<ExperimentSpec>("ExperimentSpec");
  expect_each_member_seen<Checkpoint>("Checkpoint");
  expect_each_member_seen<Collection>("Collection");
  expect_each_member_seen<Document>("Document");
  expect_each_member_seen<NodeConfig>("NodeConfig");
  expect_each_member_seen<NodeStatus>("NodeStatus");
  expect_each_member_seen<ClusterSettings>("ClusterSettings");
  expect_each_member_seen<PartitionConfig>("PartitionConfig");
  const auto of_answer = [](const Answer& answer) { return hash_of(RequestId{1, 2}, answer); };
  expect_each_member_seen<Answer>("Answer", of_answer);
  EXPECT_NE(hash_of(RequestId{1, 2}, Answer()), hash_of(RequestId{1, 3}, Answer()));
}

/// The last member of these is the hash itself.
template <class T>
std::set<std::size_t> last_member() {
  return {static_cast<std::size_t>(member_count<T>()) - 1};
}

TEST(StateHash, SeesEachMemberOfJobsTrialsAndExperiments) {
  // `spec` (5 of a job, 1 of an experiment) is seen by its hash, a member, too; so are a run's
  // steps.
  auto job = last_member<Job>();
  job.insert(5);
  expect_each_member_seen<Job>("Job", job);
  auto experiment = last_member<Experiment>();
  experiment.insert(1);
  expect_each_member_seen<Experiment>("Experiment", experiment);
  expect_each_member_seen<Trial>("Trial", last_member<Trial>());
  const auto of_run = [](const JobRun& run) {
    Job job_of_run;
    job_of_run.run = std::make_unique<JobRun>(run);
    return hash_of(job_of_run);
  };
  expect_each_member_seen<JobRun>("JobRun", of_run, {3});
}

/// A state with one job that runs a step, changed by `change` before the last event.
template <class Change>
std::uint64_t hash_after(Change&& change) {
  auto config = testing::config_of(2);
  auto spec = testing::spec_of();
  auto step = std::make_shared<StepSpec>();
  ClusterState state;
  change(*config, *spec, *step, state);
  EventBatch batch;
  batch.seq = Seq(1);
  const auto add = [&](EventBody body) {
    batch.events.push_back({testing::at(1), std::move(body)});
  };
  add(EpochStarted{Epoch(1), "cluster"});
  add(ConfigApplied{config});
  JobSubmitted submitted;
  submitted.job = JobId(1);
  submitted.spec = spec;
  submitted.partitions = {PartitionIndex(0)};
  submitted.first_step = step;
  add(submitted);
  state.apply(batch);
  return state.hash();
}

TEST(StateHash, SeesSettingsPartitionsNodesAndFirstSteps) {
  const auto same = [](ClusterConfig&, JobSpec&, StepSpec&, ClusterState&) {};
  const std::uint64_t base = hash_after(same);
  EXPECT_EQ(hash_after(same), base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              config.settings.max_job_count += 1;
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              config.settings.kill_wait += Duration::seconds(1);
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              config.partitions[0].allow_accounts = {"a"};
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              std::swap(config.partitions[0], config.partitions[1]);
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              config.nodes[0].address = "10.0.0.1";
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig& config, JobSpec&, StepSpec&, ClusterState&) {
              config.nodes[0].gres[0].files = {"/dev/null"};
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig&, JobSpec& spec, StepSpec&, ClusterState&) {
              spec.text.set(JobText::kComment, "c");
            }),
            base);
  EXPECT_NE(hash_after([](ClusterConfig&, JobSpec&, StepSpec& step, ClusterState&) {
              step.text.set(StepText::kCommand, "rm");
            }),
            base);
}

TEST(StateHash, SeesWhatARequestWasAnswered) {
  const auto hash_with = [](JobId job) {
    testing::Log log;
    Reply reply;
    reply.job = job;
    log.add({RequestAnswered{RequestId{7, 7}, UserId(1), {reply}}});
    return log.state().hash();
  };
  EXPECT_NE(hash_with(JobId(1)), hash_with(JobId(999)));
}

TEST(ValueHash, AMemberThatIsWhatItAlwaysWasAddsNothing) {
  struct Old {
    int a = 1;
    std::string b;
  };
  struct New {
    int a = 1;
    std::string b;
    std::optional<int> c;
    int d = 5;
  };
  EXPECT_EQ(value_hash(Old{3, "x"}), value_hash(New{3, "x", std::nullopt, 5}));
  EXPECT_NE(value_hash(Old{3, "x"}), value_hash(New{3, "x", std::nullopt, 6}));
  EXPECT_NE(value_hash(Old{3, "x"}), value_hash(New{3, "x", 0, 5}));
}

}  // namespace
}  // namespace muster
