#include "records/log_record.h"

#include <cstdint>
#include <optional>

#include "base/hash.h"

namespace muster::records {
namespace {

constexpr std::string_view kMark = "\xf5MS1";  // no UTF-8 text has the first byte
constexpr std::size_t kHead = 12;

void put_u32(std::string& out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}
std::uint32_t u32_at(std::string_view bytes, std::size_t place) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[place + i])) << (8 * i);
  return value;
}
std::uint32_t digest_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(Hasher().add(bytes).digest());
}

/// The record that begins the log; nullopt: none, or not a whole one.
std::optional<std::string_view> first_record(std::string_view log) {
  if (!log.starts_with(kMark) || log.size() < kHead) return std::nullopt;
  const std::uint32_t size = u32_at(log, 4);
  if (log.size() - kHead < size) return std::nullopt;
  const std::string_view bytes = log.substr(kHead, size);
  if (u32_at(log, 8) != digest_of(bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

std::string log_record(std::string_view bytes) {
  std::string record(kMark);
  put_u32(record, static_cast<std::uint32_t>(bytes.size()));
  put_u32(record, digest_of(bytes));
  return record.append(bytes);
}

LogScan each_log_record(std::string_view log, const std::function<void(std::string_view)>& visit) {
  LogScan scan{0, log.size()};
  for (std::size_t place = 0; (place = log.find(kMark, place)) != std::string_view::npos;) {
    if (const auto record = first_record(log.substr(place))) {
      visit(*record);
      scan.end = place = place + kHead + record->size();
      scan.skipped -= kHead + record->size();
    } else {
      ++place;
    }
  }
  return scan;
}

}  // namespace muster::records
