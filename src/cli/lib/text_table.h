// Prints rows under headings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

using Row = std::vector<std::string>;

/// Returns the colour of a cell; null: none has one. Each column of a table is as wide as its
/// widest cell; the last is not padded.
using Paint = std::string_view (*)(std::string_view cell);
std::string table_text(const Row& headings, const std::vector<Row>& rows, Paint paint = nullptr);

/// Returns the escape sequence for a state's name, "" for any other text: green for what is done,
/// red for what failed, yellow for what waits, blue for what runs.
std::string_view state_colour(std::string_view cell);
/// Returns `state_colour` where standard output is a terminal that shows colours and nobody asked
/// for none; null elsewhere. Source: NO_COLOR (no-color.org), TERM=dumb.
Paint terminal_paint();

}  // namespace muster::cli
