// Stores a search's state as bytes and reads it back, from one list of fields for both directions.
// Numbers are stored as their bits, lowest byte first, so that a search that is loaded continues as
// if it had never stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/id.h"
#include "model/json.h"
#include "model/search_action.h"

namespace muster::search {

/// Writes fields to bytes, or reads them back in the same order. Bytes that end early or hold what
/// was never written leave zeros, and is_ok() false.
class Archive {
 public:
  Archive() = default;  ///< writes
  explicit Archive(std::string_view bytes) : rest_(bytes), is_reading_(true) {}

  bool is_reading() const { return is_reading_; }
  bool is_ok() const { return is_ok_; }
  /// True when all has been read.
  bool is_at_end() const { return rest_.empty(); }
  const std::string& bytes() const { return bytes_; }
  /// Marks what is read as never written.
  void refuse() {
    is_ok_ = false;
    rest_ = {};
  }

  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void field(T& value) {
    auto wide = static_cast<std::uint64_t>(value);
    transfer(wide, sizeof(T));
    if (is_reading_) value = static_cast<T>(wide);
  }
  void field(double& value);
  void field(std::string& value);
  void field(Json& value);
  void field(TrialReport& report) { fields(report.metric, report.time); }
  template <class Tag, class Rep>
  void field(Id<Tag, Rep>& id) {
    Rep value = id.value();
    field(value);
    id = Id<Tag, Rep>(value);
  }
  template <class T>
  void field(std::optional<T>& value) {
    bool is_there = value.has_value();
    field(is_there);
    if (is_reading_) is_there ? void(value.emplace()) : value.reset();
    if (value) field(*value);
  }
  template <class T>
  void field(std::vector<T>& values) {
    std::size_t count = begin_list(values.size());
    if (is_reading_) values.assign(count, T{});
    for (T& value : values) field(value);
  }
  template <class K, class V>
  void field(std::map<K, V>& values) {
    std::size_t count = begin_list(values.size());
    if (!is_reading_) {
      for (auto& [key, value] : values) {
        K copy = key;
        fields(copy, value);
      }
      return;
    }
    values.clear();
    for (; count > 0 && is_ok_; --count) {
      K key{};
      V value{};
      fields(key, value);
      values.insert_or_assign(values.end(), std::move(key), std::move(value));
    }
  }
  /// Archives a struct, which says its own list: `void archive(Archive& archive) {
  /// archive.fields(a, b); }`.
  template <class T>
  requires requires(T& value, Archive& archive) { value.archive(archive); }
  void field(T& value) { value.archive(*this); }
  template <class... T>
  void fields(T&... values) {
    (field(values), ...);
  }

 private:
  void transfer(std::uint64_t& value, std::size_t size);
  /// Archives a list's length. Each element needs at least a byte: a length beyond the rest was
  /// never written.
  std::size_t begin_list(std::size_t count);
  std::string_view read_bytes(std::size_t size);

  std::string bytes_;
  std::string_view rest_;
  bool is_reading_ = false;
  bool is_ok_ = true;
};

}  // namespace muster::search
