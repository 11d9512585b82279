#include "slurm/binding_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Bitmap bits(std::initializer_list<std::size_t> indices) {
  Bitmap result;
  for (const std::size_t index : indices) result.set(index);
  return result;
}

TEST(CpuBindText, Types) {
  EXPECT_EQ(parse_cpu_bind("").value(), CpuBind{});
  EXPECT_EQ(parse_cpu_bind("none").value().kind, CpuBindKind::kNone);
  EXPECT_EQ(parse_cpu_bind("no").value().kind, CpuBindKind::kNone);
  EXPECT_EQ(parse_cpu_bind("Cores").value().kind, CpuBindKind::kCores);
  EXPECT_EQ(parse_cpu_bind("threads").value().kind, CpuBindKind::kThreads);
  EXPECT_EQ(parse_cpu_bind("sockets").value().kind, CpuBindKind::kSockets);
  EXPECT_EQ(parse_cpu_bind("rank").value().kind, CpuBindKind::kRank);
  EXPECT_FALSE(parse_cpu_bind("quiet,cores").value().is_verbose);
  EXPECT_TRUE(parse_cpu_bind("verbose").value().is_verbose);
  EXPECT_EQ(parse_cpu_bind("v,none").value(),
            (CpuBind{.kind = CpuBindKind::kNone, .is_verbose = true}));
}

TEST(CpuBindText, Lists) {
  EXPECT_EQ(parse_cpu_bind("map_cpu:1,0x2*2").value().masks,
            (std::vector<Bitmap>{bits({1}), bits({2}), bits({2})}));
  EXPECT_EQ(
      parse_cpu_bind("verbose,mask_cpu:0x3,c").value(),
      (CpuBind{
          .kind = CpuBindKind::kList, .is_verbose = true, .masks = {bits({0, 1}), bits({2, 3})}}));
  EXPECT_EQ(parse_cpu_bind("mask_cpu:10000000000000001").value().masks,
            std::vector<Bitmap>{bits({0, 64})});
}

TEST(CpuBindText, RefusesTheRestByName) {
  for (const char* text :
       {"ldoms", "rank_ldom", "map_ldom:0", "mask_ldom:0x1", "boards", "help", "verbose,ldoms"}) {
    const auto parsed = parse_cpu_bind(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnimplemented) << text;
  }
  EXPECT_EQ(parse_cpu_bind("ldoms").error().message,
            "--cpu-bind=ldoms is not supported by Muster yet");
  for (const char* text :
       {"bogus", "map_cpu:", "map_cpu:x", "mask_cpu:0xg", "mask_cpu:0", "map_cpu:1*0",
        "map_cpu:99999999", "map_cpu:1*99999999", "none,cores", "cores,1", "none:1"}) {
    const auto parsed = parse_cpu_bind(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(GpuBindText, Types) {
  EXPECT_EQ(parse_gpu_bind("").value(), GpuBind{});
  EXPECT_EQ(parse_gpu_bind("none").value().kind, GpuBindKind::kNone);
  EXPECT_EQ(parse_gpu_bind("closest").value().kind, GpuBindKind::kClosest);
  EXPECT_EQ(parse_gpu_bind("single:2").value(),
            (GpuBind{.kind = GpuBindKind::kSingle, .count = 2}));
  EXPECT_EQ(parse_gpu_bind("verbose,per_task:1").value(),
            (GpuBind{.kind = GpuBindKind::kPerTask, .is_verbose = true, .count = 1}));
  EXPECT_EQ(parse_gpu_bind("map:1,0*2").value().masks,
            (std::vector<Bitmap>{bits({1}), bits({0}), bits({0})}));
  EXPECT_EQ(parse_gpu_bind("map_gpu:1").value(), parse_gpu_bind("map:1").value());
  EXPECT_EQ(parse_gpu_bind("mask:0x3,4").value().masks,
            (std::vector<Bitmap>{bits({0, 1}), bits({2})}));
  EXPECT_EQ(parse_gpu_bind("mask_gpu:3").value(), parse_gpu_bind("mask:3").value());
}

TEST(GpuBindText, RefusesTheRest) {
  for (const char* text : {"bogus", "single", "single:0", "single:x", "per_task:", "map:", "mask:z",
                           "closest,none", "closest:1"}) {
    const auto parsed = parse_gpu_bind(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(parsed.error().text().find(text), std::string::npos) << parsed.error().text();
  }
}

TEST(CpuBindText, ListsGoToTheirEnds) {
  EXPECT_EQ(parse_cpu_bind("map_cpu:65535").value().masks, std::vector<Bitmap>{bits({65535})});
  EXPECT_EQ(parse_cpu_bind("map_cpu:0xffff").value().masks, std::vector<Bitmap>{bits({65535})});
  EXPECT_EQ(parse_cpu_bind("map_cpu:0*65536").value().masks.size(), 65536U);
  const std::string digits(1024, 'f');
  EXPECT_EQ(parse_cpu_bind("mask_cpu:0x" + digits).value().masks[0].count(), 4096U);
  for (const std::string& bad :
       {std::string("map_cpu:65536"), std::string("map_cpu:0x10000"),
        std::string("map_cpu:0*65537"), std::string("map_cpu:0*65536,1"),
        "mask_cpu:" + digits + "f", std::string("map_cpu:0x"), std::string("map_cpu:1*"),
        std::string("map_cpu:-1"), std::string("map_cpu:1*0x2")})
    EXPECT_FALSE(parse_cpu_bind(bad).has_value()) << bad.substr(0, 30);
}

TEST(CpuBindText, TheLastWordOfHowMuchIsSaidCounts) {
  EXPECT_FALSE(parse_cpu_bind("verbose,quiet,cores").value().is_verbose);
  EXPECT_TRUE(parse_cpu_bind("q,V,cores").value().is_verbose);
  EXPECT_EQ(
      parse_cpu_bind("map_cpu:1,2,verbose").value(),
      (CpuBind{.kind = CpuBindKind::kList, .is_verbose = true, .masks = {bits({1}), bits({2})}}));
}

}  // namespace
}  // namespace muster
