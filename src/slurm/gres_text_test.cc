#include "slurm/gres_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string gres(std::string_view text) {
  const auto amounts = parse_gres(text);
  return amounts.has_value() ? gres_text(*amounts) : amounts.error().text();
}
std::string gpus(std::string_view text) {
  const auto amounts = parse_gpus(text);
  return amounts.has_value() ? gres_text(*amounts) : amounts.error().text();
}

TEST(GresText, ReadsGres) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpu", "gpu:1"},
      {"gpu:2", "gpu:2"},
      {"gpu:h100", "gpu:h100:1"},
      {"nic:1,gpu:h100:2", "gpu:h100:2,nic:1"},
      {"gres/gpu:2", "gpu:2"},
      {"gres:gpu=2", "gpu:2"},
      {"gres/gpu:h100=4", "gpu:h100:4"},
      {"gpu:a100:1,gpu:h100:2", "gpu:a100:1,gpu:h100:2"},
      {"mps:2k", "mps:2048"},
      {"gpu:1g.10gb:2", "gpu:1g.10gb:2"},
      {"gpu:nvidia_a100-sxm4-80gb", "gpu:nvidia_a100-sxm4-80gb:1"},
      {"gpu:0", ""},
      {"NONE", ""},
  };
  for (const auto& [text, canonical] : cases) EXPECT_EQ(gres(text), canonical) << text;
}

TEST(GresText, KeepsTheOrderWhereItMatters) {
  EXPECT_EQ(gres_text(parse_gres_in_order("nic:1,gpu:h100:2,mps:0,gpu:a100:1").value()),
            "nic:1,gpu:h100:2,gpu:a100:1");
}

TEST(GresText, ReadsGpus) {
  EXPECT_EQ(gpus("2"), "gpu:2");
  EXPECT_EQ(gpus("h100:2"), "gpu:h100:2");
  EXPECT_EQ(gpus("h100:2,a100:1"), "gpu:a100:1,gpu:h100:2");
  EXPECT_EQ(gpus("h100"), "gpu:h100:1");
  EXPECT_EQ(gpus("0"), "");
  EXPECT_EQ(gpus(""), "") << "--gpus=$UNSET, as under Slurm";
}

TEST(GresText, RefusesOtherTexts) {
  for (const char* bad : {"", "gpu,", ":2", "2", "gpu:", "gpu:a:b:2", "gpu:2x", "gpu:99999999999",
                          "gpu:4g", "gpu:-1", "gpu 2", "gpu:2,gpu:3", "gres=4", "gres:gres:4",
                          "gpu:h100:x y", "gpu:1g.10gb", "gpu=a:b", "g#u:1", "gpu==2"}) {
    const auto amounts = parse_gres(bad);
    ASSERT_FALSE(amounts.has_value()) << bad;
    EXPECT_EQ(amounts.error().message, "Invalid generic resource (gres) specification");
  }
  for (const char* bad : {",", "h100:", "1,2", "a:b:2", "1.5"})
    EXPECT_FALSE(parse_gpus(bad).has_value()) << bad;
  EXPECT_NE(gres("nic:1,gpu:2x").find("'gpu:2x' of 'nic:1,gpu:2x'"), std::string::npos);
}

TEST(GresText, WritesTrackableResources) {
  TresCounts counts{.cpus = 4,
                    .memory_mib = 8192,
                    .nodes = 2,
                    .billing = 4,
                    .gres = parse_gres("gpu:h100:4").value()};
  EXPECT_EQ(tres_text(counts), "cpu=4,mem=8G,node=2,billing=4,gres/gpu=4,gres/gpu:h100=4");
  counts.gres = {
      {"nic", "", 1}, {"gpu", "h100", 2}, {"gpu", "a100", 1}, {"gpu", "h100", 1}, {"shard", "", 0}};
  counts.billing = 0;
  EXPECT_EQ(tres_text(counts),
            "cpu=4,mem=8G,node=2,gres/gpu=4,gres/gpu:a100=1,gres/gpu:h100=3,gres/nic=1");
  EXPECT_EQ(tres_text({}), "");
}

}  // namespace
}  // namespace muster
