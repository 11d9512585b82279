// A list of small values of which there are mostly one or two: those lie inside it, more on the
// heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "base/check.h"

namespace muster {

/// A list that is set as a whole and read as a vector. Up to kInline values (by default eight bytes
/// of them) lie inside; where there are more, all are on the heap. Size: 12 bytes for values of
/// one, two or four bytes, 16 for values of eight. A pointer or iterator is valid until the list is
/// changed or moved.
template <class T, std::size_t kInline = 8 / sizeof(T)>
class SmallList {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(kInline * sizeof(T) >= sizeof(T*));

 public:
  using value_type = T;
  SmallList() = default;
  SmallList(std::initializer_list<T> values) { set(values.begin(), values.size()); }
  SmallList(const std::vector<T>& values) {
    set(values.data(), values.size());
  }  // NOLINT: a vector is a list
  SmallList(const SmallList& other) { set(other.begin(), other.size()); }
  SmallList(SmallList&& other) noexcept : size_(other.size_) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    other.size_ = 0;
  }
  SmallList& operator=(SmallList other) noexcept {
    std::swap(size_, other.size_);
    std::swap_ranges(bytes_, bytes_ + sizeof bytes_, other.bytes_);
    return *this;
  }
  ~SmallList() {
    if (size_ > kInline) delete[] heap();
  }

  const T* begin() const { return size_ > kInline ? heap() : reinterpret_cast<const T*>(bytes_); }
  const T* end() const { return begin() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Returns element i. Requires: i < size(); not checked.
  const T& operator[](std::size_t i) const { return begin()[i]; }
  /// Returns the first element. Requires: the list is not empty; checked.
  const T& front() const {
    CHECK(size_ > 0);
    return *begin();
  }
  /// Appends a value. Cost: O(size), with an allocation: a list that grows value by value is built
  /// as a vector.
  void push_back(T value) {
    std::vector<T> values = to_vector();
    values.push_back(value);
    *this = SmallList(values);
  }
  void clear() { *this = SmallList(); }
  std::vector<T> to_vector() const { return {begin(), end()}; }
  friend bool operator==(const SmallList& a, const SmallList& b) {
    return std::ranges::equal(a, b);
  }

 private:
  /// Copies the values into the list. Requires: the list is empty and owns nothing.
  void set(const T* values, std::size_t count) {
    size_ = static_cast<std::uint32_t>(count);
    T* place = reinterpret_cast<T*>(bytes_);
    if (count > kInline) {
      place = new T[count];
      std::memcpy(bytes_, &place, kPointerBytes);
    }
    std::copy_n(values, count, place);
  }
  T* heap() const {
    T* place = nullptr;
    std::memcpy(&place, bytes_, kPointerBytes);
    return place;
  }

  static constexpr std::size_t kPointerBytes =
      sizeof(void*);  ///< of bytes_, where values are on the heap
  alignas(T) char bytes_[kInline * sizeof(T)] = {};
  std::uint32_t size_ = 0;
};

}  // namespace muster
