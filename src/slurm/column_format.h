// Column formats of the query commands: squeue -o "%.18i %j", squeue -O "JobID:10,Name", sacct -o
// "JobID%-20". Which letters and names there are belongs to each command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// One column. Units: width in characters (UTF-8 sequences count once).
struct ColumnSpec {
  char letter = 0;          ///< short formats
  std::string name = {};    ///< long formats, as written; names match in any case
  std::uint32_t width = 0;  ///< 0: as wide as the text
  bool is_right = false;    ///< right-justified
  bool has_width = false;   ///< false: the command's own width for the field applies
  std::string suffix = {};  ///< literal text after the cell
  friend bool operator==(const ColumnSpec&, const ColumnSpec&) = default;
};

struct ColumnFormat {
  std::string prefix;  ///< literal text before the first column
  std::vector<ColumnSpec> columns;
  friend bool operator==(const ColumnFormat&, const ColumnFormat&) = default;
};

/// Reads `%[.][WIDTH]LETTER` and literal text; `%%` is a percent sign; the dot right-justifies.
/// Errors: kInvalidArgument "Invalid format specification" with the text. Source: squeue(1),
/// sinfo(1) -o.
Result<ColumnFormat> parse_short_format(std::string_view text);

/// Reads `NAME[:[.][WIDTH][SUFFIX]]` parted by commas; nothing between two commas, or after the
/// last, is no column. Without a colon a column is 20 wide; with one but no WIDTH it is as wide as
/// its text. Errors: as above. Source: squeue(1), sinfo(1) -O.
Result<ColumnFormat> parse_long_format(std::string_view text);

/// Reads `FIELD[%[-]WIDTH]` parted by commas; columns are right-justified unless the width is
/// negative. Errors: as above. Source: sacct(1) --format.
Result<ColumnFormat> parse_accounting_format(std::string_view text);

/// What shows that a cell was cut: nothing, or a `+` in the place of its last character (the
/// accounting commands).
enum class CutMark { kNone, kPlus };

/// Returns the text cut and filled with blanks to the column's width, without the suffix.
std::string column_cell(std::string_view text, const ColumnSpec& column,
                        CutMark mark = CutMark::kNone);
/// Appends the same to `out`.
void append_cell(std::string& out, std::string_view text, const ColumnSpec& column,
                 CutMark mark = CutMark::kNone);

}  // namespace muster
