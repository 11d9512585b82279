// Lines wait in one open chunk for all streams of the owner, until a chunk's worth has come or the
// store asks for room (seal). What is sealed and what the log still has is told apart by
// sealed_record: a replay accepts again what came after it.
#include "store/logs/owner_log.h"

#include <algorithm>

#include "base/check.h"
#include "store/files/compression.h"
#include "store/logs/trigram_filter.h"

namespace muster::logs {
namespace {

constexpr int kTextLevel = 3;

}  // namespace

Result<std::unique_ptr<OwnerLog>> OwnerLog::load(LogTables& tables, const OwnerRow& row) {
  std::unique_ptr<OwnerLog> log(new OwnerLog(row));
  log->directory_ = TRY(tables.directory(row.number));
  const std::vector<StreamRow> streams = TRY(tables.streams(row.number));
  for (const StreamRow& stream : streams) {
    ByteReader in(stream.state);
    log->streams_[stream.key] = LineSplitter::read(in);
    if (!in.is_ok() || !in.is_at_end())
      return fail(ErrorCode::kCorruption, "the state of a task's output is damaged");
  }
  return log;
}

std::uint64_t OwnerLog::next_offset(const StreamKey& key) const {
  const auto known = streams_.find(key);
  return known == streams_.end() ? 0 : known->second.next_offset();
}

void OwnerLog::accept(std::uint64_t record, const LogFragment& fragment) {
  const StreamKey key{fragment.run, fragment.rank, fragment.stream, fragment.source};
  // Streams are ordered by run first.
  if (!streams_.empty() && streams_.rbegin()->first.run < key.run) {
    for (auto& [older, splitter] :
         streams_) {  // a new run begins: nothing follows in those before it
      if (splitter.unfinished().empty()) continue;
      splitter.finish(older, open_);
      // Its state has changed and is written with the next seal.
      changed_.insert(older);
    }
  }
  LineSplitter& splitter = streams_[key];
  const std::size_t before = splitter.unfinished().size();
  splitter.accept(key, fragment, open_);
  changed_.insert(key);
  // A line without an end may grow for long without any that has one: it counts, too.
  open_bytes_ = open_.bytes() + std::max(splitter.unfinished().size(), before);
  last_time_us_ = fragment.received_time.microseconds();
  // The log must keep this record until the lines are sealed.
  if (waiting_since_ == 0) waiting_since_ = record;
}

Status OwnerLog::write_chunk(LogTables& tables, const LogChunk& lines) {
  SealedChunk sealed;
  sealed.entry = lines.entry(row_.next_line);
  // Numbers go on behind a dropped chunk's, so that rows stay in order.
  sealed.entry.number = directory_.empty() ? 0 : directory_.back().number + 1;
  if (sealed.entry.number >= kChunksMax)
    return fail(ErrorCode::kResourceExhausted, "a log has too many chunks");
  sealed.text = compressed(lines.text(), kTextLevel);
  sealed.heads = lines.encoded_heads();
  sealed.filter = TrigramFilter::of(lines.text());
  sealed.entry.stored_bytes = sealed.text.size() + sealed.heads.size() + sealed.filter.size();
  TRY(tables.put_chunk(row_.number, sealed));
  // In memory last, when the rows are written.
  directory_.push_back(sealed.entry);
  row_.next_line = sealed.entry.first_line + sealed.entry.lines;
  return {};
}

Status OwnerLog::seal(LogTables& tables, std::uint64_t record) {
  LogChunk lines;
  // A chunk that was sealed early, because the log was long, is joined with what came since, as
  // long as it is not much larger: each byte is rewritten a bounded number of times.
  const bool is_small = !directory_.empty() && directory_.back().text_bytes < kChunkBytes / 2 &&
                        directory_.back().text_bytes <= 2 * open_.text().size();
  if (is_small) {
    std::string text = TRY(this->text(tables, directory_.back()));
    lines = TRY(chunk(tables, directory_.back(), std::move(text)));
    // Its lines keep their numbers.
    row_.next_line = directory_.back().first_line;
    TRY(tables.drop_chunk(row_.number, directory_.back().number));
    directory_.pop_back();
  }
  lines.add_lines(open_, 0, open_.size());
  for (std::size_t begin = 0; begin < lines.size();) {
    std::size_t end = begin + 1;
    // A line is never split over chunks: one chunk has a line at least.
    while (end < lines.size() && lines.text_begin(end) - lines.text_begin(begin) < kChunkBytes)
      ++end;
    LogChunk part;
    part.add_lines(lines, begin, end);
    TRY(write_chunk(tables, part));
    begin = end;
  }
  // Only streams with news: an owner may have thousands.
  for (const StreamKey& key : changed_) {
    ByteWriter out;
    streams_.at(key).write(out);
    TRY(tables.put_stream(row_.number, {key, out.finish()}));
  }
  // What records up to this one brought lies in chunks; the rest of their bytes lies in the
  // streams' states.
  row_.sealed_record = record;
  TRY(tables.put_owner(row_));
  changed_.clear();
  open_ = LogChunk();
  open_bytes_ = 0;
  waiting_since_ = 0;
  return {};
}

void OwnerLog::forget_chunk(std::uint64_t number) {
  std::erase_if(directory_, [&](const ChunkEntry& entry) { return entry.number == number; });
}

Result<std::string> OwnerLog::text(LogTables& tables, const ChunkEntry& entry) const {
  // Length and number of lines are in the directory as well: what lost some is found here.
  const std::string bytes = TRY(tables.part(row_.number, entry.number, ChunkPart::kText));
  std::string text = TRY(decompressed(bytes, static_cast<std::size_t>(entry.text_bytes)));
  if (text.size() != entry.text_bytes)
    return fail(ErrorCode::kCorruption, "a chunk of a log has lost text");
  return text;
}

Result<LogChunk> OwnerLog::chunk(LogTables& tables, const ChunkEntry& entry,
                                 std::string text) const {
  const std::string heads = TRY(tables.part(row_.number, entry.number, ChunkPart::kHeads));
  LogChunk chunk = TRY(LogChunk::decode(heads, std::move(text)));
  if (chunk.size() != entry.lines)
    return fail(ErrorCode::kCorruption, "a chunk of a log has lost lines");
  return chunk;
}

}  // namespace muster::logs
