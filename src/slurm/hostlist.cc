// Lists of hosts, "n[1-3,5]" and back. Slurm's own rules: brackets are numbers with their zeros,
// the last bracket counts fastest, and names are in natural order. Names of nodes become this text
// in every table.

#include "slurm/hostlist.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "text/utf8.h"
#include "text/words.h"

namespace muster {
namespace {

// Numbers of more digits are no numbers to us: they are part of the prefix.
constexpr std::size_t kDigitsMax = 18;

// An answer is no longer for a question that is.
std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 200;
  return text.size() <= kShownMax ? std::string(text)
                                  : fmt::format("{}...", utf8_prefix(text, kShownMax));
}
tl::unexpected<Error> invalid(std::string_view text, std::string detail) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid hostlist: {}", shown(text)),
              std::move(detail));
}
tl::unexpected<Error> too_long(std::string_view text) {
  return fail(ErrorCode::kResourceExhausted, fmt::format("Invalid hostlist: {}", shown(text)),
              fmt::format("it stands for more than {} hosts, or for more than {} MiB of names: "
                          "give it in parts",
                          kHostlistMax, kHostlistBytesMax >> 20));
}

tl::unexpected<Error> name_too_long(std::string_view text) {
  return invalid(text, fmt::format("a host's name has {} bytes at most", kHostNameMax));
}

// The numbers inside one bracket, as they are written into names.
Result<std::vector<std::string>> bracket_texts(std::string_view whole, std::string_view inside) {
  std::vector<std::string> texts;
  for (const std::string_view item : split(inside, ',')) {
    const std::size_t dash = item.find('-');
    // A number without a dash is a range of one.
    const std::string_view low_text = item.substr(0, dash);
    const std::string_view high_text =
        dash == std::string_view::npos ? low_text : item.substr(dash + 1);
    const auto low = parse_whole(low_text);
    const auto high = parse_whole(high_text);
    const bool is_long = low_text.size() > kDigitsMax || high_text.size() > kDigitsMax;
    if (!low || !high || *high < *low || is_long) {
      return invalid(whole,
                     fmt::format("'{}' is no range: write LOW-HIGH or a number", shown(item)));
    }
    // Before they are made: a bracket may stand for more hosts than any cluster has.
    if (*high - *low >= kHostlistMax - texts.size()) return too_long(whole);
    for (std::uint64_t n = *low; n <= *high; ++n) {
      // Leading zeros are kept: "n[01-10]" is not "n[1-10]".
      texts.push_back(fmt::format("{:0{}}", n, low_text.size()));
    }
  }
  return texts;
}

// One entry taken apart: literals[i] stands before brackets[i], one more literal behind the last.
struct Entry {
  std::vector<std::string_view> literals;
  std::vector<std::vector<std::string>> brackets;
};

// The product of the brackets and the length of the names are bounded here, so that a short text
// cannot take much memory.
Result<Entry> parse_entry(std::string_view text) {
  Entry entry;
  std::string_view rest = text;
  std::size_t total = 1;
  std::size_t name_bytes = 0;  // of the longest name
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    const std::size_t close = rest.find(']');
    entry.literals.push_back(rest.substr(0, open));
    name_bytes += entry.literals.back().size();
    if (name_bytes > kHostNameMax) return name_too_long(text);
    // No bracket is left: the rest is a name.
    if (open == std::string_view::npos && close == open) break;
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return invalid(text, "a bracket is not closed, or closed twice: write PREFIX[1-3,5]");
    }
    entry.brackets.push_back(TRY(bracket_texts(text, rest.substr(open + 1, close - open - 1))));
    total *= entry.brackets.back().size();
    if (total > kHostlistMax) return too_long(text);
    name_bytes += std::ranges::max(entry.brackets.back(), {}, &std::string::size).size();
    if (name_bytes > kHostNameMax) return name_too_long(text);
    rest.remove_prefix(close + 1);
  }
  if (total * name_bytes > kHostlistBytesMax) return too_long(text);
  return entry;
}

