#include "tests/scenario_text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <istream>

#include "slurm/hostlist.h"
#include "text/words.h"

namespace muster::scenario {
namespace {

/// Where the remark begins, outside of quotes; the length of the text if there is none.
std::size_t remark_in(std::string_view text) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '#' && !is_quoted && (i == 0 || is_blank(text[i - 1]))) return i;
  }
  return text.size();
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool is_quoted = false;
  bool is_in_word = false;
  for (const char c : text) {
    const bool is_parting = !is_quoted && is_blank(c);
    if (!is_parting && !is_in_word) words.emplace_back();
    is_in_word = !is_parting;
    if (c == '"') is_quoted = !is_quoted;
    if (!is_parting && c != '"') words.back() += c;
  }
  return words;
}

std::vector<TextLine> read_text(std::istream& stream) {
  std::vector<TextLine> lines;
  std::string text;
  bool is_continued = false;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    std::string_view content = trim(std::string_view(text).substr(0, remark_in(text)));
    const bool goes_on = content.ends_with('\\');
    if (goes_on) content.remove_suffix(1);
    if (!is_continued && trim(content).empty()) continue;
    if (!is_continued) lines.push_back({number, "", {}});
    lines.back().text += content;
    is_continued = goes_on;
  }
  for (TextLine& line : lines) line.words = words_of(line.text);
  return lines;
}

std::vector<std::string> expand_hosts(std::string_view text) {
  auto names = expand_hostlist(text);
  return names.has_value() ? std::move(names).value() : std::vector<std::string>{};
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (const std::string_view part : split(text, separator)) parts.emplace_back(part);
  return parts;
}

Options::Options(std::span<const std::string> words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const bool is_text = word.substr(0, equals).find(' ') != std::string::npos;
    if (equals == std::string::npos || equals == 0 || is_text) {
      names_.push_back(word);
    } else {
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
}

const std::string& Options::name(std::size_t index) const {
  static const std::string kNone;
  return index < names_.size() ? names_[index] : kNone;
}

bool Options::has_name(std::string_view word) const {
  return std::ranges::find(names_, word) != names_.end();
}

bool Options::has(const std::string& key) const {
  read_.insert(key);
  return values_.contains(key);
}

std::string Options::get(const std::string& key, const std::string& otherwise) const {
  return has(key) ? values_.at(key) : otherwise;
}

std::int64_t Options::number_of(const std::string& key, std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  std::int64_t number = 0;
  if (read_number(values_.at(key), number)) return number;
  malformed_.insert(key);
  return otherwise;
}

const std::map<std::string, std::string>& Options::all() const {
  for (const auto& [key, value] : values_) read_.insert(key);
  return values_;
}

std::vector<std::string> Options::problems() const {
  std::vector<std::string> texts;
  for (const auto& [key, value] : values_) {
    if (!read_.contains(key)) texts.push_back("unknown option " + key);
    if (malformed_.contains(key)) texts.push_back(key + "=" + value + " is no number");
  }
  return texts;
}

bool read_number(std::string_view text, std::int64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

std::set<std::string> scenario_files(std::span<const std::string> places) {
  namespace fs = std::filesystem;
  std::set<std::string> files;
  for (const std::string& place : places) {
    if (!fs::is_directory(place)) {
      files.insert(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      if (entry.path().extension() == ".scenario") files.insert(entry.path().string());
    }
  }
  return files;
}

}  // namespace muster::scenario
