// Names and texts of experiments and of the catalog, which terminals and browsers of other people
// show.
#include "admission/text_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.h"

namespace muster::admission {
namespace {

constexpr std::size_t kNameMax = 512;
constexpr std::size_t kTextMax = std::size_t{256} << 10;
constexpr std::size_t kLabelsMax = 256;

// Terminals obey sequences that begin with one of these.
bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (name.size() > kNameMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} bytes are too many", what, name.size()),
                fmt::format("give at most {}", kNameMax));
  }
  if (std::ranges::any_of(name, is_control)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: it has control characters", what),
                "give one line of text");
  }
  // Marks that turn the direction of writing would show another name than it is.
  if (!is_plain_utf8(name)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: it is not plain UTF-8", what),
                "give characters that a terminal shows as they are");
  }
  return {};
}

Status check_text(std::string_view what, std::string_view text) {
  if (text.size() <= kTextMax && valid_utf8(text) == text) return {};
  if (text.size() <= kTextMax)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: it is not UTF-8", what), "");
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} bytes are too many", what, text.size()),
              fmt::format("give at most {}; keep what is longer in a file", kTextMax));
}

Status check_labels(const ExperimentLabels& labels) {
  TRY(check_name("name", labels.name));
  TRY(check_text("description", labels.description));
  TRY(check_text("notes", labels.notes));
  TRY(check_name("workspace", labels.workspace));
  TRY(check_name("project", labels.project));
  if (labels.labels.size() > kLabelsMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("labels: {} are too many", labels.labels.size()),
                fmt::format("give at most {}", kLabelsMax));
  }
  for (const std::string& label : labels.labels) {
    if (label.empty()) return fail(ErrorCode::kInvalidArgument, "labels: one of them is empty", "");
    TRY(check_name("labels", label));
  }
  return {};
}

}  // namespace muster::admission