// The brackets' indices from the fastest to the slowest: the last, then the others from the first
// on.
std::vector<std::size_t> running_order(std::size_t count) {
  std::vector<std::size_t> order = {count - 1};
  for (std::size_t i = 0; i + 1 < count; ++i) order.push_back(i);
  return order;
}

std::string entry_name(const Entry& entry, const std::vector<std::size_t>& digits) {
  std::string name;
  for (std::size_t i = 0; i < entry.literals.size(); ++i) {
    name += entry.literals[i];
    if (i < entry.brackets.size()) name += entry.brackets[i][digits[i]];
  }
  return name;
}

void append_names(const Entry& entry, std::vector<std::string>& names) {
  const std::vector<std::size_t> order = running_order(entry.brackets.size());
  std::vector<std::size_t> digits(entry.brackets.size(), 0);
  // As a clock counts, wheel by wheel.
  for (std::size_t wheel = 0; wheel < order.size();) {
    names.push_back(entry_name(entry, digits));
    for (wheel = 0; wheel < order.size(); ++wheel) {
      std::size_t& digit = digits[order[wheel]];
      if (++digit < entry.brackets[order[wheel]].size()) break;
      digit = 0;
    }
  }
}

Status expand_entry(std::string_view text, std::vector<std::string>& names) {
  const Entry entry = TRY(parse_entry(text));
  if (entry.brackets.empty()) {
    names.emplace_back(text);
  } else {
    append_names(entry, names);
  }
  if (names.size() > kHostlistMax) return too_long(text);
  return {};
}

// Where the entry at the beginning of `text` ends: at a separator outside brackets.
std::size_t entry_end(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (depth <= 0 && (text[i] == ',' || is_blank(text[i]))) return i;
  }
  return text.size();
}

// A name taken apart at its trailing number.
struct HostName {
  std::string_view prefix;
  std::string_view digits;
  std::uint64_t number = 0;
};

HostName split_name(std::string_view name) {
  std::size_t start = name.size();
  while (start > 0 && is_digit(name[start - 1])) --start;
  // A longer number is part of the prefix, as nobody counts that far.
  if (name.size() - start > kDigitsMax) start = name.size();
  HostName host{name.substr(0, start), name.substr(start), 0};
  host.number = parse_whole(host.digits).value_or(0);
  return host;
}

// Zeros in front say how wide the numbers are written.
bool is_padded(const HostName& host) {
  return host.digits.size() > 1 && host.digits.front() == '0';
}

// A run of names that count up, as it stands inside a bracket. `width` pads its numbers.
struct Range {
  std::string_view low;
  std::string_view high;
  std::uint64_t next = 0;

  bool is_followed_by(const HostName& host) const {
    // The same width: n9 is not followed by n010.
    return host.number == next && host.digits == fmt::format("{:0{}}", next, low.size());
  }
  std::string text() const {
    return low == high ? std::string(low) : fmt::format("{}-{}", low, high);
  }
};

// Neighbouring names with one prefix.
struct Group {
  std::string_view prefix;
  std::vector<Range> ranges;

  std::string text() const {
    if (ranges.empty()) return std::string(prefix);
    std::vector<std::string> parts;
    for (const Range& range : ranges) parts.push_back(range.text());
    const std::string inside = join(parts, ",");
    // A single host has no bracket.
    const bool is_single = ranges.size() == 1 && ranges[0].low == ranges[0].high;
    return is_single ? fmt::format("{}{}", prefix, inside) : fmt::format("{}[{}]", prefix, inside);
  }
};

bool contains(const Group& group, const HostName& host) {
  return group.prefix == host.prefix && !group.ranges.empty() && !host.digits.empty();
}

// Hosts that count up stand as one range.
void add_number(Group& group, const HostName& host) {
  if (!group.ranges.empty() && group.ranges.back().is_followed_by(host)) {
    group.ranges.back().high = host.digits;
  } else {
    group.ranges.push_back({host.digits, host.digits, 0});
  }
  group.ranges.back().next = host.number + 1;
}

