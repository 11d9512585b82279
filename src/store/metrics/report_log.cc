// A record of the log has each name once: reports of a batch mostly name the same. Ids and times
// are differences.
#include "store/metrics/report_log.h"

#include <unordered_map>

#include "store/files/byte_stream.h"

namespace muster::metrics {

struct ReportBatchWriter::Parts {
  std::uint64_t number_of(const std::string& name) {
    const auto [found, is_new] = numbers.try_emplace(name, numbers.size());
    if (is_new) names.text(name);
    return found->second;
  }
  std::unordered_map<std::string, std::uint64_t> numbers;
  ByteWriter names;
  ByteWriter reports;
  std::uint64_t count = 0;
  std::uint64_t last_id = 0;
  std::int64_t last_time_us = 0;
};

ReportBatchWriter::ReportBatchWriter() : parts_(std::make_unique<Parts>()) {}
ReportBatchWriter::~ReportBatchWriter() = default;
bool ReportBatchWriter::is_empty() const { return parts_->count == 0; }

void ReportBatchWriter::add(std::uint64_t id, const MetricReport& report) {
  ByteWriter& out = parts_->reports;
  out.number(id - parts_->last_id);
  out.number(report.trial.value());
  out.number(report.run);
  out.number(parts_->number_of(report.group));
  out.signed_number(report.steps_completed);
  out.text(report.key);
  out.signed_number(report.report_time.microseconds() - parts_->last_time_us);
  out.number(report.metrics.size());
  for (const Metric& metric : report.metrics) {
    const JsonText* text = std::get_if<JsonText>(&metric.value);
    // The lowest bit says whether a text follows.
    out.number(parts_->number_of(metric.name) * 2 + (text != nullptr ? 1 : 0));
    if (text != nullptr) {
      out.text(text->text);
    } else {
      out.real(std::get<double>(metric.value));
    }
  }
  ++parts_->count;
  parts_->last_id = id;
  parts_->last_time_us = report.report_time.microseconds();
}

std::string ReportBatchWriter::finish() {
  ByteWriter out;
  // Names come first, though they are known last: they are gathered beside the reports.
  out.number(parts_->numbers.size());
  out.raw(parts_->names.bytes());
  out.number(parts_->count);
  out.raw(parts_->reports.bytes());
  parts_ = std::make_unique<Parts>();
  return out.finish();
}

namespace {

/// What has been read of a record so far.
struct Reading {
  ByteReader in;
  std::vector<std::string_view> names;
  std::uint64_t last_id = 0;
  std::int64_t last_time_us = 0;
  bool is_ok = true;

  std::string_view name(std::uint64_t number) {
    if (number < names.size()) return names[static_cast<std::size_t>(number)];
    // A number beyond the names is damage; reading goes on with empty names and is refused at the
    // end.
    is_ok = false;
    return {};
  }
};

StoredReport read_report(Reading& reading) {
  ByteReader& in = reading.in;
  StoredReport stored;
  stored.id = reading.last_id += in.number();
  MetricReport& report = stored.report;
  report.trial = TrialId(static_cast<std::uint32_t>(in.number()));
  report.run = static_cast<std::uint32_t>(in.number());
  report.group = reading.name(in.number());
  report.steps_completed = in.signed_number();
  report.key = in.text();
  report.report_time = TimePoint::from_microseconds(reading.last_time_us += in.signed_number());
  report.metrics.resize(in.count());
  for (Metric& metric : report.metrics) {
    const std::uint64_t mark = in.number();
    metric.name = reading.name(mark / 2);
    if (mark % 2 != 0) {
      metric.value = JsonText{std::string(in.text())};
    } else {
      metric.value = in.real();
    }
  }
  return stored;
}

}  // namespace

Result<std::vector<StoredReport>> decode_report_batch(std::string_view bytes) {
  Reading reading{ByteReader(bytes), {}};
  reading.names.resize(reading.in.count());
  for (std::string_view& name : reading.names) name = reading.in.text();
  // `count` is bounded by the bytes that are left.
  std::vector<StoredReport> reports(reading.in.count());
  for (StoredReport& stored : reports) stored = read_report(reading);
  if (!reading.is_ok || !reading.in.is_ok() || !reading.in.is_at_end()) {
    return fail(ErrorCode::kCorruption, "a record of reports is damaged");
  }
  return reports;
}

}  // namespace muster::metrics
