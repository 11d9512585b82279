// "gpu:h100:2" and its like, as options and slurm.conf write them, and the lists that scontrol and
// sacct show.

#include "slurm/gres_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "slurm/memory_text.h"
#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kGpu = "gpu";

tl::unexpected<Error> invalid(std::string detail) {
  return fail(ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
              std::move(detail));
}

// "2", "4k". Nullopt: no count.
std::optional<std::uint32_t> parse_count(std::string_view text) {
  // Powers of 1024, as Slurm counts. Source: gres.conf(5), Count.
  constexpr std::string_view kUnits = "kmg";
  if (text.empty()) return std::nullopt;
  const std::size_t unit = kUnits.find(to_lower(text.back()));
  const bool has_unit = unit != std::string_view::npos;
  const std::uint32_t shift = has_unit ? static_cast<std::uint32_t>(10 * (unit + 1)) : 0;
  // Shifted back first: a count that does not fit is refused, not cut off.
  const auto count =
      parse_whole32(text.substr(0, text.size() - (has_unit ? 1 : 0)), UINT32_MAX >> shift);
  if (!count) return std::nullopt;
  return *count << shift;
}

// sbatch writes it with "gres/" or "gres:" before it.
std::string_view without_prefix(std::string_view text) {
  for (const std::string_view prefix : {"gres/", "gres:"}) {
    if (text.substr(0, prefix.size()) == prefix) return text.substr(prefix.size());
  }
  return text;
}

bool is_letter(char c) { return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_'; }

// Types may begin with a digit: "1g.10gb" is a slice of a GPU.
bool is_type(std::string_view text) {
  const bool begins_well = !text.empty() && (is_letter(text.front()) || is_digit(text.front()));
  return begins_well && std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '+';
         });
}
/// "gres" is what may stand before a name, as in "gres:gpu:2".
bool is_name(std::string_view text) {
  return is_type(text) && is_letter(text.front()) && text != "gres";
}

// "gpu:h100:2" as {"gpu", "h100", "2"}; "=" counts as the last colon.
std::vector<std::string_view> fields_of(std::string_view item) {
  const std::size_t equals = item.rfind('=');
  if (equals == std::string_view::npos) return split(item, ':');
  std::vector<std::string_view> fields = split(item.substr(0, equals), ':');
  fields.push_back(item.substr(equals + 1));
  return fields;
}

// The last field is the count when it looks like one; the rest are name and type.
std::optional<GresAmount> parse_fields(std::vector<std::string_view> fields) {
  GresAmount amount{.name = {}, .type = {}, .count = 1};
  if (!fields.empty() && !fields.back().empty() && is_digit(fields.back().front())) {
    const auto count = parse_count(fields.back());
    if (!count) return std::nullopt;
    amount.count = *count;
    fields.pop_back();
  }
  if (fields.empty() || fields.size() > 2 || !is_name(fields[0])) return std::nullopt;
  amount.name = fields[0];
  if (fields.size() == 1) return amount;
  if (!is_type(fields[1])) return std::nullopt;
  amount.type = fields[1];
  return amount;
}

Status add_amount(GresAmount amount, std::string_view item, std::vector<GresAmount>& amounts) {
  for (const GresAmount& other : amounts) {
    // Twice the same is a mistake: which of the two is meant?
    if (other.name != amount.name || other.type != amount.type) continue;
    return invalid(fmt::format("'{}' is given twice: give each resource once", item));
  }
  amounts.push_back(std::move(amount));
  return {};
}

std::vector<GresAmount> sorted(std::vector<GresAmount> amounts) {
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

void drop_zeros(std::vector<GresAmount>& amounts) {
  // 0 asks for nothing, and must not ask for a device that is not there.
  std::erase_if(amounts, [](const GresAmount& amount) { return amount.count == 0; });
}

}  // namespace

Result<std::vector<GresAmount>> parse_gres(std::string_view text) {
  return sorted(TRY(parse_gres_in_order(text)));
}

Result<std::vector<GresAmount>> parse_gres_in_order(std::string_view text) {
  std::vector<GresAmount> amounts;
  if (equal_ignoring_case(trim(text), "none")) return amounts;
  for (const std::string_view part : split(text, ',')) {
    auto amount = parse_fields(fields_of(without_prefix(trim(part))));
    if (!amount) return invalid(fmt::format("'{}' of '{}': write NAME[[:TYPE]:COUNT]", part, text));
    TRY(add_amount(std::move(*amount), part, amounts));
  }
  drop_zeros(amounts);
  return amounts;
}

Result<std::vector<GresAmount>> parse_gpus(std::string_view text) {
  std::vector<GresAmount> amounts;
  if (trim(text).empty()) return amounts;
  for (const std::string_view part : split(text, ',')) {
    std::vector<std::string_view> fields = fields_of(trim(part));
    // --gpus names types only: the kind is what it is about.
    fields.insert(fields.begin(), kGpu);
    auto amount = parse_fields(std::move(fields));
    if (!amount) return invalid(fmt::format("'{}' of '{}': write [TYPE:]COUNT", part, text));
    TRY(add_amount(std::move(*amount), part, amounts));
  }
  drop_zeros(amounts);
  return sorted(std::move(amounts));
}

std::string gres_text(const std::vector<GresAmount>& amounts) {
  std::vector<std::string> parts;
  for (const GresAmount& amount : amounts) {
    const std::string type = amount.type.empty() ? "" : ":" + amount.type;
    parts.push_back(fmt::format("{}{}:{}", amount.name, type, amount.count));
  }
  return join(parts, ",");
}

std::string tres_text(const TresCounts& counts) {
  std::vector<std::string> parts;
  if (counts.cpus != 0) parts.push_back(fmt::format("cpu={}", counts.cpus));
  if (counts.memory_mib != 0)
    parts.push_back(fmt::format("mem={}", memory_text(counts.memory_mib)));
  if (counts.nodes != 0) parts.push_back(fmt::format("node={}", counts.nodes));
  // A node counts only of what is allocated.
  if (counts.billing != 0) parts.push_back(fmt::format("billing={}", counts.billing));
  std::map<std::string, std::uint64_t> gres;  // "gpu" before "gpu:h100"
  for (const GresAmount& amount : counts.gres) {
    if (amount.count == 0) continue;
    // An amount with a type counts as one of its own and as one of its name.
    gres[amount.name] += amount.count;
    if (!amount.type.empty()) gres[amount.name + ":" + amount.type] += amount.count;
  }
  for (const auto& [name, count] : gres) parts.push_back(fmt::format("gres/{}={}", name, count));
  return join(parts, ",");
}

}  // namespace muster