// The widths of padded numbers under each prefix.
using PaddedWidths = std::map<std::string_view, std::set<std::size_t>>;

// Names of one class can share ranges: 0 for unpadded ones, else the padded width that the name
// fits.
std::size_t width_class(const HostName& host, const PaddedWidths& widths) {
  const auto found = widths.find(host.prefix);
  if (found == widths.end()) return 0;
  // The largest width that is not above the number's own.
  const auto above = found->second.upper_bound(host.digits.size());
  return above == found->second.begin() ? 0 : *std::prev(above);
}

// A run of digits such that texts compare as the runs do: those with a leading zero come first and
// compare as fractions, the others by value.
void add_digits(std::string& key, std::string_view digits) {
  if (digits.front() == '0') {
    key += digits;
    key += '\0';  // before any digit, so that the shorter comes first
  } else {
    key += '1';  // behind a leading zero, and to other bytes as digits are
    key += static_cast<char>(digits.size());
    key += digits;
  }
}

// A text whose bytes compare as prefixes do in natural order: digits inside as numbers, so that
// "rack9_" is before "rack10_". Made once for each name: a comparison takes no prefix apart.
std::string natural_key(std::string_view prefix) {
  std::string key;
  while (!prefix.empty()) {
    const std::size_t run = leading_digits(prefix);
    if (run > 0) {
      add_digits(key, prefix.substr(0, run));
    } else {
      key += prefix.front();
    }
    prefix.remove_prefix(std::max<std::size_t>(run, 1));
  }
  return key;
}

struct SortKey {
  HostName host;
  std::string prefix;  // natural_key() of the host's
  std::size_t width_class = 0;
  std::size_t index = 0;  // in the names given

  friend bool operator<(const SortKey& a, const SortKey& b) {
    const int order = a.prefix.compare(b.prefix);
    return order != 0 ? order < 0 : a.rank() < b.rank();
  }
  // Names without a number first, then by width, then by value.
  std::tuple<bool, std::size_t, std::uint64_t, std::size_t> rank() const {
    return {!host.digits.empty(), width_class, host.number, host.digits.size()};
  }
};

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  std::vector<std::string> names;
  std::size_t bytes = 0;
  while (!text.empty()) {
    // Empty entries are what "n1,,n2" has between.
    const std::size_t end = entry_end(text);
    const std::size_t known = names.size();
    if (end > 0) TRY(expand_entry(text.substr(0, end), names));
    for (std::size_t i = known; i < names.size(); ++i) bytes += names[i].size();
    if (bytes > kHostlistBytesMax) return too_long(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

std::string compress_hostlist(std::span<const std::string> names) {
  std::vector<std::string> parts;
  std::optional<Group> group;
  for (const std::string& name : names) {
    // A name taken apart once, and compared by its parts.
    const HostName host = split_name(name);
    if (!group || !contains(*group, host)) {
      if (group) parts.push_back(group->text());
      group = Group{host.prefix, {}};
    }
    if (!host.digits.empty()) add_number(*group, host);
  }
  if (group) parts.push_back(group->text());
  return join(parts, ",");
}

std::vector<std::string> sorted_hosts(std::vector<std::string> names) {
  // First over all names: which widths a prefix has is known only then.
  PaddedWidths widths;
  for (const std::string& name : names) {
    const HostName host = split_name(name);
    if (is_padded(host)) widths[host.prefix].insert(host.digits.size());
  }
  std::vector<SortKey> keys;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const HostName host = split_name(names[i]);
    keys.push_back({host, natural_key(host.prefix), width_class(host, widths), i});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> sorted;
  for (const SortKey& key : keys) sorted.push_back(names[key.index]);
  // Once each: a list is a set, and scontrol shows it so.
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::string sorted_hostlist(std::vector<std::string> names) {
  return compress_hostlist(sorted_hosts(std::move(names)));
}

}  // namespace muster
