// Rows under headings.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

using Row = std::vector<std::string>;

/// Each column as wide as its widest cell; the last is not padded.
std::string table_text(const Row& headings, const std::vector<Row>& rows);

}  // namespace muster::cli
