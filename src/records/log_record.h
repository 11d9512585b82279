// Records in a log that several processes append to: each says where it begins, how long it is and
// whether it is whole, so that one torn by a full disk costs itself alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::records {

/// `bytes` as one record: a mark, the length and a digest (u32 each, little endian), then the
/// bytes.
std::string log_record(std::string_view bytes);

struct LogScan {
  std::size_t end = 0;      ///< behind the last whole record: where to go on when the log has grown
  std::size_t skipped = 0;  ///< bytes that belong to no whole record
};
/// Calls `visit` with the bytes of each whole record, passing over torn and damaged ones.
LogScan each_log_record(std::string_view log, const std::function<void(std::string_view)>& visit);

}  // namespace muster::records
