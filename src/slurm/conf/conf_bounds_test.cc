// Every number of slurm.conf, at its bounds and past them: what does not fit is refused, and never
// taken for the number that its lower bits are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "slurm/conf/slurm_conf.h"

namespace muster {
namespace {

/// Nullopt: refused.
std::optional<SlurmConf> accepted(const SlurmConfKey& key, const std::string& value) {
  const std::string pair = fmt::format("{}={}", key.name, value);
  std::string text = "ClusterName=c\nSlurmctldHost=h\n";
  if (key.record.empty()) text += pair + "\n";
  text += "NodeName=n1 CPUs=2 RealMemory=100" + (key.record == "NodeName" ? " " + pair : "") + "\n";
  text += "PartitionName=p Nodes=n1" + (key.record == "PartitionName" ? " " + pair : "") + "\n";
  auto conf = parse_slurm_conf("f", text);
  if (!conf.has_value()) return std::nullopt;
  conf->cluster.settings.shown.clear();  // it repeats what was written
  return std::move(*conf);
}

template <class Test>
void for_each_key(Test&& test) {
  for (const SlurmConfKey& key : slurm_conf_keys()) {
    const bool is_head = key.name == "ClusterName" || key.name == "SlurmctldHost" ||
                         key.name == "NodeName" || key.name == "PartitionName";
    if (key.handling == ConfHandling::kHonoured && !is_head) test(key);
  }
}

TEST(ConfBounds, ANumberIsNeverTakenForItsLowerBits) {
  for_each_key([](const SlurmConfKey& key) {
    for (const unsigned bits : {8U, 16U, 31U, 32U, 63U}) {
      for (const std::uint64_t low : {0U, 1U, 2U, 9U}) {
        const auto small = accepted(key, std::to_string(low));
        const auto large = accepted(key, std::to_string(low + (std::uint64_t{1} << bits)));
        if (!small || !large) continue;
        EXPECT_NE(*small, *large) << key.name << ": " << low << " + 2^" << bits;
      }
    }
  });
}

/// A key that takes small numbers takes no text, no fraction and nothing that no number holds.
TEST(ConfBounds, WhatIsNoNumberIsRefusedWhereNumbersCount) {
  std::size_t count = 0;
  for_each_key([&](const SlurmConfKey& key) {
    if (accepted(key, "word").has_value() || !accepted(key, "1").has_value()) return;
    ++count;
    for (const char* number :
         {"18446744073709551616", "99999999999999999999999999", "1e3", "0x1", "+1"}) {
      EXPECT_FALSE(accepted(key, number).has_value()) << key.name << '=' << number;
    }
  });
  EXPECT_GT(count, 30U);
}

}  // namespace
}  // namespace muster
