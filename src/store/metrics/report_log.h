// Encodes a batch of reports, as the log stores it until they lie in blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/metric.h"

namespace muster::metrics {

/// Builds one record. Groups and names stand once in it, however many reports share them.
class ReportBatchWriter {
 public:
  ReportBatchWriter();
  ~ReportBatchWriter();
  ReportBatchWriter(const ReportBatchWriter&) = delete;
  ReportBatchWriter& operator=(const ReportBatchWriter&) = delete;
  /// Adds a report. Requires: ids rise.
  void add(std::uint64_t id, const MetricReport& report);
  bool is_empty() const;
  std::string finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Decodes a record. Errors: kCorruption.
Result<std::vector<StoredReport>> decode_report_batch(std::string_view bytes);

}  // namespace muster::metrics
