// Finds what policies and metrics look for in output that comes in pieces: lines are put together
// over the borders of pieces, and each line is read once, however often it is sent.
#include "platform/logs/log_watch.h"

#include <algorithm>
#include <string_view>

#include "text/utf8.h"
#include "trials/output_metrics.h"

namespace muster {
namespace {

/// As the store cuts lines.
constexpr std::size_t kTailMax = std::size_t{16} << 10;
/// Of a line that matched: what is kept of it.
constexpr std::size_t kShownMax = 256;

std::string_view line_at(std::string_view text, std::size_t place) {
  const std::size_t begin =
      place == 0 ? 0 : text.rfind('\n', place - 1) + 1;  // npos + 1 is the text's beginning
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// A script that prints its configuration prints the patterns too.
bool is_configuration(std::string_view line) {
  constexpr std::string_view kField = "log_policies";
  const std::size_t at = line.find(kField);
  if (at == line.npos) return false;
  const std::size_t next = line.find_first_not_of("\"' \\", at + kField.size());
  return next != line.npos && (line[next] == ':' || line[next] == '=');
}

std::string shown(std::string_view line) {
  if (line.size() <= kShownMax) return valid_utf8(line);
  return valid_utf8(utf8_prefix(line, kShownMax)) + "...";
}

void find_reports(const WatchRules& rules, const LogFragment& fragment, std::string_view text,
                  std::vector<LogFinding>& out) {
  // Cheap test first: nearly all output has no report.
  while (may_hold_report(text)) {
    const std::string_view line = line_at(text, text.find("step"));
    // Behind this line, whatever comes of it.
    text.remove_prefix(static_cast<std::size_t>(line.data() - text.data()) + line.size());
    auto printed = parse_printed_report(line);
    if (!printed) continue;
    MetricReport report;
    report.trial = TrialId(fragment.owner.id);
    report.run = fragment.run;
    const bool is_validation =
        std::ranges::find(printed->metrics, rules.metric, &Metric::name) != printed->metrics.end();
    // By the metric that the search is about; everything else is training.
    report.group = is_validation ? "validation" : "training";
    report.steps_completed = printed->steps;
    report.report_time = fragment.received_time;
    report.metrics = std::move(printed->metrics);
    out.emplace_back(std::move(report));
  }
}

}  // namespace

Result<LogWatch::Stream*> LogWatch::stream_of(const LogStreamId& id) {
  // Unknown here after a start: the store knows how far the stream is, and its unfinished line.
  const auto known = streams_.find(id);
  if (known != streams_.end()) return &known->second;
  const LogTail tail = TRY(store_.tail(id));
  return &streams_.emplace(id, Stream{tail.next_offset, tail.unfinished}).first->second;
}

/// The lines that end here, each with a line feed.
std::string LogWatch::complete_lines(Stream& stream, const LogFragment& fragment) {
  std::string_view bytes = fragment.bytes;
  const std::uint64_t end = fragment.offset + bytes.size();
  std::string text;
  // Sent again: its lines have been read.
  // An equal end goes on: that the stream ends there may be news.
  if (end < stream.next_offset) return text;
  if (fragment.offset > stream.next_offset) {  // what is missing ends the line before it
    if (!stream.tail.empty()) text = std::exchange(stream.tail, {}) + "\n";
  } else {
    bytes.remove_prefix(static_cast<std::size_t>(stream.next_offset - fragment.offset));
  }
  stream.next_offset = end;
  // A carriage return ends a line as well: progress bars write nothing else.
  const std::size_t last = bytes.find_last_of("\r\n");
  if (last == bytes.npos) {
    stream.tail += bytes;
  } else {
    text.append(stream.tail).append(bytes.substr(0, last + 1));
    stream.tail = bytes.substr(last + 1);
  }
  // A line without an end, at the end of the stream or longer than the store keeps one.
  if (!stream.tail.empty() && (fragment.is_end || stream.tail.size() > kTailMax))
    text += std::exchange(stream.tail, {}) + "\n";
  std::ranges::replace(text, '\r', '\n');
  return text;
}

Result<std::vector<LogFinding>> LogWatch::read(NodeIndex node, const LogFragment& fragment) {
  std::vector<LogFinding> found;
  if (fragment.owner.kind != LogOwnerKind::kTrial || (fragment.bytes.empty() && !fragment.is_end))
    return found;
  const TrialId trial(fragment.owner.id);
  const WatchRules* rules = book_.rules_of(trial);
  if (rules == nullptr) return found;
  Stream* stream = TRY(stream_of(fragment.id()));
  const std::string text = complete_lines(*stream, fragment);
  if (text.empty()) return found;
  find_matches(*rules, node, fragment, text, found);
  // Rank 0 speaks for the trial, and a run with a session reports by itself.
  const bool is_spoken = fragment.rank == 0 && fragment.stream == LogStream::kStdout;
  if (is_spoken && rules->reads_metrics && !book_.has_session(trial, fragment.run))
    find_reports(*rules, fragment, text, found);
  return found;
}

void LogWatch::find_matches(const WatchRules& rules, NodeIndex node, const LogFragment& fragment,
                            const std::string& text, std::vector<LogFinding>& out) {
  const TrialId trial(fragment.owner.id);
  for (const WatchRules::Policy& one : rules.policies) {
    // Once in a run: further lines say nothing new.
    if (book_.is_matched(trial, fragment.run, one.policy.name)) continue;
    for (auto place = one.pattern->find(text, 0); place && *place < text.size();) {
      const std::string_view line = line_at(text, *place);
      if (is_configuration(line)) {
        // Behind the line of the configuration.
        const auto next = static_cast<std::size_t>(line.data() - text.data()) + line.size() + 1;
        place = next < text.size() ? one.pattern->find(text, next) : std::nullopt;
        continue;
      }
      out.emplace_back(RecordLogMatch{
          trial, node, {fragment.run, one.policy.name, one.policy.action, "", shown(line)}});
      // At once, before it is an event: the next piece must not match again.
      book_.record_match(trial, fragment.run, one.policy.name);
      break;
    }
  }
}

}  // namespace muster
