// What a scenario expects of an answer, line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/http_scenario/answer.h"
#include "tests/http_scenario/text.h"

namespace muster::http_scenario {

/// What the answer differs in; nullopt: in nothing. What cannot be understood is a difference, too.
/// Changes `variables` where the line gives a value a name.
std::optional<std::string> difference(const Answer& answer, const std::string& line,
                                      Variables& variables);

/// Three digits: the line says which status is expected.
bool is_status(std::string_view line);

}  // namespace muster::http_scenario
