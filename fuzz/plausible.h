// Random values of the structs of model/ (records/testing.h) made plausible: ids of things that are
// there, small numbers, words that mean something. Wholly random ones are refused at the first look
// and never reach what lies behind.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/agent_message.h"
#include "model/job.h"
#include "model/request.h"
#include "records/testing.h"

namespace muster::fuzz {

inline constexpr std::string_view kWords[] = {
    "",
    "1",
    "0",
    "4",
    "main",
    "other",
    "n0",
    "n[0-1]",
    "alice",
    "bob",
    "root",
    "job",
    "gpu:1",
    "gpu:2",
    "gpu",
    "fast",
    "fast|slow",
    "/tmp",
    "/tmp/%j.out",
    "none",
    "afterok:1",
    "afterany:2",
    "singleton",
    "1-5",
    "0-9%2",
    "UNLIMITED",
    "10",
    "90",
    "1-00:00:00",
    "NodeName",
    "State",
    "DRAIN",
    "RESUME",
    "JobId",
    "TimeLimit",
    "Priority",
    "Comment",
    "Reason",
    "Partition",
    "NumNodes",
    "ReqNodeList",
    "ArrayTaskThrottle",
    "Dependency",
    "StartTime",
    "now+1hour",
    "ALL",
    "NONE",
    "USR1",
    "loss",
    "epochs",
    "#!/bin/sh\nsrun hostname\n",
    "block:cyclic",
    "verbose,map_cpu:0,1",
    "mask_gpu:1",
    "yes",
    "4294967295",
    "18446744073709551615",
    "-1",
    "e",
    "w",
    "p",
    "x y",
    "\n",
    "\x1b[31m",
    "b8f635ed-7cca-46ec-86ec-000000000001",
    "https://x.example/",
    R"({"a": 1})",
    "{name: e, entrypoint: t, searcher: {name: single, metric: loss}}"};
inline std::string word(Rng& rng) { return std::string(kWords[rng.below(std::size(kWords))]); }

template <class T>
void make_plausible(T& value, Rng& rng) {
  using testing::is_text_pack;
  if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || std::is_same_v<T, CachedHash>) {
    return;
  } else if constexpr (std::is_integral_v<T>) {
    if (rng.chance(0.85)) value = static_cast<T>(rng.below(rng.chance(0.7) ? 6 : 100));
  } else if constexpr (std::is_same_v<T, double>) {
    if (rng.chance(0.8)) value = static_cast<double>(rng.between(-3, 30)) / 4;
  } else if constexpr (is_id<T>) {
    if (rng.chance(0.9)) value = T(static_cast<typename T::rep>(rng.below(7)));
  } else if constexpr (std::is_same_v<T, Duration>) {
    if (rng.chance(0.8)) value = Duration::seconds(static_cast<std::int64_t>(rng.below(5000)));
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    if (rng.chance(0.8)) value = TimePoint::from_seconds(1'000'000 + rng.between(-100, 5000));
  } else if constexpr (std::is_same_v<T, Bitmap>) {
    if (rng.chance(0.5)) value = {};
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (rng.chance(0.85)) value = word(rng);
  } else if constexpr (is_text_pack<T>) {
    using Key = decltype([]<class K>(const TextPack<K>&) { return K(); }(value));
    for (std::size_t i = 0; i < T::kSize; ++i) {
      if (rng.chance(0.97))
        value.set(static_cast<Key>(i), rng.chance(0.75) ? std::string() : word(rng));
    }
  } else if constexpr (is_vector<T>) {
    for (auto& item : value) make_plausible(item, rng);
  } else if constexpr (is_small_list<T>) {
    std::vector<typename T::value_type> values(value.begin(), value.end());
    make_plausible(values, rng);
    value = values;
  } else if constexpr (is_optional<T>) {
    if (value) make_plausible(*value, rng);
  } else if constexpr (is_pointer<T>) {
    if (value == nullptr) return;
    auto copy = std::make_unique<std::remove_const_t<typename T::element_type>>(*value);
    make_plausible(*copy, rng);
    value = std::move(copy);
  } else if constexpr (is_shared<T>) {
    make_plausible(*value.edit(), rng);
  } else if constexpr (is_pair<T>) {
    make_plausible(value.first, rng);
    make_plausible(value.second, rng);
  } else if constexpr (is_variant<T>) {
    visit_variant([&](auto& body) { make_plausible(body, rng); }, value);
  } else {
    with_members(value, [&](auto&... member) { (make_plausible(member, rng), ...); });
  }
}

