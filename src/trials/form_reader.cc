// A reader keeps the names that were asked for; finish() compares them with the members. Problems
// are collected in the context instead of returned: a user sees all faults of a file at once.

#include "trials/form_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/words.h"

namespace muster {
namespace {

struct Shown {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  // Control characters of a file must not reach a terminal.
  std::string operator()(const std::string& value) const {
    std::string text;
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      text += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
    return fmt::format("\"{}\"", text);
  }
  std::string operator()(const Json::Array&) const { return "a list"; }
  std::string operator()(const Json::Object&) const { return "a map"; }
};

std::string bounds_text(const std::string& low, const std::string& high, bool has_high) {
  return has_high ? fmt::format(" from {} to {}", low, high) : fmt::format(" of {} or more", low);
}

}  // namespace

std::string shown_value(const Json& value) { return std::visit(Shown{}, value.value()); }

std::string FormProblem::text() const {
  const std::string place = line > 0 ? fmt::format("line {}: ", line) : "";
  return path.empty() ? place + message : fmt::format("{}{}: {}", place, path, message);
}

FormReader::FormReader(FormContext& context, const Json* value, std::string path)
    : context_(context), value_(value), path_(std::move(path)) {
  if (value_ == nullptr || value_->is_null()) {
    // A section that is null or absent reads as one without fields.
    value_ = nullptr;
  } else if (value_->object() == nullptr) {
    refuse("", fmt::format("{} is not a map of names and values", shown_value(*value_)));
    value_ = nullptr;
  }
}

std::string FormReader::path_of(std::string_view name) const {
  if (name.empty()) return path_;
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void FormReader::refuse(std::string_view name, std::string message) {
  const std::string path = path_of(name);
  const auto line = context_.lines.find(path);
  context_.problems.push_back(
      {path, std::move(message), line == context_.lines.end() ? 0 : line->second});
}

bool FormReader::has(std::string_view name) const {
  const Json* found = value_ == nullptr ? nullptr : value_->find(name);
  return found != nullptr && !found->is_null();
}

std::span<const Json::Member> FormReader::members() const {
  if (value_ == nullptr) return {};
  return *value_->object();
}

const Json* FormReader::field(std::string_view name) {
  // Asked for, whether or not it is there: the list is also what finish() proposes instead of a
  // misspelt name.
  asked_.emplace_back(name);
  return has(name) ? value_->find(name) : nullptr;
}

bool FormReader::require(std::string_view name, std::string_view what) {
  if (has(name)) return true;
  // A null field counts as left out: without its name here finish() would refuse it as unknown
  // too.
  asked_.emplace_back(name);
  refuse("", fmt::format("'{}' is missing; give {}", name, what));
  return false;
}

void FormReader::text(std::string_view name, std::string& out) {
  const Json* value = field(name);
  if (value == nullptr) return;
  if (value->text() == nullptr)
    return refuse(name, fmt::format("{} is not a text; put it in quotes", shown_value(*value)));
  out = *value->text();
}

void FormReader::flag(std::string_view name, bool& out) {
  const Json* value = field(name);
  if (value == nullptr) return;
  if (value->boolean() == nullptr)
    return refuse(name, fmt::format("{} is neither true nor false", shown_value(*value)));
  out = *value->boolean();
}

void FormReader::number(std::string_view name, double& out, double low, double high) {
  const Json* value = field(name);
  if (value == nullptr) return;
  const auto number = value->number();
  if (number && *number >= low && *number <= high) {
    out = *number;
    return;
  }
  // Bounds of 1e300 mean that there are none, and are no advice to a user.
  refuse(name, fmt::format("{} is not possible; give a number{}", shown_value(*value),
                           low < -1e299 ? ""
                                        : bounds_text(fmt::format("{}", low),
                                                      fmt::format("{}", high), high < 1e299)));
}

std::optional<std::int64_t> FormReader::whole_number(std::string_view name, std::int64_t low,
                                                     std::int64_t high) {
  const Json* value = field(name);
  if (value == nullptr) return std::nullopt;
  std::optional<std::int64_t> whole;
  if (value->whole() != nullptr) whole = *value->whole();
  // YAML and JSON have one kind of number to the user: 1e3 and 64.0 are whole too, as long as a
  // double holds them exactly.
  if (const auto number = value->number();
      number && !whole && std::floor(*number) == *number && std::abs(*number) < 0x1p53) {
    whole = static_cast<std::int64_t>(*number);
  }
  if (whole && *whole >= low && *whole <= high) return whole;
  // Bounds from here on are the type's, and no advice to a user.
  constexpr std::int64_t kUnbounded = (std::int64_t{1} << 53) - 1;
  refuse(name,
         fmt::format("{} is not possible; give a whole number{}", shown_value(*value),
                     low < -kUnbounded ? ""
                                       : bounds_text(std::to_string(low), std::to_string(high),
                                                     high < kUnbounded)));
  return std::nullopt;
}

std::optional<std::size_t> FormReader::choice(std::string_view name,
                                              std::span<const std::string_view> words) {
  const Json* value = field(name);
  if (value == nullptr) return std::nullopt;
  if (const std::string* text = value->text()) {
    const auto found = std::ranges::find(words, *text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  refuse(name, fmt::format("{} is not one of {}", shown_value(*value), all));
  return std::nullopt;
}

FormReader FormReader::section(std::string_view name) {
  return FormReader(context_, field(name), path_of(name));
}

void FormReader::finish() {
  if (value_ == nullptr) return;
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const Json::Member& member : *value_->object()) {
    if (std::ranges::find(asked_, member.name) != asked_.end()) continue;
    const auto nearest = nearest_word(member.name, known);
    refuse(member.name, nearest ? fmt::format("there is no such field here; is it '{}'?", *nearest)
                                : "there is no such field here; take it out");
  }
}

}  // namespace muster
