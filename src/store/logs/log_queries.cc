// The questions that a log store answers. What it keeps is written by log_store.cc.
#include <algorithm>

#include "store/logs/log_pattern.h"
#include "store/logs/log_store.h"
#include "store/logs/store_state.h"

namespace muster {

using logs::ChunkEntry;
using logs::LineHead;
using logs::LogChunk;
using logs::LogPattern;
using logs::LogTables;
using logs::OwnerLog;
using logs::TrigramFilter;

namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{4} << 20;
/// What passing over a chunk by its trigrams counts for in a call's bound. Units: bytes.
constexpr std::size_t kFilterCost = std::size_t{8} << 10;

template <class T>
bool is_in(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

bool is_wanted(const LogFilter& filter, const LineHead& head) {
  return is_in(filter.ranks, head.rank) && is_in(filter.runs, head.run) &&
         is_in(filter.streams, head.stream) && is_in(filter.levels, head.level) &&
         head.time_us >= filter.first_time.microseconds() &&
         head.time_us <= filter.last_time.microseconds();
}

/// Looks through an owner's chunks in one direction until a page is full.
class LogSearch {
 public:
  LogSearch(LogTables& tables, const OwnerLog& log, const LogQuery& query,
            const LogPattern* pattern)
      : tables_(tables),
        log_(log),
        query_(query),
        pattern_(pattern),
        rank_mask_(logs::mask_of(query.filter.ranks)),
        stream_mask_(logs::mask_of(query.filter.streams)),
        level_mask_(logs::mask_of(query.filter.levels)) {}

  Result<LogPage> run() {
    const std::vector<ChunkEntry> chunks = entries();
    // Lines before the first have been deleted; beyond the next there are none yet.
    page_.next = std::clamp(query_.from, log_.first_line(), log_.next_line());
    if (query_.is_backward) {
      for (auto chunk = chunks.rbegin(); chunk != chunks.rend() && !is_full_; ++chunk)
        TRY(visit_before(*chunk));
      // Every chunk was gone through.
      page_.is_end = !is_full_;
    } else {
      for (auto chunk = chunks.begin(); chunk != chunks.end() && !is_full_; ++chunk)
        TRY(visit_after(*chunk));
      page_.is_end = !is_full_;
    }
    return std::move(page_);
  }

 private:
  static std::uint64_t end_of(const ChunkEntry& entry) { return entry.first_line + entry.lines; }
  bool is_open(const ChunkEntry& entry) const { return entry.first_line == log_.row().next_line; }

  /// All chunks, the lines that lie in none last.
  // A copy of the directory with the open lines as one more chunk: readers see what is not
  // compressed yet.
  std::vector<ChunkEntry> entries() const {
    std::vector<ChunkEntry> all = log_.directory();
    if (log_.open().size() > 0) all.push_back(log_.open().entry(log_.row().next_line));
    return all;
  }

  Status visit_after(const ChunkEntry& entry) {
    if (end_of(entry) <= page_.next) return {};
    // The bound is asked between chunks: a chunk that was begun is gone through.
    if (is_spent()) return {};
    const std::size_t begin = page_.next > entry.first_line ? page_.next - entry.first_line : 0;
    const std::vector<std::size_t> lines = TRY(matches(entry, begin, entry.lines));
    for (const std::size_t line : lines) {
      if (!add(entry, line)) return {};
      page_.next = entry.first_line + line + 1;
    }
    // Also where no line matched: the next page begins behind this chunk.
    page_.next = end_of(entry);
    return {};
  }

  Status visit_before(const ChunkEntry& entry) {
    if (entry.first_line >= page_.next) return {};
    if (is_spent()) return {};
    const std::size_t end = std::min<std::uint64_t>(entry.lines, page_.next - entry.first_line);
    std::vector<std::size_t> lines = TRY(matches(entry, 0, end));
    std::ranges::reverse(lines);
    for (const std::size_t line : lines) {
      if (!add(entry, line)) return {};
      page_.next = entry.first_line + line;
    }
    page_.next = entry.first_line;
    return {};
  }

  bool is_spent() {
    is_full_ =
        is_full_ || looked_through_ >= query_.bytes_max || page_.lines.size() >= query_.lines_max;
    return is_full_;
  }

  /// False when the page is full.
  // At least one line a page, however long it is.
  bool add(const ChunkEntry& entry, std::size_t line) {
    const LineHead& head = chunk_->head(line);
    const std::string_view text = chunk_->text_of(line);
    const bool has_room = page_.lines.empty() || answer_bytes_ + text.size() <= kAnswerBytesMax;
    if (page_.lines.size() >= query_.lines_max || !has_room) {
      is_full_ = true;
      return false;
    }
    answer_bytes_ += text.size() + sizeof(LogLine);
    page_.lines.push_back({entry.first_line + line, head.run, head.rank, head.stream, head.level,
                           head.is_continuation, head.is_marker,
                           TimePoint::from_microseconds(head.time_us), std::string(text)});
    return true;
  }

  bool may_hold(const ChunkEntry& entry) const {
    const LogFilter& filter = query_.filter;
    return (entry.rank_mask & rank_mask_) != 0 && (entry.stream_mask & stream_mask_) != 0 &&
           (entry.level_mask & level_mask_) != 0 &&
           entry.last_time_us >= filter.first_time.microseconds() &&
           entry.first_time_us <= filter.last_time.microseconds();
  }

  /// Lines of [begin, end) that are wanted, by number in the chunk, which is chunk_ then.
  Result<std::vector<std::size_t>> matches(const ChunkEntry& entry, std::size_t begin,
                                           std::size_t end) {
    if (!may_hold(entry)) return std::vector<std::size_t>();
    // By masks and time first, then by the pattern.
    const bool is_there = TRY(load(entry));
    if (!is_there) return std::vector<std::size_t>();
    std::vector<std::size_t> lines;
    for (std::size_t line = begin; line < end; ++line) {
      if (pattern_ != nullptr) {
        const std::optional<std::size_t> found =
            // From line to line that holds a match: lines without one are never looked at.
            pattern_->find(chunk_->text(), chunk_->text_begin(line));
        line = found ? chunk_->line_at(*found) : end;
      }
      if (line < end && is_wanted(query_.filter, chunk_->head(line))) lines.push_back(line);
    }
    return lines;
  }

  /// Brings the chunk's lines into memory. False when the pattern is nowhere in them.
  Result<bool> load(const ChunkEntry& entry) {
    if (is_open(entry)) {
      // Counted whatever is found: bytes_max bounds the work, not the answer.
      looked_through_ += entry.text_bytes;
      chunk_ = &log_.open();
      return true;
    }
    if (pattern_ != nullptr) {
      looked_through_ += kFilterCost;
      // Some kilobytes instead of a megabyte.
      const std::string filter =
          TRY(tables_.part(log_.row().number, entry.number, logs::ChunkPart::kFilter));
      if (!pattern_->may_match(TrigramFilter(filter))) return false;
    }
    looked_through_ += entry.text_bytes;
    std::string text = TRY(log_.text(tables_, entry));
    // Heads are decoded only where the text has a match.
    if (pattern_ != nullptr && !pattern_->find(text, 0)) return false;
    loaded_ = TRY(log_.chunk(tables_, entry, std::move(text)));
    chunk_ = &loaded_;
    return true;
  }

  LogTables& tables_;
  const OwnerLog& log_;
  const LogQuery& query_;
  const LogPattern* pattern_;
  std::uint64_t rank_mask_;
  std::uint64_t stream_mask_;
  std::uint64_t level_mask_;
  LogPage page_;
  bool is_full_ = false;
  std::size_t looked_through_ = 0;
  std::size_t answer_bytes_ = 0;
  LogChunk loaded_;
  const LogChunk* chunk_ = nullptr;
};

}  // namespace

Result<LogPage> SqliteLogStore::read(const LogQuery& query) {
  if (query.lines_max == 0)
    return fail(ErrorCode::kInvalidArgument, "at least one line must be asked for");
  std::unique_ptr<LogPattern> pattern;
  if (!query.filter.text.empty()) pattern = TRY(LogPattern::compile(query.filter));
  TRY(ready());
  const OwnerLog* log = TRY(state_->find(query.owner));
  // An owner without output is no error: its first lines may be on their way.
  if (log == nullptr) return LogPage{{}, query.is_backward ? 0 : query.from, true};
  return LogSearch(*state_->tables, *log, query, pattern.get()).run();
}

Result<std::vector<LogLine>> SqliteLogStore::unfinished_lines(LogOwner owner) {
  TRY(ready());
  std::vector<LogLine> lines;
  const OwnerLog* log = TRY(state_->find(owner));
  if (log == nullptr) return lines;
  for (const auto& [key, splitter] : log->streams()) {
    if (!splitter.unfinished().empty()) lines.push_back(splitter.unfinished_line(key));
  }
  return lines;
}

Result<std::vector<LogStreamState>> SqliteLogStore::streams(LogOwner owner) {
  TRY(ready());
  std::vector<LogStreamState> streams;
  const OwnerLog* log = TRY(state_->find(owner));
  if (log == nullptr) return streams;
  for (const auto& [key, splitter] : log->streams())
    streams.push_back({key.run, key.rank, key.stream, splitter.next_offset(), key.source});
  return streams;
}

Result<LogTail> SqliteLogStore::tail(const LogStreamId& id) {
  TRY(ready());
  const OwnerLog* log = TRY(state_->find(id.owner));
  if (log == nullptr) return LogTail();
  const auto stream = log->streams().find({id.run, id.rank, id.stream, id.source});
  if (stream == log->streams().end()) return LogTail();
  return LogTail{stream->second.next_offset(), std::string(stream->second.unfinished())};
}

Result<std::vector<LogSize>> SqliteLogStore::sizes() {
  TRY(ready());
  std::vector<LogSize> sizes = TRY(state_->tables->sizes());
  // With what lies in memory: the tables know sealed chunks alone.
  for (const auto& [since, owner] : state_->waiting) {
    const LogChunk& open = state_->owners.at(owner).log->open();
    if (open.size() == 0) continue;
    auto known = std::ranges::find(sizes, owner, &LogSize::owner);
    if (known == sizes.end()) known = sizes.insert(sizes.end(), LogSize{owner, 0, 0, 0});
    known->lines += open.size();
    known->text_bytes += open.text().size();
  }
  std::ranges::sort(sizes, {}, &LogSize::owner);
  return sizes;
}

}  // namespace muster
