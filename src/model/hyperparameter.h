// What a search may vary: the hyperparameters of an experiment, each with the values that it may
// take. Source: Determined 0.38, "Hyperparameters" (types const, int, double, log, categorical,
// nested dictionaries).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/json.h"

namespace muster {

/// The same value in all trials.
struct ConstDomain {
  Json val;
  friend bool operator==(const ConstDomain&, const ConstDomain&) = default;
};
/// Whole numbers from minval to maxval, both included. `count` in each domain: points on a grid,
/// both ends included.
struct IntDomain {
  std::int64_t minval = 0;
  std::int64_t maxval = 0;
  std::optional<std::uint32_t> count;
  friend bool operator==(const IntDomain&, const IntDomain&) = default;
};
/// A number drawn uniformly from [minval, maxval].
struct DoubleDomain {
  double minval = 0;
  double maxval = 0;
  std::optional<std::uint32_t> count;
  friend bool operator==(const DoubleDomain&, const DoubleDomain&) = default;
};
/// base^x with x drawn uniformly from [minval, maxval]: the ends are exponents.
struct LogDomain {
  double base = 10;
  double minval = 0;
  double maxval = 0;
  std::optional<std::uint32_t> count;
  friend bool operator==(const LogDomain&, const LogDomain&) = default;
};
/// One of `vals`, each with the same chance. Requires: not empty.
struct CategoricalDomain {
  std::vector<Json> vals;
  friend bool operator==(const CategoricalDomain&, const CategoricalDomain&) = default;
};

using HyperDomain =
    std::variant<ConstDomain, IntDomain, DoubleDomain, LogDomain, CategoricalDomain>;

struct Hyperparameter {
  std::vector<std::string> path;  ///< names from the outermost dictionary inwards
  HyperDomain domain;
  friend bool operator==(const Hyperparameter&, const Hyperparameter&) = default;
};

/// All hyperparameters of an experiment. Shape: rising by path; no path begins with another.
using HyperSpace = std::vector<Hyperparameter>;

}  // namespace muster
