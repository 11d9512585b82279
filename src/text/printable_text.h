// Makes texts that users gave fit for other users' terminals and programs: one row stays one row,
// and nothing moves a cursor.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// True when nothing in it has to be escaped.
bool is_printable(std::string_view text);

/// Returns the text with control characters as C writes them: a line feed as \n, an escape as \033.
/// Other bytes, UTF-8 too, are as they were.
std::string printable(std::string_view text);
/// Does the same for a text of several lines, whose line feeds stay.
std::string printable_lines(std::string_view text);

}  // namespace muster
