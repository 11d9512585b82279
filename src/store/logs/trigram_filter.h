// Says which three bytes in a row a chunk's lines hold, so that a search passes over chunks that
// cannot match. Letters count without case. It may say yes where the answer is no, never the other
// way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::logs {

/// A Bloom filter (Bloom, CACM 13(7), 1970) of two hashes and eight bits a trigram: 5 % false yes a
/// trigram.
class TrigramFilter {
 public:
  /// Returns the filter of lines that end with line feeds; no trigram spans two. Cost: some 5 ms
  /// for 1 MiB.
  static std::string of(std::string_view text);

  explicit TrigramFilter(std::string_view bits) : bits_(bits) {}
  /// True when a line may hold all trigrams of `text`, which is shorter or longer than three bytes.
  /// What is not ASCII in it is passed over: its case is not that of single bytes.
  bool may_hold(std::string_view text) const;

 private:
  std::string_view bits_;  ///< empty: everything may be there
};

}  // namespace muster::logs
