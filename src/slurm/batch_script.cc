// Scripts as sbatch reads them: what is refused, with Slurm's texts, and the words of #SBATCH
// lines. A script is never run or changed here.

#include "slurm/batch_script.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "#SBATCH";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

tl::unexpected<Error> refused(std::string message, std::string detail = {}) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(detail));
}

// Takes the words of one directive apart, character by character.
class Words {
 public:
  // False: the rest of the line is a comment.
  bool consume(char c) {
    const bool is_taken_as_is = is_escaped_;
    is_escaped_ = false;
    if (quote_ == 0 && is_blank(c)) {
      end_word();
    } else if (is_taken_as_is) {  // NOLINT(bugprone-branch-clone): before what it would mean
      add(c);
    } else if (c == '\\') {
      is_escaped_ = true;
    } else if (c == quote_) {
      quote_ = 0;
    } else if (quote_ == 0 && (c == '"' || c == '\'')) {
      quote_ = c;
      has_word_ = true;  // "" is a word too
    } else if (quote_ == 0 && c == '#') {
      return false;
    } else {
      add(c);
    }
    return true;
  }
  void end_word() {
    if (has_word_) words_.push_back(std::move(word_));
    word_.clear();
    has_word_ = false;
  }
  char open_quote() const { return quote_; }
  std::vector<std::string> words() && { return std::move(words_); }

 private:
  void add(char c) {
    word_ += c;
    has_word_ = true;
  }
  std::vector<std::string> words_;
  std::string word_;
  bool has_word_ = false;
  bool is_escaped_ = false;
  char quote_ = 0;
};

Result<std::vector<std::string>> directive_words(std::string_view text, std::size_t line) {
  Words words;
  for (const char c : text) {
    if (!words.consume(c)) break;
  }
  if (words.open_quote() != 0) {
    // A quote that was not closed would swallow the next options.
    return refused(fmt::format("line {}: Unmatched `{}` in [{}]", line, words.open_quote(), text),
                   "close the quote, or write a backslash before it");
  }
  words.end_word();
  return std::move(words).words();
}

bool is_component_start(const std::vector<std::string>& words) {
  // The older name of a heterogeneous job's component.
  return !words.empty() && (words[0] == "hetjob" || words[0] == "packjob");
}

}  // namespace

Status check_batch_script(std::string_view script, std::uint64_t size_max) {
  if (script.empty()) return refused("Batch script is empty!");
  // A script of blanks alone would run and do nothing.
  if (std::all_of(script.begin(), script.end(), is_blank))
    return refused("Batch script contains only whitespace!");
  // The kernel starts scripts by this line.
  if (!starts_with(script, "#!")) {
    return refused(
        "This does not look like a batch script.  The first\n"
        "line must start with #! followed by the path to an interpreter.\n"
        "For instance: #!/bin/sh");
  }
  // A zero byte ends the text for every tool that reads it.
  if (script.find('\0') != std::string_view::npos) {
    return refused(
        "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'.");
  }
  // The interpreter's name would end with a carriage return.
  if (script.find("\r\n") != std::string_view::npos) {
    return refused(
        "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks "
        "(\\n).");
  }
  // Only where a bound was given: the size of a cluster's scripts is configured.
  if (size_max != 0 && script.size() > size_max) {
    return refused(
        "Pathname of a file, directory or other parameter too long",
        fmt::format("the script has {} bytes, the limit is {}: call a second file from it",
                    script.size(), size_max));
  }
  return {};
}

Result<BatchDirectives> parse_batch_directives(std::string_view script) {
  BatchDirectives found;
  std::size_t number = 0;
  for (const std::string_view line : split(script, '\n')) {
    // Counted for messages: lines of comments count, too.
    ++number;
    const std::string_view content = trim(line);
    // The first command ends the options. Source: sbatch(1).
    if (!content.empty() && content.front() != '#') break;
    // Other schedulers' lines are only reported: what to do with them is sbatch's to say.
    found.has_pbs |= starts_with(line, "#PBS");
    found.has_bsub |= starts_with(line, "#BSUB");
    if (!starts_with(line, kMagic)) continue;
    std::vector<std::string> words = TRY(directive_words(line.substr(kMagic.size()), number));
    if (is_component_start(words)) {
      found.component_lines.push_back(number);
    } else if (!words.empty()) {
      found.lines.push_back({number, std::move(words)});
    }
  }
  return found;
}

}  // namespace muster
