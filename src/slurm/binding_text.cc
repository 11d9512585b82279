// --cpu-bind and --gpu-bind as srun(1) has them: a type, and for some types a list of numbers or
// masks. What a list means for a node is decided where its CPUs are known.

#include "slurm/binding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "text/words.h"

namespace muster {
namespace {

// As Slurm's numbers of CPUs, 16 bits.
constexpr std::uint32_t kIndexMax = 65535;
// 1024 hexadecimal digits are masks of 4096 CPUs.
constexpr std::size_t kMaskDigitsMax = 1024;
constexpr std::size_t kMasksMax = 65536;

/// "cores" or "map_cpu:0,1": a type, and what stands after its colon.
struct BindWord {
  std::string type;
  std::optional<std::string> value;
};

struct BindWords {
  bool is_verbose = false;
  std::vector<BindWord> words;
};

/// Lists have commas inside them: a word without a colon belongs to the list before it.
BindWords read_words(std::string_view text) {
  BindWords result;
  for (const std::string_view word : split_words(text, ',')) {
    const std::size_t colon = word.find(':');
    const std::string name = lower(word.substr(0, colon));
    const bool is_in_list =
        !result.words.empty() && result.words.back().value && colon == std::string_view::npos;
    // May stand before, between or behind the types.
    if (name == "quiet" || name == "q" || name == "verbose" || name == "v") {
      result.is_verbose = name[0] == 'v';
    } else if (is_in_list) {
      *result.words.back().value += "," + std::string(word);
    } else {
      result.words.push_back({name, colon == std::string_view::npos
                                        ? std::nullopt
                                        : std::optional(std::string(word.substr(colon + 1)))});
    }
  }
  return result;
}

std::optional<std::uint32_t> hex_digit(char c) {
  const char low = to_lower(c);
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  if (low >= 'a' && low <= 'f') return static_cast<std::uint32_t>(low - 'a' + 10);
  return std::nullopt;
}

// "0x" alone is no number.
bool has_hex_mark(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && to_lower(text[1]) == 'x';
}

std::optional<Bitmap> read_mask(std::string_view text) {
  if (has_hex_mark(text)) text.remove_prefix(2);
  if (text.empty() || text.size() > kMaskDigitsMax) return std::nullopt;
  Bitmap mask;
  // The lowest digit is the last one.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = hex_digit(text[text.size() - 1 - i]);
    if (!digit) return std::nullopt;
    for (std::size_t bit = 0; bit < 4; ++bit) {
      if ((*digit >> bit & 1U) != 0) mask.set(i * 4 + bit);
    }
  }
  // A mask without a bit would bind to nothing.
  return mask.empty() ? std::nullopt : std::optional(mask);
}

std::optional<Bitmap> read_index(std::string_view text) {
  std::optional<std::uint32_t> index = parse_whole32(text, kIndexMax);
  if (has_hex_mark(text)) {
    index = 0;
    for (const char c : text.substr(2)) {
      const auto digit = hex_digit(c);
      // Before the multiplication, which would overflow.
      if (!digit || *index > kIndexMax / 16) return std::nullopt;
      *index = *index * 16 + *digit;
    }
  }
  return index ? std::optional(Bitmap::range(*index, 1)) : std::nullopt;
}

/// Empty: not a list.
std::vector<Bitmap> read_list(std::string_view text, bool is_mask) {
  std::vector<Bitmap> masks;
  for (const std::string_view item : split(text, ',')) {
    // "0x1*4": the same mask for four tasks.
    const std::size_t star = item.find('*');
    const auto mask = is_mask ? read_mask(item.substr(0, star)) : read_index(item.substr(0, star));
    const auto times = star == std::string_view::npos
                           ? std::optional(1U)
                           : parse_whole32(item.substr(star + 1), kMasksMax);
    // Bounded, as a short text could stand for millions of masks.
    if (!mask || !times || *times == 0 || masks.size() + *times > kMasksMax) return {};
    masks.insert(masks.end(), *times, *mask);
  }
  return masks;
}

tl::unexpected<Error> unknown(std::string_view option, std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid --{} specification", option),
              fmt::format("unrecognized --{} argument \"{}\"", option, text));
}

}  // namespace

