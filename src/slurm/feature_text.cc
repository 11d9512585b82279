// Constraints as sbatch(1), --constraint, has them: names, & and
// , and parentheses. They are spread out into alternatives at once, of which a node needs one:
// matching is then a comparison, and a bound on their number is a bound on the work.

#include "slurm/feature_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/words.h"

namespace muster {
namespace {

using Alternatives = std::vector<std::vector<std::string>>;
constexpr std::string_view kMessage = "Invalid feature specification";

tl::unexpected<Error> invalid(std::string detail) {
  return fail(ErrorCode::kInvalidArgument, std::string(kMessage), std::move(detail));
}

// Sorted and once each: two ways of writing the same constraint are the same set of alternatives.
void sort_each_once(auto& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Every alternative of `left` together with every one of `right`.
Alternatives both(const Alternatives& left, const Alternatives& right) {
  Alternatives result;
  for (const auto& a : left) {
    for (const auto& b : right) {
      std::vector<std::string> features = a;
      features.insert(features.end(), b.begin(), b.end());
      sort_each_once(features);
      result.push_back(std::move(features));
    }
  }
  return result;
}

// Reads an expression from its beginning. `depth` bounds the nesting, and with it the stack.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) {}

  Result<Alternatives> read_expression(int depth) {
    Alternatives left = TRY(read_term(depth));
    while (is_operator(peek())) {
      const char op = consume();
      const Alternatives right = TRY(read_term(depth));
      // Before the product: alternatives multiply.
      if (left.size() * right.size() > kFeatureAlternativesMax) return too_many();
      if (op == '|') {
        left.insert(left.end(), right.begin(), right.end());
      } else {
        left = both(left, right);
      }
      sort_each_once(left);
      if (left.size() > kFeatureAlternativesMax) return too_many();
    }
    return left;
  }
  Status expect_end() {
    if (peek() == 0) return {};
    return invalid(fmt::format("'{}' of '{}' is left over: join names by & or |", rest_, text_));
  }

 private:
  static bool is_operator(char c) { return c == '&' || c == ',' || c == '|'; }

  Result<Alternatives> read_term(int depth) {
    // Deeper than anybody writes, and shallower than the stack.
    constexpr int kDepthMax = 32;
    if (peek() != '(') return read_name();
    if (depth == kDepthMax) return invalid(fmt::format("'{}' nests too deeply", text_));
    consume();
    Alternatives inside = TRY(read_expression(depth + 1));
    if (peek() != ')')
      return invalid(fmt::format("'{}' has a parenthesis that is not closed", text_));
    consume();
    return inside;
  }
  Result<Alternatives> read_name() {
    // In brackets and with a star Slurm means counts of nodes, which the planner has not.
    TRY(refuse_unsupported());
    // A name ends at any sign of the language.
    const std::size_t end = std::min(rest_.find_first_of("&,|()[]*"), rest_.size());
    const std::string_view name = trim(rest_.substr(0, end));
    // "a b" is no name: somebody forgot an operator.
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos) {
      return invalid(fmt::format("a feature's name is expected at '{}' of '{}'", rest_, text_));
    }
    rest_.remove_prefix(end);
    TRY(refuse_unsupported());
    return Alternatives{{std::string(name)}};
  }
  Status refuse_unsupported() {
    if (peek() == '[')
      return unsupported("matching features '[...]'",
                         "name one feature, or submit one job for each");
    if (peek() == '*')
      return unsupported("node counts 'FEATURE*COUNT'", "use -N with one constraint for all nodes");
    return {};
  }
  tl::unexpected<Error> unsupported(std::string_view what, std::string_view way) const {
    return fail(ErrorCode::kUnimplemented, std::string(kMessage),
                fmt::format("{} of '{}' are not supported: {}", what, text_, way));
  }
  tl::unexpected<Error> too_many() const {
    return fail(
        ErrorCode::kResourceExhausted, std::string(kMessage),
        fmt::format("'{}' stands for more than {} alternatives", text_, kFeatureAlternativesMax));
  }
  // A zero byte is the end: names have none.
  char peek() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  char consume() {
    const char c = peek();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

Result<FeatureConstraint> parse_features(std::string_view text) {
  FeatureConstraint constraint;
  if (trim(text).empty()) return constraint;
  Reader reader(text);
  constraint.alternatives = TRY(reader.read_expression(0));
  TRY(reader.expect_end());
  return constraint;
}

}  // namespace muster
