// A value that stays as it is: copies share it instead of copying it.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"

namespace muster {

/// A T that its copies share. One that was not given is what a fresh T is, and takes no room. Where
/// it is to be something else, another T is put in its place: nothing that is shared ever changes,
/// so threads may share it. Size: two pointers.
template <class T>
class Shared {
 public:
  using value_type = T;
  Shared() = default;
  Shared(T value)  // NOLINT: it is the value
      : value_(std::make_shared<const T>(std::move(value))) {}

  const T& operator*() const { return value_ == nullptr ? fresh() : *value_; }
  const T* operator->() const { return &**this; }
  /// True where both share one T, or have none of their own: such values are equal. Cost: O(1).
  bool is_one_with(const Shared& other) const { return value_ == other.value_; }
  /// The T itself; null: it is what a fresh T is.
  const std::shared_ptr<const T>& object() const { return value_; }
  /// Shares an object that is there.
  static Shared of(std::shared_ptr<const T> object) {
    Shared shared;
    shared.value_ = std::move(object);
    return shared;
  }

  /// A copy that is changed and then put in the place of what it was copied from. Requires: until
  /// then nothing else is put there; checked, because one of the two changes would be lost.
  class Edit {
   public:
    explicit Edit(Shared& place) : place_(place), before_(place), copy_(*place) {}
    Edit(const Edit&) = delete;
    Edit& operator=(const Edit&) = delete;
    ~Edit() {
      CHECK(place_.is_one_with(before_), "two changes of one value at a time");
      place_ = Shared(std::move(copy_));
    }
    T& operator*() { return copy_; }
    T* operator->() { return &copy_; }

   private:
    Shared& place_;
    Shared before_;
    T copy_;
  };
  /// Begins a change of this one's value, which is made when the Edit ends; other copies keep
  /// theirs. Cost: a copy of the value.
  Edit edit() { return Edit(*this); }

  friend bool operator==(const Shared& a, const Shared& b) { return a.is_one_with(b) || *a == *b; }

 private:
  static const T& fresh() {
    static const T kFresh{};
    return kFresh;
  }
  std::shared_ptr<const T> value_;
};

}  // namespace muster
