// What copies, moves and destroys a Variant. Exactly one file for each list of types includes this
// and ends with
//   template class muster::Variant<muster::EventKinds>;
#pragma once

#include "base/variant.h"

namespace muster {

template <class Kinds>
Variant<Kinds>::Variant() : index_(0) {
  const auto construct = [this]<class First, class... Rest>(const TypeList<First, Rest...>*) {
    ::new (static_cast<void*>(bytes_)) First();
  };
  construct(static_cast<const Kinds*>(nullptr));
}

template <class Kinds>
Variant<Kinds>::Variant(const Variant& other) : index_(other.index_) {
  muster::visit([this]<class T>(const T& held) { ::new (static_cast<void*>(bytes_)) T(held); },
                other);
}

template <class Kinds>
Variant<Kinds>::Variant(Variant&& other) noexcept : index_(other.index_) {
  muster::visit([this]<class T>(T& held) { ::new (static_cast<void*>(bytes_)) T(std::move(held)); },
                other);
}

template <class Kinds>
Variant<Kinds>& Variant<Kinds>::operator=(const Variant& other) {
  return *this = Variant(other);
}

template <class Kinds>
Variant<Kinds>& Variant<Kinds>::operator=(Variant&& other) noexcept {
  if (this == &other) return *this;
  destroy();
  index_ = other.index_;
  muster::visit([this]<class T>(T& held) { ::new (static_cast<void*>(bytes_)) T(std::move(held)); },
                other);
  return *this;
}

template <class Kinds>
Variant<Kinds>::~Variant() {
  destroy();
}

template <class Kinds>
void Variant<Kinds>::destroy() {
  muster::visit([]<class T>(T& held) { held.~T(); }, *this);
}

}  // namespace muster
