// Bytes that nobody wrote are decoded or refused, and nothing worse.
#include <capnp/any.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "records/batch_codec.h"
#include "records/bytes.h"
#include "records/checkpoint_codec.h"
#include "records/page_codec.h"
#include "records/round_trip.h"
#include "records/wire_records.h"

namespace muster {
namespace {

using testing::draw;
using testing::job_of;

// ---- hostile bytes ----

/// Cuts, overwrites and flips. Whatever comes out is decoded or refused.
std::string damaged(std::string bytes, Rng& rng) {
  if (rng.chance(0.2)) bytes.resize(rng.below(bytes.size() + 1));
  for (std::uint64_t i = rng.below(6); i > 0 && !bytes.empty(); --i) {
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.chance(0.3) ? 0xff : rng.below(256));
  }
  return bytes;
}

/// A page of 32 bytes that says it has half a milliard jobs of no size each.
TEST(HostileBytes, AShortMessageIsNoLongList) {
  const std::uint64_t words[] = {0x0000000300000000, 0x0001000000000000, 0x0000000700000001,
                                 0x000000007ffffffc};
  const auto page =
      records::decode_page(std::string_view(reinterpret_cast<const char*>(words), sizeof words));
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, ErrorCode::kCorruption);
}

/// A request of a few words that names a million jobs.
TEST(HostileBytes, AListOfElementsWithoutASizeIsRefused) {
  capnp::MallocMessageBuilder message;
  capnp::AnyStruct::Builder(message.initRoot<schema::Request>().initControlJobs())
      .getPointerSection()[0]
      .initAsListOfAnyStruct(0, 0, 1'000'000);
  Request request;
  kj::Maybe<kj::Exception> failure = kj::runCatchingExceptions(
      [&] { records::read(message.getRoot<schema::Request>().asReader(), request); });
  KJ_IF_MAYBE (exception, failure) {
    EXPECT_NE(std::string(exception->getDescription().cStr()).find("without a size"),
              std::string::npos);
    return;
  }
  FAIL() << get<ControlJobs>(request).jobs.size() << " jobs were read";
}

TEST(HostileBytes, AreDecodedOrRefusedAndNeverMore) {
  std::uint64_t refused = 0;
  const auto look = [&](const auto& result) {
    if (result.has_value()) return;
    ++refused;
    ASSERT_EQ(result.error().code, ErrorCode::kCorruption);
    for (const std::string told : {"stack", "0x", ".c++"})  // where this process's code lies
      ASSERT_EQ(result.error().text().find(told), std::string::npos) << result.error().text();
  };
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    EventBatch batch;
    batch.events.push_back(Event{{}, JobSubmitted{}});
    draw(batch, rng);
    look(records::decode_batch(damaged(records::encode_batch(batch), rng)));
    Page page;
    draw(page, rng);
    look(records::decode_page(damaged(records::encode_page(page), rng)));
    for (JobView& job : page.jobs) {
      if (job.spec == nullptr) job.spec = std::make_shared<const JobSpec>();
    }
    look(records::decode_page(damaged(records::encode_page(page, QueryDetail::kRow), rng)));
    ToAgent order = LaunchStep{};
    draw(order, rng);
    look(records::decode_to_agent(damaged(records::encode_message(order), rng)));
    FromAgent report = RegisterNode{};
    draw(report, rng);
    look(records::decode_from_agent(damaged(records::encode_message(report), rng)));
    records::SliceToWrite slice;
    const Job job = job_of(rng);
    slice.jobs = {&job};
    look(records::decode_slice(damaged(records::encode_slice(slice), rng)));
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 1'000U);
}

}  // namespace
}  // namespace muster
