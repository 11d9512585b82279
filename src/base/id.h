// Tagged ids: one type per kind of thing, so that a job's number cannot stand where a node's
// belongs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace muster {

/// An id of kind `Tag`, an unsigned number. Zero-initialised ids are valid values; a kind that
/// needs "none" says which value that is.
template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

}  // namespace muster

template <class Tag, class Rep>
struct std::hash<muster::Id<Tag, Rep>> {
  std::size_t operator()(muster::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
