// Long lists on their way through the gateway: who waits for whom, and what is held for a client
// that does not read.
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <memory>

#include "admission/testing.h"
#include "gateway/testing.h"
#include "records/page_codec.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kBob;

constexpr int kJobs = 3000;

/// A gateway over a queue of many jobs. History has none; it is asked when the test says so.
class Hall final : public testing::SilentPort {
 public:
  Hall() : io(kj::setupAsyncIo()), gateway(*this, io.provider->getTimer(), replica) {
    for (int i = 0; i < kJobs; ++i) log.submit(testing::spec_of("job"));
    for (const EventBatchRef& batch : log.batches()) gateway.on_update({batch, {}});
  }
  ~Hall() noexcept override = default;
  kj::Promise<Result<HistorySlice>> history(UserId, HistoryListing listing) override {
    ++asked;
    std::vector<std::string> pages = next_pages(listing, nullptr).value();
    return Result<HistorySlice>(HistorySlice{std::move(listing), std::move(pages)});
  }
  static Query list_of(QueryKind kind) {
    Query query;
    query.kind = kind;
    query.since = TimePoint::from_microseconds(1);
    query.until = TimePoint::never();
    return query;
  }

  kj::AsyncIoContext io;
  testing::Log log;
  QueryReplica replica{"host", "test"};
  Gateway gateway;
  int asked = 0;
};

/// A client that takes pages as the test lets it.
struct Reader {
  SendPage sink() {
    return [this](const std::string& bytes) -> kj::Promise<void> {
      jobs += records::decode_page(bytes).value().jobs.size();
      ++pages;
      if (room > 0) {
        --room;
        return kj::READY_NOW;
      }
      auto paf = kj::newPromiseAndFulfiller<void>();
      full = kj::mv(paf.fulfiller);
      return kj::mv(paf.promise);
    };
  }
  std::size_t jobs = 0;
  int pages = 0;
  int room = 1'000'000;
  kj::Own<kj::PromiseFulfiller<void>> full;
};

TEST(ListCalls, AnAnswerIsWhole) {
  Hall hall;
  for (const QueryKind kind : {QueryKind::kJobs, QueryKind::kHistory}) {
    Reader reader;
    EXPECT_FALSE(
        hall.gateway.query(kAlice, Hall::list_of(kind), reader.sink()).wait(hall.io.waitScope));
    EXPECT_EQ(reader.jobs, std::size_t{kJobs});
    EXPECT_GE(reader.pages, kJobs / 300);
  }
}

TEST(ListCalls, NothingIsAPageToo) {
  Hall hall;
  for (const QueryKind kind : {QueryKind::kJobs, QueryKind::kHistory, QueryKind::kSteps}) {
    Query query = Hall::list_of(kind);
    query.filter.uids = {77};
    Reader reader;
    EXPECT_FALSE(hall.gateway.query(kAlice, query, reader.sink()).wait(hall.io.waitScope));
    EXPECT_EQ(reader.jobs, 0U);
    EXPECT_EQ(reader.pages, 1);
  }
}

TEST(ListCalls, OthersAreServedBetweenSlices) {
  for (const QueryKind kind : {QueryKind::kJobs, QueryKind::kHistory}) {
    Hall hall;
    Reader reader;
    auto answer = hall.gateway.query(kAlice, Hall::list_of(kind), reader.sink());
    // What comes from outside has its turn after the first portion, as a submission would.
    hall.io.provider->getTimer().afterDelay(0 * kj::NANOSECONDS).wait(hall.io.waitScope);
    EXPECT_LT(reader.jobs, std::size_t{kJobs} / 2);
    answer.wait(hall.io.waitScope);
    EXPECT_EQ(reader.jobs, std::size_t{kJobs});
  }
}

TEST(ListCalls, WhoStopsReadingHoldsOnePageAndNoWorkIsDoneForHim) {
  for (const QueryKind kind : {QueryKind::kJobs, QueryKind::kHistory}) {
    Hall hall;
    Reader reader;
    reader.room = 1;
    auto answer = hall.gateway.query(kAlice, Hall::list_of(kind), reader.sink());
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(answer.poll(hall.io.waitScope));
    EXPECT_EQ(reader.pages, 2);
    const int asked = hall.asked;
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(answer.poll(hall.io.waitScope));
    EXPECT_EQ(hall.asked, asked);
    // Others are not kept by it.
    Reader other;
    EXPECT_FALSE(
        hall.gateway.query(kBob, Hall::list_of(kind), other.sink()).wait(hall.io.waitScope));
    EXPECT_EQ(other.jobs, std::size_t{kJobs});
    // It goes on where it stood.
    reader.room = 1'000'000;
    reader.full->fulfill();
    EXPECT_FALSE(answer.wait(hall.io.waitScope));
    EXPECT_EQ(reader.jobs, std::size_t{kJobs});
  }
}

TEST(ListCalls, WhoLeavesFreesAllOfIt) {
  for (const QueryKind kind : {QueryKind::kJobs, QueryKind::kHistory}) {
    Hall hall;
    auto reader = kj::heap<Reader>();
    reader->room = 1;
    std::weak_ptr<int> held;
    {
      auto witness = std::make_shared<int>(0);
      held = witness;
      SendPage sink = [witness, send = reader->sink()](const std::string& bytes) {
        return send(bytes);
      };
      witness.reset();
      auto answer = hall.gateway.query(kAlice, Hall::list_of(kind), std::move(sink));
      for (int i = 0; i < 20; ++i) EXPECT_FALSE(answer.poll(hall.io.waitScope));
      EXPECT_FALSE(held.expired());
    }
    EXPECT_TRUE(held.expired());
    reader = nullptr;
    Reader other;
    EXPECT_FALSE(
        hall.gateway.query(kBob, Hall::list_of(kind), other.sink()).wait(hall.io.waitScope));
    EXPECT_EQ(other.jobs, std::size_t{kJobs});
  }
}

TEST(ListCalls, WhyAsksForTheFirstThatWait) {
  Hall hall;
  Query query = Hall::list_of(QueryKind::kJobs);
  query.detail = QueryDetail::kWhy;
  Reader reader;
  EXPECT_FALSE(hall.gateway.query(kAlice, query, reader.sink()).wait(hall.io.waitScope));
  EXPECT_EQ(reader.jobs, std::size_t{kJobs});
  query.filter.jobs.resize(1);
  query.filter.jobs.front().job = JobId(kJobs + 10);
  const auto error = hall.gateway.query(kAlice, query, reader.sink()).wait(hall.io.waitScope);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "Invalid job id specified");
}

}  // namespace
}  // namespace muster
