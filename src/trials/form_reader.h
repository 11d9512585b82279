// Reads an object with known fields out of a value, and reports everything that is wrong with it at
// once: where it stands, what is wrong, what to write instead. Fields that nobody asked for are
// wrong too.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/json.h"
#include "text/yaml_text.h"

namespace muster {

/// One problem: "searcher.max_trials: 0 is not possible; give a whole number of 1 or more", and its
/// line (0: it does not stand in the file, but in a layer below it or on the command line).
struct FormProblem {
  std::string path;
  std::string message;
  int line = 0;
  /// Returns "line 12: searcher.max_trials: ...".
  std::string text() const;
};

/// What all readers of one document share.
struct FormContext {
  const LineMap& lines;
  std::vector<FormProblem> problems;
};

/// Reads one object. A field that is null counts as left out. Lifetime: value and context outlive
/// it.
class FormReader {
 public:
  FormReader(FormContext& context, const Json* value, std::string path);

  bool has(std::string_view name) const;
  /// Returns all fields, asked for or not.
  std::span<const Json::Member> members() const;
  /// Records a problem with a field, or with the object itself (no name).
  void refuse(std::string_view name, std::string message);
  /// Records that the field is missing, if it is. True: it is there.
  bool require(std::string_view name, std::string_view what);

  /// Returns the field as it is; nullptr when it is left out.
  const Json* field(std::string_view name);
  /// Each reads a field, and leaves `out` alone when it is left out or wrong.
  void text(std::string_view name, std::string& out);
  void flag(std::string_view name, bool& out);
  void number(std::string_view name, double& out, double low, double high);
  /// Reads a whole number. Bounds are included; without `high` it is as high as T and 63 bits go.
  template <class T>
  void whole(std::string_view name, T& out, std::int64_t low, std::int64_t high = most<T>()) {
    if (const auto value = whole_number(name, low, high)) out = static_cast<T>(*value);
  }
  /// Returns the index of the field's word among these. Nullopt: left out or wrong.
  std::optional<std::size_t> choice(std::string_view name, std::span<const std::string_view> words);
  /// Returns the field as an object; an empty reader when it is left out.
  FormReader section(std::string_view name);

  /// Records every field that was not asked for, with the nearest that could have been.
  void finish();

  FormContext& context() { return context_; }
  std::string path_of(std::string_view name) const;

 private:
  template <class T>
  static constexpr std::int64_t most() {
    return std::in_range<std::int64_t>(std::numeric_limits<T>::max())
               ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
               : std::numeric_limits<std::int64_t>::max();
  }
  std::optional<std::int64_t> whole_number(std::string_view name, std::int64_t low,
                                           std::int64_t high);

  FormContext& context_;
  const Json* value_;
  std::string path_;
  std::vector<std::string> asked_;
};

/// Returns how a value is named in messages: `3`, `0.5`, `"text"`, `true`, `null`, `a list`, `a
/// map`.
std::string shown_value(const Json& value);

}  // namespace muster
