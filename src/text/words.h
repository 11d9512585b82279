// Small questions about plain text that every parser of this folder asks: splitting, whole numbers,
// case, likeness. ASCII only and independent of the locale. What a word *means* belongs to the file
// of its noun.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns the parts of `text` between separators, empty ones included: "a,,b" has three, "" has
/// one (empty).
std::vector<std::string_view> split(std::string_view text, char separator);
/// Does as `split`, with blanks cut from both ends of each part and empty parts left out.
std::vector<std::string_view> split_words(std::string_view text, char separator);
/// Does as `split_words`, with owned texts: "a, b" gives {"a", "b"}.
std::vector<std::string> split_list(std::string_view text, char separator = ',');
/// Returns the text without spaces, tabs, carriage returns and line feeds at either end.
std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

bool is_blank(char c);
bool is_digit(char c);
char to_lower(char c);
std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);
/// True when `text` is a non-empty beginning of `word`, in any case: "min" of "minutes".
bool is_abbreviation(std::string_view text, std::string_view word);

/// Reads a whole number written in decimal digits alone. Nullopt: empty, another character, or
/// above `max`.
std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t max = UINT64_MAX);
/// Does as `parse_whole` for 32 bits.
std::optional<std::uint32_t> parse_whole32(std::string_view text, std::uint32_t max = UINT32_MAX);
/// Returns how many decimal digits stand at the beginning of `text`.
std::size_t leading_digits(std::string_view text);

/// Returns the candidate with the smallest edit distance to `word` in any case (ties: the first).
/// Nullopt when even that one differs in more than a third of the word, so that a suggestion is
/// never silly. Cost: O(candidates * word^2).
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

}  // namespace muster