/// Numbers at which sums and products wrap around, and those at the bounds of
/// admission/job_numbers.h.
inline constexpr std::uint64_t kEnds[] = {0,
                                          1,
                                          0xffff,
                                          0x10000,
                                          0xff'ffff,
                                          0x100'0000,
                                          0x7fff'ffff,
                                          0x8000'0000,
                                          0xffff'fffe,
                                          0xffff'ffff,
                                          std::uint64_t{1} << 40,
                                          std::uint64_t{1} << 44,
                                          std::uint64_t{INT64_MAX},
                                          UINT64_MAX - 1,
                                          UINT64_MAX};
inline std::uint64_t end_of_range(Rng& rng) { return kEnds[rng.below(std::size(kEnds))]; }

/// Changes each number and time of a struct with the chance `share` to one at an end of what
/// numbers say; leaves the rest.
template <class T>
void make_extreme(T& value, Rng& rng, double share) {
  if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || is_id<T> ||
                std::is_same_v<T, CachedHash> || std::is_same_v<T, std::string> ||
                std::is_same_v<T, Bitmap> || testing::is_text_pack<T>) {
    return;
  } else if constexpr (std::is_integral_v<T>) {
    if (rng.chance(share)) value = static_cast<T>(end_of_range(rng));
  } else if constexpr (std::is_same_v<T, Duration>) {
    if (rng.chance(share))
      value = Duration::microseconds(
          static_cast<std::int64_t>(end_of_range(rng) * (rng.chance(0.5) ? 1U : 60'000'000U)));
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    if (rng.chance(share))
      value = TimePoint::from_microseconds(static_cast<std::int64_t>(end_of_range(rng)));
  } else if constexpr (is_vector<T>) {
    for (auto& item : value) make_extreme(item, rng, share);
  } else if constexpr (is_optional<T>) {
    if (value) make_extreme(*value, rng, share);
  } else if constexpr (is_shared<T>) {
    make_extreme(*value.edit(), rng, share);
  } else if constexpr (is_pair<T>) {
    make_extreme(value.first, rng, share);
    make_extreme(value.second, rng, share);
  } else if constexpr (std::is_aggregate_v<T>) {
    with_members(value, [&](auto&... member) { (make_extreme(member, rng, share), ...); });
  }
}

/// A value of any alternative of a variant.
template <class Variant>
Variant draw_any(Rng& rng) {
  Variant value;
  const std::size_t wanted = rng.below(Variant::KindList::kSize);
  std::size_t number = 0;
  Variant::KindList::for_each([&]<class Kind>() {
    if (number++ == wanted) value.template emplace<Kind>();
  });
  testing::draw(value, rng);
  make_plausible(value, rng);
  return value;
}

// Compiled in plausible.cc, once for all targets.
extern template Request draw_any<Request>(Rng& rng);
extern template ToAgent draw_any<ToAgent>(Rng& rng);
extern template FromAgent draw_any<FromAgent>(Rng& rng);
extern template void make_plausible(JobSpec& value, Rng& rng);
extern template void make_plausible(LaunchStep& value, Rng& rng);
extern template void make_extreme(JobSpec& value, Rng& rng, double share);

}  // namespace muster::fuzz

extern template void muster::testing::draw(muster::LaunchStep& value, muster::Rng& rng);
extern template void muster::testing::draw(muster::JobSpec& value, muster::Rng& rng);
