#include "slurm/hostlist.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "text/words.h"

namespace muster {
namespace {

std::string expanded(std::string_view text) {
  const auto names = expand_hostlist(text);
  return names.has_value() ? join(*names, " ") : names.error().message;
}

std::string compressed(std::string_view names) { return compress_hostlist(split_list(names, ' ')); }
std::string sorted(std::string_view names) { return sorted_hostlist(split_list(names, ' ')); }

TEST(Hostlist, ExpandsAsSlurmDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"login", "login"},
      {"n[1-3]", "n1 n2 n3"},
      {"n[08-11]", "n08 n09 n10 n11"},
      {"n[9-010]", "n9 n10"},
      {"n[000-002,3-4,05]", "n000 n001 n002 n3 n4 n05"},
      {"[1-3]", "1 2 3"},
      {"a[1,1,2]", "a1 a1 a2"},
      {"a,,b", "a b"},
      {"n1,n2 ,n3\nn4\tn5", "n1 n2 n3 n4 n5"},
      {"a[1-2][3-4]", "a13 a14 a23 a24"},
      {"row[0,1]_rack[2-3]_blade[4,5]",
       "row0_rack2_blade4 row0_rack2_blade5 row1_rack2_blade4 row1_rack2_blade5 "
       "row0_rack3_blade4 row0_rack3_blade5 row1_rack3_blade4 row1_rack3_blade5"},
      {"a[1-2]b[1-2]c[1-2]d[1-2]",
       "a1b1c1d1 a1b1c1d2 a2b1c1d1 a2b1c1d2 a1b2c1d1 a1b2c1d2 a2b2c1d1 a2b2c1d2 "
       "a1b1c2d1 a1b1c2d2 a2b1c2d1 a2b1c2d2 a1b2c2d1 a1b2c2d2 a2b2c2d1 a2b2c2d2"},
      {"n-[8-10].svc.example", "n-8.svc.example n-9.svc.example n-10.svc.example"},
      {"a[1-2]b[3-4]c,d,", "a1b3c a1b4c a2b3c a2b4c d"},
      {"node[0,3-4,8],linux,linux[2,5]", "node0 node3 node4 node8 linux linux2 linux5"},
  };
  for (const auto& [text, names] : cases) EXPECT_EQ(expanded(text), names) << text;
}

