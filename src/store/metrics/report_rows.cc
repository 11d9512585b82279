#include "store/metrics/report_rows.h"

#include "base/check.h"
#include "store/files/byte_stream.h"
#include "store/files/compression.h"

namespace muster::metrics {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 30;

// Unsigned: differences of any two numbers wrap and come back.
std::uint64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}

/// Differences of differences: a regular step costs one byte, which then compresses to next to
/// nothing.
void put_sequence(ByteWriter& out, const std::vector<std::int64_t>& values) {
  std::int64_t last = 0;
  std::uint64_t stride = 0;
  for (const std::int64_t value : values) {
    const std::uint64_t next = difference(value, last);
    out.signed_number(static_cast<std::int64_t>(next - stride));
    stride = next;
    last = value;
  }
}

std::vector<std::int64_t> read_sequence(ByteReader& in, std::size_t count) {
  std::vector<std::int64_t> values(count);
  std::uint64_t last = 0;
  std::uint64_t stride = 0;
  for (std::int64_t& value : values) {
    stride += static_cast<std::uint64_t>(in.signed_number());
    last += stride;
    value = static_cast<std::int64_t>(last);
  }
  return values;
}

}  // namespace

void ReportRows::add(Position position, std::int64_t time_us, std::string_view key) {
  DCHECK(ids.empty() || position.id > ids.back());
  // Keys are seldom: their list begins with the first, empty ones before it.
  if (!key.empty() && keys.empty()) keys.resize(ids.size());
  if (!key.empty() || !keys.empty()) keys.emplace_back(key);
  ids.push_back(position.id);
  steps.push_back(position.steps);
  times_us.push_back(time_us);
}

void ReportRows::add_rows(const ReportRows& other, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row)
    add(other.position(row), other.times_us[row], other.key(row));
}

void ReportRows::clear() { *this = ReportRows(); }

std::string encode(const ReportRows& rows) {
  ByteWriter out;
  out.number(rows.size());
  std::uint64_t last = 0;
  for (const std::uint64_t id : rows.ids) {
    out.number(id - last);
    last = id;
  }
  put_sequence(out, rows.steps);
  put_sequence(out, rows.times_us);
  out.byte(rows.keys.empty() ? 0 : 1);
  for (const std::string& key : rows.keys) out.text(key);
  return compressed(out.bytes());
}

Result<ReportRows> decode_rows(std::string_view bytes) {
  const std::string plain = TRY(decompressed(bytes, kBytesMax));
  ByteReader in(plain);
  ReportRows rows;
  const std::size_t count = in.count();
  std::uint64_t last = 0;
  rows.ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) rows.ids.push_back(last += in.number());
  rows.steps = read_sequence(in, count);
  rows.times_us = read_sequence(in, count);
  const bool has_keys = in.byte() != 0;
  for (std::size_t i = 0; has_keys && i < count; ++i) rows.keys.emplace_back(in.text());
  if (!in.is_ok() || !in.is_at_end())
    return fail(ErrorCode::kCorruption, "a block of reports is damaged");
  return rows;
}

}  // namespace muster::metrics
