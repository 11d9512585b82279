// Whatever the size of what a user sends, and by whatever door: it is refused there with the way
// out, or it reaches its node.
#include "text/launch_size.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "gateway/prepare.h"
#include "platform/config/prepare_experiment.h"
#include "records/page_codec.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::Rig;
using testing::spec_of;

constexpr std::size_t kMiB = std::size_t{1} << 20;
const CallerNames kAliceNames{"alice", "staff"};

/// From a byte to 200 MB, with both sides of every bound.
std::vector<std::size_t> sizes() {
  return {1,
          4096,
          kMiB,
          kEnvironmentBytesMax,
          kEnvironmentBytesMax + 1,
          4 * kMiB + kMiB / 2,
          kCodeBytesMax,
          kCodeBytesMax + 1,
          kLaunchBytesMax,
          94'000'000,
          200'000'000};
}

Bytes bytes_of(std::size_t size) {
  return std::make_shared<const std::string>("#" + std::string(size - 1, 'x'));
}
/// Variables, each short enough for the kernel.
Bytes environment_bytes(std::size_t size) {
  std::string text;
  while (text.size() < size) {
    text += "V" + std::to_string(text.size()) + "=" + std::string(1000, 'x');
    text += '\0';
  }
  text.resize(size);
  return std::make_shared<const std::string>(std::move(text));
}

/// The launch that the request leads to on the only node; nullopt: it was refused, with the cause
/// and the way out.
std::optional<LaunchStep> launch_of(Request request, const ClusterSettings& settings) {
  LastBlob environments;
  auto prepared = prepare(std::move(request), kAlice, kAliceNames, settings, environments);
  if (!prepared.has_value()) {
    EXPECT_EQ(prepared.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(prepared.error().detail.empty()) << prepared.error().message;
    return std::nullopt;
  }
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  EXPECT_FALSE(rig.done(std::move(prepared).value()).error);
  // Blobs that the cache does not hold are read from the journal.
  for (std::size_t answered = 0; answered < rig.fetched.size(); ++answered) {
    for (const EventBatchRef& batch : rig.journal) {
      for (const BlobWrite& blob : batch->blobs) {
        if (blob.id == rig.fetched[answered]) rig.core.on_blob(blob.id, blob.bytes);
      }
    }
    rig.core.end_turn(rig.now);
    rig.flush();
  }
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 1U) << "it neither was refused nor reached its node";
  return rig.last_sent<LaunchStep>();
}

void expect_fits(const LaunchStep& launch) {
  EXPECT_LE(records::encode_message(ToAgent(launch)).size(), kLaunchBytesMax);
}

TEST(LaunchSize, ScriptsAndEnvironmentsOfEverySizeAreRefusedOrReachTheirNode) {
  ClusterSettings settings;
  settings.max_script_size = kCodeBytesMax;  // as much as the configuration allows
  for (const std::size_t script : sizes()) {
    for (const std::size_t environment : {std::size_t{1}, kEnvironmentBytesMax,
                                          kEnvironmentBytesMax + 1, std::size_t{200'000'000}}) {
      SCOPED_TRACE(::testing::Message() << "script " << script << ", environment " << environment);
      SubmitJob submit;
      submit.spec = spec_of();
      submit.script = bytes_of(script);
      submit.environment = environment_bytes(environment);
      const auto launch = launch_of(std::move(submit), settings);
      EXPECT_EQ(launch.has_value(), script <= kCodeBytesMax && environment <= kEnvironmentBytesMax);
      if (launch) expect_fits(*launch);
    }
  }
}

TEST(LaunchSize, TheUsualLimitOfScriptsIsTheClusters) {
  for (const std::size_t script : sizes()) {
    SubmitJob submit;
    submit.spec = spec_of();
    submit.script = bytes_of(script);
    EXPECT_EQ(launch_of(std::move(submit), {}).has_value(),
              script <= ClusterSettings().max_script_size)
        << script;
  }
}

TEST(LaunchSize, EnvironmentsOfStepsHaveTheSameBound) {
  for (const std::size_t size : sizes()) {
    CreateStep create;
    create.job = JobId(1);
    create.spec = std::make_shared<StepSpec>();
    create.environment = environment_bytes(size);
    LastBlob environments;
    EXPECT_EQ(prepare(create, kAlice, kAliceNames, {}, environments).has_value(),
              size <= kEnvironmentBytesMax)
        << size;
  }
}

TEST(LaunchSize, CodeOfExperimentsFitsAMessageTogetherWithItsEnvironment) {
  for (const std::size_t code : sizes()) {
    SCOPED_TRACE(code);
    CreateExperiment create;
    create.config =
        "name: sized\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, "
        "max_length: {batches: 1}}\n";
    create.job = spec_of();
    create.context = bytes_of(code);
    create.environment = environment_bytes(kEnvironmentBytesMax - 1024);
    LastBlob environments;
    const auto prepared = prepare_experiment(create, kAlice, kAliceNames, environments);
    EXPECT_EQ(prepared.has_value(), code <= kCodeBytesMax)
        << (prepared.has_value() ? "" : prepared.error().text());
    if (!prepared.has_value()) continue;
    LaunchStep launch;
    launch.script = prepared->script.bytes;
    launch.environment = prepared->environment.bytes;
    EXPECT_LE(records::encode_message(ToAgent(launch)).size() + kMiB, kLaunchBytesMax)
        << "room for all else is left";
  }
}

}  // namespace
}  // namespace muster
