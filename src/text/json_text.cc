// A writer per type of value, which recurses into lists and objects; their depth was bounded when
// they were read.

#include "text/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/utf8.h"

namespace muster {
namespace {

/// JSON is UTF-8 (RFC 8259, section 8.1): what is none would make all of a document unreadable.
void append_text(std::string& out, std::string_view text) {
  out += '"';
  // Most texts are ASCII: they are not copied and not checked further.
  const bool is_ascii = std::ranges::none_of(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; });
  std::string mended;
  if (!is_ascii) text = mended = valid_utf8(text);
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        // DEL too, although JSON allows it: the text is shown on terminals.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::string number_text(double value) {
  // Determined's harness writes and reads metrics that are no numbers as these texts.
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  // fmt writes the shortest digits that give the same double again.
  std::string text = fmt::format("{}", value);
  // Without a point it would be read as a whole number, which is a value of another kind.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

struct Writer {
  std::string& out;
  void operator()(std::monostate) { out += "null"; }
  void operator()(bool value) { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) { out += std::to_string(value); }
  void operator()(double value) { out += number_text(value); }
  void operator()(const std::string& value) { append_text(out, value); }
  void operator()(const Json::Array& items) {
    out += '[';
    bool is_first = true;
    // A blank behind commas and colons, as Python's json.dumps writes it.
    for (const Json& item : items) {
      if (!std::exchange(is_first, false)) out += ", ";
      std::visit(*this, item.value());
    }
    out += ']';
  }
  void operator()(const Json::Object& members) {
    out += '{';
    bool is_first = true;
    for (const Json::Member& member : members) {
      if (!std::exchange(is_first, false)) out += ", ";
      append_text(out, member.name);
      out += ": ";
      std::visit(*this, member.value.value());
    }
    out += '}';
  }
};

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  std::visit(Writer{out}, value.value());
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out;
  append_text(out, text);
  return out;
}

}  // namespace muster
