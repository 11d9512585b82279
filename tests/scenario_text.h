// The text of a scenario, as both runners read it: lines of words, quotes, lists of nodes and
// key=value options. What the words mean belongs to each runner.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::scenario {

/// A line with something on it. `#` after a blank begins a remark; a backslash at a line's end
/// joins the next; blanks within "double quotes" part no words, and the quotes are gone.
struct TextLine {
  std::size_t number = 0;  ///< of its first line in the file, from 1
  std::string text;        ///< without the remark, quotes as written
  std::vector<std::string> words;
};
std::vector<TextLine> read_text(std::istream& stream);
/// The words of one line.
std::vector<std::string> words_of(std::string_view text);

/// "n[0-2],m" is n0, n1, n2, m. Empty: none, or no host list.
std::vector<std::string> expand_hosts(std::string_view text);
std::vector<std::string> split_text(std::string_view text, char separator);

/// Words "key=value" by their keys, the others in their order. What is asked for is remembered, so
/// that what nobody asked for can be told.
class Options {
 public:
  Options() = default;
  explicit Options(std::span<const std::string> words);
  const std::vector<std::string>& names() const { return names_; }
  /// The name there; empty: there are fewer.
  const std::string& name(std::size_t index) const;
  /// Whether the word stands among the names.
  bool has_name(std::string_view word) const;
  bool has(const std::string& key) const;
  std::string get(const std::string& key, const std::string& otherwise = "") const;
  std::int64_t number_of(const std::string& key, std::int64_t otherwise = 0) const;
  std::uint32_t count(const std::string& key, std::uint32_t otherwise = 0) const {
    return static_cast<std::uint32_t>(number_of(key, otherwise));
  }
  /// All of them; whoever goes through them has read them.
  const std::map<std::string, std::string>& all() const;
  /// Options that nobody asked for, and values that are no number where one was wanted.
  std::vector<std::string> problems() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> read_;
  mutable std::set<std::string> malformed_;
};

/// "12", "-3". False: it is no whole number.
bool read_number(std::string_view text, std::int64_t& number);

/// The *.scenario files among these files and below these folders, in order.
std::set<std::string> scenario_files(std::span<const std::string> places);

}  // namespace muster::scenario
