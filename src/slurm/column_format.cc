// Formats of squeue, sinfo and sacct: three languages for the same thing. Widths count characters
// and not bytes, so that names of users stay whole.

#include "slurm/column_format.h"

#include <fmt/core.h>

#include <optional>

#include "text/words.h"

namespace muster {
namespace {

// As wide as a column of Slurm may be.
constexpr std::uint32_t kWidthMax = 65535;
// A name without a width is 20 characters wide. Source: squeue(1), --Format.
constexpr std::uint32_t kLongFormatWidth = 20;

tl::unexpected<Error> invalid(std::string_view part, std::string_view whole,
                              std::string_view form) {
  return fail(ErrorCode::kInvalidArgument, "Invalid format specification",
              fmt::format("'{}' of '{}': write {}", part, whole, form));
}

// Takes digits off the beginning. Nullopt: more than kWidthMax.
std::optional<std::uint32_t> consume_width(std::string_view& rest, ColumnSpec& column) {
  const std::size_t digits = leading_digits(rest);
  // A width of 0 and no width differ: the column then has its own.
  column.has_width = digits > 0;
  // Wider than a screen is a mistake, not a wish.
  const auto width = digits == 0 ? 0 : parse_whole32(rest.substr(0, digits), kWidthMax);
  rest.remove_prefix(digits);
  return width;
}

// Reads ".18" from the beginning of `rest`. False: the width is too large.
bool consume_justification(std::string_view& rest, ColumnSpec& column) {
  column.is_right = !rest.empty() && rest.front() == '.';
  if (column.is_right) rest.remove_prefix(1);
  const auto width = consume_width(rest, column);
  column.width = width.value_or(0);
  return width.has_value();
}

bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }

// Bytes of 10xxxxxx belong to the character before them.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += is_continuation(c) ? 0 : 1;
  return count;
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i]) && count-- == 0) return text.substr(0, i);
  }
  return text;
}

std::string cut_cell(std::string_view text, std::uint32_t width, CutMark mark) {
  if (mark == CutMark::kNone) return std::string(first_characters(text, width));
  return std::string(first_characters(text, width - 1)) + '+';
}

}  // namespace

Result<ColumnFormat> parse_short_format(std::string_view text) {
  ColumnFormat format;
  std::string_view rest = text;
  while (!rest.empty()) {
    // Text between columns belongs to the one before it.
    std::string& literal = format.columns.empty() ? format.prefix : format.columns.back().suffix;
    if (rest.front() != '%') {
      literal += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    if (rest.substr(0, 2) == "%%") {
      literal += '%';
      rest.remove_prefix(2);
      continue;
    }
    const std::string_view part = rest;
    rest.remove_prefix(1);
    ColumnSpec column;
    // A percent sign without a letter would lose the rest of the format.
    if (!consume_justification(rest, column) || rest.empty() || !is_letter(rest.front())) {
      return invalid(part, text, "%[.][WIDTH]LETTER");
    }
    column.letter = rest.front();
    rest.remove_prefix(1);
    format.columns.push_back(std::move(column));
  }
  return format;
}

Result<ColumnFormat> parse_long_format(std::string_view text) {
  ColumnFormat format;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) continue;
    const std::size_t colon = part.find(':');
    ColumnSpec column;
    column.name = trim(part.substr(0, colon));
    column.width = kLongFormatWidth;
    bool is_good = !column.name.empty();
    if (colon != std::string_view::npos) {
      std::string_view rest = part.substr(colon + 1);
      is_good = consume_justification(rest, column) && is_good;
      // What stands behind the width is printed after each cell.
      column.suffix = rest;
    }
    if (!is_good) return invalid(part, text, "NAME[:[.][WIDTH][SUFFIX]]");
    column.has_width = true;
    format.columns.push_back(std::move(column));
  }
  return format;
}

Result<ColumnFormat> parse_accounting_format(std::string_view text) {
  ColumnFormat format;
  for (const std::string_view part : split_words(text, ',')) {
    const std::size_t percent = part.find('%');
    ColumnSpec column;
    column.name = trim(part.substr(0, percent));
    // Right-aligned unless the width is negative. Source: sacct(1), --format.
    column.is_right = true;
    bool is_good = !column.name.empty();
    if (percent != std::string_view::npos) {
      std::string_view rest = part.substr(percent + 1);
      column.is_right = rest.empty() || rest.front() != '-';
      if (!column.is_right) rest.remove_prefix(1);
      const auto width = consume_width(rest, column);
      column.width = width.value_or(0);
      // Behind a percent sign there must be a width and nothing else.
      is_good = is_good && width && column.has_width && rest.empty();
    }
    if (!is_good) return invalid(part, text, "FIELD[%[-]WIDTH]");
    format.columns.push_back(std::move(column));
  }
  return format;
}

void append_cell(std::string& out, std::string_view text, const ColumnSpec& column, CutMark mark) {
  // 0 is as wide as the text.
  const std::size_t size = column.width == 0 ? 0 : character_count(text);
  if (size > column.width) {
    out += cut_cell(text, column.width, mark);
    return;
  }
  const std::size_t blanks = column.width - size;
  if (column.is_right) out.append(blanks, ' ');
  out += text;
  if (!column.is_right) out.append(blanks, ' ');
}

std::string column_cell(std::string_view text, const ColumnSpec& column, CutMark mark) {
  std::string cell;
  append_cell(cell, text, column, mark);
  return cell;
}

}  // namespace muster
