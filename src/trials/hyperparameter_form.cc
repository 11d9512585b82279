// Walks the section to its leaves and reads each as a domain. The kinds of domain differ in their
// bounds; read_range reads what three of them have in common.

#include "trials/hyperparameter_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/search_config.h"
#include "text/words.h"

namespace muster {
namespace {

/// Whole numbers that a double can hold, and numbers whose differences are finite.
constexpr std::int64_t kMost = std::int64_t{1} << 53;
constexpr double kFinite = 1e300;
constexpr std::array<std::string_view, 5> kTypes{"const", "int", "double", "log", "categorical"};

/// The ends of a range and its count on a grid. False: something is missing or wrong.
/// The type of the ends differs and, with it, the reader's function: hence a template with a
/// callback.
template <class Number, class Read>
bool read_range(FormReader& reader, Number& minval, Number& maxval,
                std::optional<std::uint32_t>& count, Read read) {
  const bool has_low = reader.require("minval", "the least value");
  const bool has_high = reader.require("maxval", "the greatest value");
  // Counts problems, since the reader returns nothing of a field that is wrong.
  const std::size_t before = reader.context().problems.size();
  read("minval", minval);
  read("maxval", maxval);
  std::uint32_t points = 0;
  reader.whole("count", points, 1);
  if (points > 0) count = points;
  if (!has_low || !has_high || reader.context().problems.size() > before) return false;
  if (minval <= maxval) return true;
  reader.refuse("maxval", fmt::format("{} is below minval {}; exchange them", maxval, minval));
  return false;
}

template <class Domain>
std::optional<HyperDomain> read_real(FormReader& reader, Domain domain) {
  const auto read = [&](std::string_view name, double& out) {
    reader.number(name, out, -kFinite, kFinite);
  };
  if (!read_range(reader, domain.minval, domain.maxval, domain.count, read)) return std::nullopt;
  return domain;
}

std::optional<HyperDomain> read_int(FormReader& reader) {
  IntDomain domain;
  const auto read = [&](std::string_view name, std::int64_t& out) {
    reader.whole(name, out, -kMost, kMost);
  };
  if (!read_range(reader, domain.minval, domain.maxval, domain.count, read)) return std::nullopt;
  return domain;
}

std::optional<HyperDomain> read_log(FormReader& reader) {
  LogDomain domain;
  reader.number("base", domain.base, std::numeric_limits<double>::min(), kFinite);
  auto read = read_real(reader, domain);
  if (!read) return std::nullopt;
  const auto& ends = std::get<LogDomain>(*read);
  // Determined's log domain has exponents as its ends: the values themselves, written there by
  // mistake, overflow.
  if (std::isfinite(std::pow(ends.base, ends.minval)) &&
      std::isfinite(std::pow(ends.base, ends.maxval)))
    return read;
  reader.refuse("",
                "minval and maxval are exponents, and a power of them is beyond any number; write "
                "-3 for 10^-3");
  return std::nullopt;
}

std::optional<HyperDomain> read_categorical(FormReader& reader) {
  if (!reader.require("vals", "the list of values")) return std::nullopt;
  const Json* vals = reader.field("vals");
  if (vals->array() != nullptr && !vals->array()->empty()) return CategoricalDomain{*vals->array()};
  const std::string found = vals->array() != nullptr ? "an empty list" : shown_value(*vals);
  reader.refuse("vals", fmt::format("{} is not possible; give a list of one value or more", found));
  return std::nullopt;
}

std::optional<HyperDomain> read_const(FormReader& reader) {
  // `val: null` counts as left out.
  const Json* val = reader.field("val");
  if (val != nullptr) return ConstDomain{*val};
  reader.refuse("", "'val' is missing; give the value");
  return std::nullopt;
}

std::optional<HyperDomain> read_domain(FormReader& reader) {
  // The cases below follow the order of kTypes.
  const auto type = reader.choice("type", kTypes);
  if (!type) return std::nullopt;
  std::optional<HyperDomain> domain;
  switch (*type) {
    case 0: domain = read_const(reader); break;
    case 1: domain = read_int(reader); break;
    case 2: domain = read_real(reader, DoubleDomain{}); break;
    case 3: domain = read_log(reader); break;
    default: domain = read_categorical(reader); break;
  }
  reader.finish();
  return domain;
}

void read_below(FormContext& context, const Json& value, const std::string& path,
                std::vector<std::string> names, HyperSpace& space) {
  const Json::Object* members = value.object();
  const Json* type = value.find("type");
  // An empty map is a constant: it has no leaf below it that could stand for it.
  if (members == nullptr || members->empty()) {
    space.push_back({std::move(names), ConstDomain{value}});
    // A map whose `type` is no text holds nested hyperparameters, one of which is called type.
  } else if (type != nullptr && type->text() != nullptr) {
    FormReader reader(context, &value, path);
    if (auto domain = read_domain(reader)) space.push_back({std::move(names), *std::move(domain)});
  } else {
    for (const Json::Member& member : *members) {
      std::vector<std::string> inner = names;
      inner.push_back(member.name);
      read_below(context, member.value, path + "." + member.name, std::move(inner), space);
    }
  }
}

bool needs_count(const HyperDomain& domain) {
  if (const auto* whole = std::get_if<IntDomain>(&domain)) return !whole->count;
  if (const auto* real = std::get_if<DoubleDomain>(&domain)) return !real->count;
  if (const auto* log = std::get_if<LogDomain>(&domain)) return !log->count;
  return false;
}

}  // namespace

double points_of(const HyperDomain& domain) {
  if (const auto* whole = std::get_if<IntDomain>(&domain)) {
    // An int domain has no more points than whole numbers. The difference of two numbers up to
    // 2^53 fits 64 bits.
    return std::min<double>(*whole->count, static_cast<double>(whole->maxval - whole->minval) + 1);
  }
  if (const auto* real = std::get_if<DoubleDomain>(&domain)) return *real->count;
  if (const auto* log = std::get_if<LogDomain>(&domain)) return *log->count;
  if (const auto* categorical = std::get_if<CategoricalDomain>(&domain))
    return static_cast<double>(categorical->vals.size());
  return 1;
}

HyperSpace read_hyperparameters(FormReader& section) {
  HyperSpace space;
  for (const Json::Member& member : section.members()) {
    read_below(section.context(), member.value, section.path_of(member.name), {member.name}, space);
  }
  // Sorted, so that draws do not depend on the order in the file: the same seed then gives the
  // same trials.
  std::ranges::sort(space, {}, &Hyperparameter::path);
  return space;
}

void check_grid(const HyperSpace& space, FormReader& section) {
  const std::size_t before = section.context().problems.size();
  for (const Hyperparameter& one : space) {
    if (needs_count(one.domain))
      section.refuse(join(one.path, "."), "a grid needs to know how many points: give 'count'");
  }
  // points_of requires the counts.
  if (section.context().problems.size() > before) return;
  // A product in doubles cannot overflow: it only becomes infinite.
  double points = 1;
  for (const Hyperparameter& one : space) points *= points_of(one.domain);
  if (points <= kTrialMax) return;
  section.refuse(
      "",
      fmt::format("the grid has {:.4g} points, and a search at most {} trials; lower the counts",
                  points, kTrialMax));
}

}  // namespace muster
