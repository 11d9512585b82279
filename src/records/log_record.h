// Records in a log that several processes append to: each says where it begins, how long it is and
// whether it is whole, so that one torn by a full disk costs itself alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::records {

/// `bytes` as one record: four bytes of mark, which begin with one that no UTF-8 text has, the
/// length and a digest (u32 each, little endian), then the bytes. The digest finds damage, not
/// forgery. Requires: less than 4 GiB.
std::string log_record(std::string_view bytes);

/// How far each_log_record() has read.
struct LogScan {
  std::size_t end = 0;      ///< behind the last whole record: where to go on when the log has grown
  std::size_t skipped = 0;  ///< bytes of no whole record, those behind `end` included
};
/// Calls `visit` with the bytes of each whole record, in order, passing over torn and damaged ones;
/// they are a part of `log`. What stands behind `end` may be a record that is still being written.
LogScan each_log_record(std::string_view log, const std::function<void(std::string_view)>& visit);

}  // namespace muster::records
