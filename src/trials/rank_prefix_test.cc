#include "trials/rank_prefix.h"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

using Streams = std::map<std::uint32_t, std::string>;

/// Fed in pieces of so many bytes.
Streams split_up(std::string_view text, std::size_t piece, RankSplitter::Options options = {}) {
  RankSplitter splitter(options);
  Streams out;
  const auto visit = [&out](std::uint32_t rank, std::string_view bytes) { out[rank] += bytes; };
  for (std::size_t i = 0; i < text.size(); i += piece) splitter.add(text.substr(i, piece), visit);
  splitter.finish(visit);
  return out;
}

/// However the bytes are cut.
void expect_split(std::string_view text, const Streams& expected,
                  RankSplitter::Options options = {}) {
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    ASSERT_EQ(split_up(text, piece, options), expected) << "in pieces of " << piece;
  }
}

TEST(RankSplitter, LinesGoToTheRankThatTheyName) {
  expect_split("[rank=1] one\n[rank=0] zero\nplain\n[rank=12] twelve",
               {{0, "zero\n"}, {1, "one\n"}, {5, "plain\n"}, {12, "twelve"}}, {.own_rank = 5});
}

TEST(RankSplitter, WhatOnlyLooksLikeAPrefixStays) {
  for (const char* text :
       {"[rank=] x\n", "[rank=1]x\n", " [rank=1] x\n", "[rank=99999999] x\n", "[rank=1024] x\n",
        "[rank=1", "[", "", "[ran\n[rank", "[[rank=1] x\n", "[default1]: x\n"}) {
    if (*text != '\0') expect_split(text, {{3, text}}, {.own_rank = 3});
  }
}

TEST(RankSplitter, AnyBytesComeOutAsTheyWentIn) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  expect_split(text + "\n\n\r\n" + text, {{0, text + "\n\n\r\n" + text}});
}

TEST(RankSplitter, AProgressBarStaysWithItsRank) {
  expect_split("[rank=2] 10%\r20%\r[rank=3] 5%\r30%\r\nmine\n",
               {{2, "10%\r20%\r"}, {3, "5%\r30%\r\n"}, {0, "mine\n"}});
}

TEST(RankSplitter, LocalRanksCountWhereTheyAreKnown) {
  expect_split("[default1]:x\n[default0]:y\n", {{1, "x\n"}, {0, "y\n"}}, {.is_local_known = true});
}

TEST(RankSplitter, WhatIsNoPrefixDoesNotWait) {
  RankSplitter splitter({});
  std::string out;
  splitter.add("loss", [&out](std::uint32_t, std::string_view bytes) { out += bytes; });
  EXPECT_EQ(out, "loss");
}

}  // namespace
}  // namespace muster
