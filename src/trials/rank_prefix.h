// Finds the rank that a line of a task's output belongs to, where a launcher of several processes
// in the task says so at its beginning: `[rank=3] ` (Determined's), or `[default3]:` (torchrun's,
// the rank on this node). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// Splits one stream of one task, in pieces as they come. Prefixes that name a rank are removed;
/// all other bytes come out as they went in, in order, at once but for a beginning that may yet
/// become a prefix.
class RankSplitter {
 public:
  struct Options {
    std::uint32_t own_rank = 0;   ///< of lines that name none
    bool is_local_known = false;  ///< torchrun's prefix counts: ranks on this node are ranks of all
    std::uint32_t ranks_max = 1024;  ///< a number from here on is no rank: the line stays as it is
  };
  using Visit = std::function<void(std::uint32_t rank, std::string_view bytes)>;
  explicit RankSplitter(Options options) : options_(options), rank_(options.own_rank) {}

  void add(std::string_view bytes, const Visit& visit);
  /// Passes on what was held back.
  void finish(const Visit& visit);

 private:
  enum class Match : std::uint8_t { kNo, kMaybe, kYes };
  Match match(std::uint32_t& rank) const;

  Options options_;
  std::uint32_t rank_;  ///< of the line under way
  bool is_line_start_ = true;
  bool is_after_return_ =
      false;  ///< of a progress bar drawn anew, maybe: the line goes on if no rank is named
  std::string held_;
};

}  // namespace muster