TEST(Hostlist, RefusesWhatIsNoList) {
  for (const char* bad : {"n[3-1]", "n[1-", "n]", "n[1-3", "n[a-b]", "n[]", "n[1-3]]", "n[1-2,]",
                          "n[[1]]", "n[1-2]-i]", "n[1-2]a[", "n][", "n[0000000000000000001-2]"}) {
    const auto names = expand_hostlist(bad);
    ASSERT_FALSE(names.has_value()) << bad;
    EXPECT_EQ(names.error().code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_EQ(names.error().message.substr(0, 18), "Invalid hostlist: ");
  }
  EXPECT_NE(expand_hostlist("n[3-1]").error().detail.find("'3-1'"), std::string::npos);
}

TEST(Hostlist, HoldsAtMost64KHosts) {
  EXPECT_EQ(expand_hostlist("n[1-65536]").value().size(), kHostlistMax);
  for (const char* bad : {"n[0-65536]", "n[1-40000,1-40000]", "n[1-300]x[1-300]", "n[1-65536],m",
                          "n[1-65536]x[1-65536]y[1-65536]z[1-65536]"}) {
    EXPECT_EQ(expand_hostlist(bad).error().code, ErrorCode::kResourceExhausted) << bad;
  }
}

/// Sorting takes time for each byte of each name.
TEST(Hostlist, HoldsAtMostFourMiBOfNames) {
  const std::string part(100, 'n');
  EXPECT_EQ(expand_hostlist(part + "[10000-48999]")->size(), 39'000U);
  const std::string apart = part + "[10000-48999]," + part + "x[100000-109999]";
  for (const std::string& bad : {part + "[10000-59999]", part + "[0-65535]x", apart}) {
    const auto result = expand_hostlist(bad);
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted) << bad;
    EXPECT_EQ(result.error().detail,
              "it stands for more than 65536 hosts, or for more than 4 MiB of names: give it in "
              "parts");
  }
}

/// A name of some thousand letters, repeated for each number, would be more than memory holds.
TEST(Hostlist, NamesHaveTheLengthOfNames) {
  const std::string longest(254, 'n');
  EXPECT_EQ(expand_hostlist(longest + "[1-2]")->size(), 2U);
  std::string many_brackets = "n[1-60000]";
  for (int i = 0; i < 250; ++i) many_brackets += "[1]";
  for (const std::string& text : {longest + "n[1-60000]", "a[1-2]" + longest, longest + "nn",
                                  "n," + longest + "[1-2]n", longest + "[1,20]", many_brackets}) {
    const auto result = expand_hostlist(text);
    ASSERT_FALSE(result.has_value()) << text.substr(0, 20);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(result.error().detail, "a host's name has 255 bytes at most");
    EXPECT_LT(result.error().message.size(), 300U) << "an answer repeats no long question";
  }
}

TEST(Hostlist, CompressesInTheGivenOrder) {
  const std::pair<const char*, const char*> cases[] = {
      {"node0 node3 node4 node8 linux linux2 linux5 node4 node12 node15 linux8 linux23",
       "node[0,3-4,8],linux,linux[2,5],node[4,12,15],linux[8,23]"},
      {"", ""},
      {"n0", "n0"},
      {"a1 a01 a2", "a[1,01,2]"},
      {"a1 a1 a2", "a[1,1-2]"},
      {"n999 n1000 n1001", "n[999-1001]"},
      {"n9 n010", "n[9,010]"},
      {"n001 n1000 n10 n1", "n[001,1000,10,1]"},
      {"n n1 n0 m5", "n,n[1,0],m5"},
      {"n09 n10 n099 n100", "n[09-10,099-100]"},
      {"n9 n10 n09", "n[9-10,09]"},
      {"n000 n1 n2", "n[000,1-2]"},
      {"n98 n099 n100", "n[98,099-100]"},
      {"a1b a2b", "a1b,a2b"},
      {"1 2 3", "[1-3]"},
      {"n1x1 n1x2 n2x1", "n1x[1-2],n2x1"},
      {"n99999999999999999999 n99999999999999999998",
       "n99999999999999999999,n99999999999999999998"},
  };
  for (const auto& [names, text] : cases) EXPECT_EQ(compressed(names), text) << names;
}

TEST(Hostlist, PrefixesAreInNaturalOrder) {
  // Rising: each before the next.
  const std::vector<std::string> names = {"r0_n",   "r01_n",   "r010_n", "r011_n", "r02_n",
                                          "r1_n",   "r2_n",    "r9_m",   "r9_n",   "r10_n",
                                          "r10n9x", "r10n10x", "r100_n", "r_n",    "ra_n"};
  std::vector<std::string> mixed(names.rbegin(), names.rend());
  std::swap(mixed[2], mixed[9]);
  EXPECT_EQ(sorted_hosts(mixed), names);
}

TEST(Hostlist, SortsByPrefixThenWidthThenNumberAndDropsDoubles) {
  EXPECT_EQ(sorted("n n1 n0 m5 n0"), "m5,n,n[0-1]");
  EXPECT_EQ(sorted("n001 n1000 n10 n1"), "n[1,10,001,1000]");
  EXPECT_EQ(sorted("a1 a01 a2"), "a[1-2,01]");
  EXPECT_EQ(sorted("n1 n2 n01 n02 n10"), "n[1-2,01-02,10]");
  EXPECT_EQ(sorted("n09 n10 n099 n100"), "n[09-10,099-100]");
  EXPECT_EQ(sorted("n2 n10 n1"), "n[1-2,10]");
  EXPECT_EQ(sorted("b2 a1 b1"), "a1,b[1-2]");
  EXPECT_EQ(sorted("x-104_37 x-70_88 x-70_37 x-86_1"), "x-70_[37,88],x-86_1,x-104_37");
  EXPECT_EQ(sorted("lin14_1z1 lin082_9z1 lin082_030z1 lin82_1z1"),
            "lin082_030z1,lin082_9z1,lin14_1z1,lin82_1z1");
  EXPECT_EQ(sorted("n1 n1x n1- n1y2 n"), "n,n1,n1-,n1x,n1y2");
}

TEST(Hostlist, ExpandingTheCompressedFormGivesTheNamesBack) {
  constexpr std::uint64_t kSeed = 20260801;
  Rng rng(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> names;
    for (std::uint64_t i = rng.below(30); i > 0; --i) {
      const std::string prefix(rng.below(3), 'n');
      names.push_back(fmt::format("x{}{:0{}}", prefix, rng.below(120), 1 + rng.below(3)));
      if (rng.chance(0.1)) names.back() = "x" + prefix;
    }
    const std::string text = compress_hostlist(names);
    EXPECT_EQ(expand_hostlist(text).value(), names)
        << "seed " << kSeed << " round " << round << ' ' << text;
    const std::vector<std::string> once = sorted_hosts(names);
    EXPECT_EQ(expand_hostlist(sorted_hostlist(names)).value(), once)
        << "seed " << kSeed << " round " << round;
  }
}

TEST(Hostlist, TheLongestListIsOneRangeAndReadsBack) {
  const auto names = expand_hostlist("n[1-65536]").value();
  EXPECT_EQ(compress_hostlist(names), "n[1-65536]");
  EXPECT_EQ(sorted_hostlist({names.rbegin(), names.rend()}), "n[1-65536]");
}

TEST(Hostlist, NumbersAreThoseOfEighteenDigits) {
  EXPECT_EQ(expanded("n[999999999999999998-999999999999999999]"),
            "n999999999999999998 n999999999999999999");
  EXPECT_EQ(compressed("n999999999999999998 n999999999999999999"),
            "n[999999999999999998-999999999999999999]");
  EXPECT_FALSE(expand_hostlist("n[1000000000000000000]").has_value());
}

TEST(Hostlist, EachNameIsSortedOnceWhateverTheOrder) {
  constexpr std::uint64_t kSeed = 43;
  Rng rng(kSeed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names;
    for (std::uint64_t i = rng.below(20); i > 0; --i)
      names.push_back(fmt::format("r{}n{:0{}}", rng.below(3), rng.below(30), 1 + rng.below(3)));
    std::vector<std::string> shuffled = names;
    for (std::size_t i = shuffled.size(); i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[rng.below(i)]);
    const std::vector<std::string> sorted_names = sorted_hosts(names);
    EXPECT_EQ(sorted_hosts(shuffled), sorted_names) << "seed " << kSeed << " round " << round;
    EXPECT_EQ(sorted_hosts(sorted_names), sorted_names);
    EXPECT_EQ(std::set(names.begin(), names.end()),
              std::set(sorted_names.begin(), sorted_names.end()));
  }
}

}  // namespace
}  // namespace muster