Result<CpuBind> parse_cpu_bind(std::string_view text) {
  // Types of Slurm that Muster has not, refused by name rather than as misspelt.
  static constexpr std::string_view kOthers[] = {"ldom",     "ldoms",     "rank_ldom",
                                                 "map_ldom", "mask_ldom", "boards",
                                                 "board",    "help",      "one_thread"};
  static constexpr std::pair<std::string_view, CpuBindKind> kTypes[] = {
      {"none", CpuBindKind::kNone},      {"no", CpuBindKind::kNone},
      {"n", CpuBindKind::kNone},         {"rank", CpuBindKind::kRank},
      {"thread", CpuBindKind::kThreads}, {"threads", CpuBindKind::kThreads},
      {"core", CpuBindKind::kCores},     {"cores", CpuBindKind::kCores},
      {"socket", CpuBindKind::kSockets}, {"sockets", CpuBindKind::kSockets},
      {"map_cpu", CpuBindKind::kList},   {"mask_cpu", CpuBindKind::kList}};
  const BindWords read = read_words(text);
  CpuBind bind;
  bind.is_verbose = read.is_verbose;
  for (const BindWord& word : read.words) {
    if (std::ranges::find(kOthers, std::string_view(word.type)) != std::end(kOthers)) {
      return fail(ErrorCode::kUnimplemented,
                  fmt::format("--cpu-bind={} is not supported by Muster yet", word.type));
    }
    const auto type =
        std::ranges::find_if(kTypes, [&](const auto& known) { return known.first == word.type; });
    const bool is_list = type != std::end(kTypes) && type->second == CpuBindKind::kList;
    // A second type would contradict the first; a list without a value, or a value without a list,
    // is none.
    if (type == std::end(kTypes) || bind.kind != CpuBindKind::kDefault ||
        is_list != word.value.has_value()) {
      return unknown("cpu-bind", text);
    }
    bind.kind = type->second;
    if (is_list) bind.masks = read_list(*word.value, word.type == "mask_cpu");
    if (is_list && bind.masks.empty()) return unknown("cpu-bind", text);
  }
  return bind;
}

Result<GpuBind> parse_gpu_bind(std::string_view text) {
  static constexpr std::pair<std::string_view, GpuBindKind> kTypes[] = {
      {"none", GpuBindKind::kNone},     {"closest", GpuBindKind::kClosest},
      {"single", GpuBindKind::kSingle}, {"per_task", GpuBindKind::kPerTask},
      {"map", GpuBindKind::kList},      {"map_gpu", GpuBindKind::kList},
      {"mask", GpuBindKind::kList},     {"mask_gpu", GpuBindKind::kList}};
  const BindWords read = read_words(text);
  GpuBind bind;
  bind.is_verbose = read.is_verbose;
  for (const BindWord& word : read.words) {
    const auto type =
        std::ranges::find_if(kTypes, [&](const auto& known) { return known.first == word.type; });
    if (type == std::end(kTypes) || bind.kind != GpuBindKind::kDefault)
      return unknown("gpu-bind", text);
    bind.kind = type->second;
    // "none" and "closest" take no number, all others need one.
    const bool is_plain = bind.kind == GpuBindKind::kNone || bind.kind == GpuBindKind::kClosest;
    if (is_plain == word.value.has_value()) return unknown("gpu-bind", text);
    if (bind.kind == GpuBindKind::kList) {
      bind.masks = read_list(*word.value, word.type.starts_with("mask"));
      if (bind.masks.empty()) return unknown("gpu-bind", text);
    } else if (!is_plain) {
      bind.count = parse_whole32(*word.value, kIndexMax).value_or(0);
      if (bind.count == 0) return unknown("gpu-bind", text);
    }
  }
  return bind;
}

}  // namespace muster
