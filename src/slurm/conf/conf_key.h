// One row for each key of a configuration record: how it is handled and why. The rows are the
// manual of what Muster honours of slurm.conf; conf_cluster.cc, conf_node.cc and conf_partition.cc
// hold them.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/words.h"

namespace muster {

enum class ConfHandling : std::uint8_t {
  kHonoured = 0,  ///< read and followed
  kNoEffect =
      1,  ///< accepted, because leaving it out changes nothing that a user or operator relies on
  kRefused =
      2,  ///< an error that names it, because a site that sets it relies on it; neutral values pass
};

/// A key of the record that a `Target` is built from.
template <class Target>
struct ConfKey {
  std::string_view name;
  ConfHandling handling = ConfHandling::kHonoured;
  std::string_view reason;   ///< why it has no effect, or why it is refused and what to do instead
  std::string_view neutral;  ///< refused keys: values that ask for nothing, parted by "|"
  Status (*set)(Target&, std::string_view value) = nullptr;  ///< honoured keys
  std::string (*show)(const Target&) = nullptr;  ///< the value in force; null where none is shown
  std::string_view replacement = {};             ///< of an old spelling: what is written today
  /// Returns why a value that is accepted changes nothing; empty: it does.
  std::string_view (*why_no_effect)(std::string_view value) = nullptr;
};

template <class Target>
const ConfKey<Target>* find_conf_key(std::span<const ConfKey<Target>> keys, std::string_view name) {
  for (const ConfKey<Target>& key : keys) {
    if (equal_ignoring_case(key.name, name)) return &key;
  }
  return nullptr;
}

/// Returns why `name` is no key, with the nearest one that is.
template <class Target>
tl::unexpected<Error> unknown_conf_key(std::span<const ConfKey<Target>> keys,
                                       std::string_view name) {
  std::vector<std::string_view> names;
  for (const ConfKey<Target>& key : keys) names.push_back(key.name);
  const auto nearest = nearest_word(name, names);
  return fail(ErrorCode::kInvalidArgument, fmt::format("unknown key '{}'", name),
              nearest ? fmt::format("the nearest known key is {}", *nearest)
                      : "see slurm.conf(5) for the keys");
}

/// Sets one Key=Value of the target. Errors: kInvalidArgument for an unknown key or a bad value,
/// kUnimplemented for a refused key; the text does not name the line, which is the caller's.
template <class Target>
Status apply_conf_key(std::span<const ConfKey<Target>> keys, std::string_view name,
                      std::string_view value, Target& target) {
  const ConfKey<Target>* key = find_conf_key(keys, name);
  if (key == nullptr) return unknown_conf_key(keys, name);
  switch (key->handling) {
    case ConfHandling::kNoEffect: return {};
    case ConfHandling::kRefused:
      for (const std::string_view neutral : split(key->neutral, '|')) {
        if (!key->neutral.empty() && equal_ignoring_case(value, neutral)) return {};
      }
      return fail(ErrorCode::kUnimplemented,
                  fmt::format("{}={} is not supported", key->name, value),
                  std::string(key->reason));
    case ConfHandling::kHonoured: break;
  }
  const Status status = key->set(target, value);
  if (status.has_value()) return {};
  return fail(status.error().code,
              fmt::format("{}={}: {}", key->name, value, status.error().message),
              status.error().detail);
}

}  // namespace muster
