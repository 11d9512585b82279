// Bytes are held back only at the beginning of a line, and only while they may become a prefix: at
// most some twenty of them. Everything else is passed on at once, so that a progress bar stays
// alive.

#include "trials/rank_prefix.h"

#include <algorithm>

namespace muster {
namespace {

// Enough for every rank that options allow; more digits would let the held text grow without a
// bound, or overflow the number.
constexpr std::size_t kDigitsMax = 7;

}  // namespace

RankSplitter::Match RankSplitter::match(std::uint32_t& rank) const {
  // Compares what is held with open + digits + close, however much of it has come.
  const auto one = [&](std::string_view open, std::string_view close) {
    const std::string_view text = held_;
    const std::size_t common = std::min(text.size(), open.size());
    if (text.substr(0, common) != open.substr(0, common)) return Match::kNo;
    if (text.size() <= open.size()) return Match::kMaybe;
    std::size_t end = open.size();
    std::uint32_t number = 0;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9' &&
           end - open.size() < kDigitsMax) {
      number = number * 10 + static_cast<std::uint32_t>(text[end++] - '0');
    }
    const std::string_view rest = text.substr(end);
    if (rest.empty()) return end - open.size() < kDigitsMax ? Match::kMaybe : Match::kNo;
    if (end == open.size() || number >= options_.ranks_max) return Match::kNo;
    if (rest != close.substr(0, rest.size())) return Match::kNo;
    if (rest.size() < close.size()) return Match::kMaybe;
    rank = number;
    return Match::kYes;
  };
  const Match named = one("[rank=", "] ");
  if (named != Match::kNo || !options_.is_local_known) return named;
  return one("[default", "]:");
}

void RankSplitter::add(std::string_view bytes, const Visit& visit) {
  for (std::size_t i = 0; i < bytes.size();) {
    // Behind a carriage return a rank may be named as well: each process draws its own progress
    // bar.
    if (is_line_start_ || is_after_return_) {
      held_ += bytes[i++];
      std::uint32_t rank = 0;
      const Match found = match(rank);
      if (found == Match::kMaybe) continue;
      if (found == Match::kYes) {
        rank_ = rank;
        held_.clear();
        // A line without a prefix is the task's own; behind a carriage return it goes on as the
        // rank that began it.
      } else if (is_line_start_) {
        rank_ = options_.own_rank;
      }
      is_line_start_ = is_after_return_ = false;
      if (held_.empty()) continue;
      // What was held is of no prefix: it is looked at again as plain bytes.
      const char last = held_.back();
      visit(rank_, held_);
      held_.clear();
      is_line_start_ = last == '\n';
      is_after_return_ = last == '\r';
      continue;
    }
    // A piece ends behind each line end, since the rank may change there.
    const std::size_t end = std::min(bytes.find_first_of("\r\n", i), bytes.size() - 1);
    visit(rank_, bytes.substr(i, end + 1 - i));
    is_line_start_ = bytes[end] == '\n';
    is_after_return_ = bytes[end] == '\r';
    i = end + 1;
  }
}

void RankSplitter::finish(const Visit& visit) {
  if (!held_.empty()) visit(is_line_start_ ? options_.own_rank : rank_, held_);
  held_.clear();
}

}  // namespace muster
