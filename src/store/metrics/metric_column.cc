// A column keeps a number for every row that names the metric, and texts apart by index; a row with
// a text has 0 among the numbers. So that the usual column, all numbers, is one array.
#include "store/metrics/metric_column.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "store/files/byte_stream.h"
#include "store/files/compression.h"

namespace muster::metrics {
namespace {

// More than a block of reports can hold; a length beyond it is damage.
constexpr std::size_t kBytesMax = std::size_t{1} << 30;

/// Bytes of equal rank lie together: signs, exponents and the empty low bits of what was a float
/// compress, mantissas do not.
std::string planes_of(const std::vector<double>& numbers) {
  std::string planes(numbers.size() * 8, '\0');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(numbers[i]);
    for (std::size_t rank = 0; rank < 8; ++rank)
      planes[rank * numbers.size() + i] = static_cast<char>(bits >> (8 * rank));
  }
  return planes;
}

std::vector<double> numbers_of(std::string_view planes) {
  std::vector<double> numbers(planes.size() / 8);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t rank = 0; rank < 8; ++rank) {
      bits |= std::uint64_t{static_cast<std::uint8_t>(planes[rank * numbers.size() + i])}
              << (8 * rank);
    }
    numbers[i] = std::bit_cast<double>(bits);
  }
  return numbers;
}

}  // namespace

void MetricColumn::add(std::uint32_t row, const MetricValue& value) {
  DCHECK(rows_.empty() || row > rows_.back());
  const JsonText* text = std::get_if<JsonText>(&value);
  if (text != nullptr) texts_.emplace_back(static_cast<std::uint32_t>(rows_.size()), text->text);
  rows_.push_back(row);
  numbers_.push_back(text == nullptr ? std::get<double>(value) : 0.0);
}

void MetricColumn::add_rows(const MetricColumn& other, std::uint32_t begin, std::uint32_t end,
                            std::uint32_t row_of_begin) {
  const auto first = std::ranges::lower_bound(other.rows_, begin) - other.rows_.begin();
  // Both lists of rows rise: a binary search, then a walk.
  for (auto i = static_cast<std::size_t>(first); i < other.size() && other.rows_[i] < end; ++i) {
    const std::uint32_t row = other.rows_[i] - begin + row_of_begin;
    if (const std::string* text = other.text_at(i)) {
      add(row, JsonText{*text});
    } else {
      rows_.push_back(row);
      numbers_.push_back(other.numbers_[i]);
    }
  }
}

void MetricColumn::clear() { *this = MetricColumn(); }

const std::string* MetricColumn::text_at(std::size_t index) const {
  if (texts_.empty()) return nullptr;
  const auto found =
      std::ranges::lower_bound(texts_, index, {}, &std::pair<std::uint32_t, std::string>::first);
  return found != texts_.end() && found->first == index ? &found->second : nullptr;
}

MetricValue MetricColumn::value(std::size_t index) const {
  if (const std::string* text = text_at(index)) return JsonText{*text};
  return numbers_[index];
}

const double* MetricColumn::number(std::size_t index) const {
  return text_at(index) == nullptr ? &numbers_[index] : nullptr;
}

std::optional<MetricValue> MetricColumn::find(std::uint32_t row) const {
  const auto found = std::ranges::lower_bound(rows_, row);
  if (found == rows_.end() || *found != row) return std::nullopt;
  return value(static_cast<std::size_t>(found - rows_.begin()));
}

std::string encode(const MetricColumn& column) {
  ByteWriter out;
  out.number(column.size());
  std::uint32_t next = 0;
  // Rows 0 to n-1: no row numbers are written.
  const bool is_dense = column.rows_.empty() || column.rows_.back() + 1 == column.size();
  out.byte(is_dense ? 1 : 0);
  for (std::size_t i = 0; !is_dense && i < column.size(); ++i) {
    // Distances, which are 0 between neighbours.
    out.number(column.rows_[i] - next);
    next = column.rows_[i] + 1;
  }
  out.number(column.texts_.size());
  for (const auto& [index, text] : column.texts_) {
    out.number(index);
    out.text(text);
  }
  out.raw(planes_of(column.numbers_));
  return compressed(out.bytes());
}

Result<MetricColumn> decode_column(std::string_view bytes) {
  const std::string plain = TRY(decompressed(bytes, kBytesMax));
  ByteReader in(plain);
  MetricColumn column;
  const std::size_t count = in.count();
  const bool is_dense = in.byte() != 0;
  std::uint32_t next = 0;
  column.rows_.reserve(count);
  for (std::size_t i = 0; i < count; ++i, ++next) {
    if (!is_dense) next += static_cast<std::uint32_t>(in.number());
    column.rows_.push_back(next);
  }
  for (std::size_t texts = in.count(); texts > 0; --texts) {
    const auto index = static_cast<std::uint32_t>(in.number());
    column.texts_.emplace_back(index, in.text());
  }
  // `raw` refuses a length that the bytes do not have.
  column.numbers_ = numbers_of(in.raw(std::uint64_t{count} * 8));
  if (!in.is_ok() || !in.is_at_end())
    return fail(ErrorCode::kCorruption, "a column of a metric is damaged");
  return column;
}

}  // namespace muster::metrics
