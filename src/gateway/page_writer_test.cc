#include "gateway/page_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "records/page_codec.h"

namespace muster {
namespace {

constexpr std::size_t kReaderMax = std::size_t{64} << 20;

JobView job_of(std::uint32_t id, std::size_t comment) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, "train");
  spec->text.set(JobText::kComment, std::string(comment, 'x'));
  JobView job;
  job.id = JobId(id);
  job.spec = std::move(spec);
  return job;
}

std::vector<JobView> read(const std::vector<std::string>& pages) {
  std::vector<JobView> jobs;
  for (const std::string& page : pages) {
    auto decoded = records::decode_page(page);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().text();
    if (decoded.has_value()) std::ranges::move(decoded->jobs, std::back_inserter(jobs));
  }
  return jobs;
}

TEST(PageWriter, PagesAreCutByTheirBytes) {
  PageWriter writer;
  for (std::uint32_t i = 1; i <= 500; ++i) writer.add(job_of(i, 100'000));
  const auto pages = std::move(writer).finish();
  for (const std::string& page : pages) EXPECT_LT(page.size(), 3U << 20);
  const auto jobs = read(pages);
  ASSERT_EQ(jobs.size(), 500U);
  for (std::uint32_t i = 0; i < 500; ++i) {
    EXPECT_EQ(jobs[i].id, JobId(i + 1));
    EXPECT_EQ(jobs[i].spec->get(JobText::kComment).size(), 100'000U);
  }
}

TEST(PageWriter, ShortRowsShareAPage) {
  PageWriter writer(QueryDetail::kRow);
  for (std::uint32_t i = 1; i <= 2'000; ++i) writer.add(job_of(i, 0));
  const auto pages = std::move(writer).finish();
  EXPECT_LE(pages.size(), 2U);
  EXPECT_EQ(read(pages).size(), 2'000U);
}

TEST(PageWriter, ARowLongerThanAnyReaderTakesIsShownCut) {
  PageWriter writer;
  writer.add(job_of(1, 10));
  for (std::uint32_t id = 2; id <= 5; ++id) writer.add(job_of(id, 40'000'000));
  writer.add(job_of(6, 10));
  const auto pages = std::move(writer).finish();
  for (const std::string& page : pages) EXPECT_LT(page.size(), kReaderMax);
  const auto jobs = read(pages);
  ASSERT_EQ(jobs.size(), 6U);
  EXPECT_TRUE(jobs[1].spec->get(JobText::kComment).ends_with("x...(cut)"));
  EXPECT_LT(jobs[1].spec->get(JobText::kComment).size(), 20'000U);
  EXPECT_EQ(jobs[5].spec->get(JobText::kComment).size(), 10U);
}

TEST(PageWriter, ACutTextEndsBehindACharacter) {
  // Whatever the cut's place among the three bytes of a character, none is left half.
  for (std::size_t shift = 0; shift < 3; ++shift) {
    auto spec = std::make_shared<JobSpec>();
    std::string comment(shift, 'x');
    while (comment.size() < 2'000'000) comment += "\xe2\x82\xac";
    spec->text.set(JobText::kComment, comment);
    JobView job;
    job.id = JobId(1);
    job.spec = spec;
    PageWriter writer;
    writer.add(job);
    const auto jobs = read(std::move(writer).finish());
    ASSERT_EQ(jobs.size(), 1U);
    const std::string shown(jobs[0].spec->get(JobText::kComment));
    EXPECT_TRUE(shown.ends_with("\xe2\x82\xac...(cut)")) << shift;
  }
}

TEST(PageWriter, NothingIsOneEmptyPage) { EXPECT_EQ(PageWriter().finish().size(), 1U); }

}  // namespace
}  // namespace muster
