#include "store/logs/sqlite_logs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <optional>

#include "store/files/testing.h"
#include "store/logs/line_splitter.h"

namespace muster {
namespace {

using testing::FaultyDisk;

constexpr const char* kPath = "logs.db";
constexpr LogOwner kOwner{LogOwnerKind::kTrial, 5};

std::unique_ptr<LogStore> opened(std::size_t open_bytes_max = std::size_t{1} << 20) {
  auto store = open_sqlite_logs({.path = kPath,
                                 .open_bytes_max = open_bytes_max,
                                 .log_bytes_max = open_bytes_max,
                                 .cached_owners_max = 2});
  EXPECT_TRUE(store.has_value()) << store.error().text();
  return store.has_value() ? std::move(store).value() : nullptr;
}

LogFragment fragment_of(std::uint64_t offset, std::string bytes, std::uint32_t rank = 0,
                        LogStream stream = LogStream::kStdout) {
  LogFragment fragment;
  fragment.owner = kOwner;
  fragment.rank = rank;
  fragment.stream = stream;
  fragment.offset = offset;
  fragment.bytes = std::move(bytes);
  fragment.received_time = TimePoint::from_seconds(1'000 + static_cast<std::int64_t>(offset));
  return fragment;
}

std::uint64_t append_one(LogStore& store, const LogFragment& fragment) {
  const auto offsets = store.append({fragment});
  EXPECT_TRUE(offsets.has_value()) << offsets.error().text();
  return offsets.has_value() ? offsets->at(0) : 0;
}

/// All lines that match, in pages.
std::vector<LogLine> all_lines(LogStore& store, LogQuery query) {
  std::vector<LogLine> lines;
  if (query.is_backward) query.from = kLastLogLine;
  for (int pages = 0; pages < 10'000; ++pages) {
    const auto page = store.read(query);
    EXPECT_TRUE(page.has_value()) << page.error().text();
    if (!page.has_value()) return lines;
    EXPECT_LE(page->lines.size(), query.lines_max);
    lines.insert(lines.end(), page->lines.begin(), page->lines.end());
    if (page->is_end) return lines;
    EXPECT_NE(page->next, query.from) << "a page that is not the last goes on";
    query.from = page->next;
  }
  ADD_FAILURE() << "no end";
  return lines;
}

LogQuery everything() {
  LogQuery query;
  query.owner = kOwner;
  return query;
}
LogQuery containing(std::string text, bool is_regex = false) {
  LogQuery query = everything();
  query.filter.text = std::move(text);
  query.filter.is_regex = is_regex;
  return query;
}

std::vector<std::string> texts_of(const std::vector<LogLine>& lines) {
  std::vector<std::string> texts;
  for (const LogLine& line : lines) texts.push_back(line.text);
  return texts;
}
using Texts = std::vector<std::string>;

bool is_same(const LogLine& a, const LogLine& b) {
  return std::tie(a.id, a.run, a.rank, a.stream, a.is_continuation, a.is_marker, a.level, a.time,
                  a.text) == std::tie(b.id, b.run, b.rank, b.stream, b.is_continuation, b.is_marker,
                                      b.level, b.time, b.text);
}

std::string described(const LogLine& line) {
  return fmt::format("{} run {} rank {}{}{}{} {} at {}: {}", line.id, line.run, line.rank,
                     line.stream == LogStream::kStderr ? " err" : "",
                     line.is_continuation ? " cont" : "", line.is_marker ? " marker" : "",
                     log_level_name(line.level), line.time.microseconds(), line.text);
}

// ---- receiving ----

TEST(LogStore, AcknowledgesByOffsetAndKeepsWhatItAcknowledged) {
  FaultyDisk disk(1);
  auto store = opened();
  EXPECT_EQ(append_one(*store, fragment_of(0, "one\ntw")), 6U);
  EXPECT_EQ(append_one(*store, fragment_of(0, "one\ntw")), 6U);
  store = nullptr;
  disk.lose_power();
  store = opened();
  EXPECT_EQ(append_one(*store, fragment_of(2, "e\ntwo\nthree")), 13U);
  EXPECT_EQ(texts_of(all_lines(*store, everything())), (Texts{"one", "two"}));
  const std::vector<LogLine> unfinished = store->unfinished_lines(kOwner).value();
  EXPECT_EQ(texts_of(unfinished), Texts{"three"});
  ASSERT_TRUE(store->compact(100).value());
  store = nullptr;
  store = opened();
  LogFragment end = fragment_of(13, "");
  end.is_end = true;
  EXPECT_EQ(append_one(*store, end), 13U);
  EXPECT_EQ(texts_of(all_lines(*store, everything())), (Texts{"one", "two", "three"}));
  EXPECT_EQ(store->streams(kOwner).value().at(0).next_offset, 13U);
}

TEST(LogStore, AGapLeavesAMarker) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "begun"));
  EXPECT_EQ(append_one(*store, fragment_of(100, "rest\n")), 105U);
  EXPECT_EQ(append_one(*store, fragment_of(5, std::string(95, 'x'))), 105U)
      << "what was given up is not taken later";
  const std::vector<LogLine> lines = all_lines(*store, everything());
  EXPECT_EQ(texts_of(lines), (Texts{"begun", "[95 bytes of output are missing here]", "rest"}));
  EXPECT_TRUE(lines[1].is_marker);
  EXPECT_FALSE(lines[2].is_marker);
}

TEST(LogStore, SplitsAtEveryKindOfEnd) {
  FaultyDisk disk(1);
  auto store = opened();
  std::uint64_t offset = 0;
  for (const std::string bytes : {"a\r\nb\r", "\nc\r10%\r", "20%\n\n", "d\r", "e\n"})
    offset = append_one(*store, fragment_of(offset, bytes));
  EXPECT_EQ(texts_of(all_lines(*store, everything())),
            (Texts{"a", "b", "c", "10%", "20%", "", "d", "e"}));
}

TEST(LogStore, LongLinesAreCutBetweenCharacters) {
  FaultyDisk disk(1);
  auto store = opened();
  const std::string umlauts = [] {
    std::string text = "x";
    while (text.size() < 40'000) text += "\xc3\xa4";
    return text;
  }();
  append_one(*store, fragment_of(0, "WARNING: " + umlauts + "\nshort\n"));
  const std::vector<LogLine> lines = all_lines(*store, everything());
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].text + lines[1].text + lines[2].text, "WARNING: " + umlauts);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(lines[static_cast<std::size_t>(i)].text.size(), logs::kLineBytesMax);
    EXPECT_EQ(lines[static_cast<std::size_t>(i)].is_continuation, i > 0);
    EXPECT_EQ(lines[static_cast<std::size_t>(i)].level, LogLevel::kWarning);
    EXPECT_NE(static_cast<unsigned char>(lines[static_cast<std::size_t>(i)].text[0]) & 0xc0U,
              0x80U);
  }
  EXPECT_FALSE(lines[3].is_continuation);
  EXPECT_EQ(lines[3].level, LogLevel::kUnspecified);
}

TEST(LogStore, ANewRunEndsTheLinesOfTheOneBefore) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "cut short"));
  LogFragment next = fragment_of(0, "again\n");
  next.run = 2;
  append_one(*store, next);
  EXPECT_EQ(texts_of(all_lines(*store, everything())), (Texts{"cut short", "again"}));
  EXPECT_TRUE(store->unfinished_lines(kOwner).value().empty());
}

TEST(LogStore, RefusesWhatIsTooLong) {
  FaultyDisk disk(1);
  auto store = opened();
  EXPECT_EQ(
      store->append({fragment_of(0, std::string((std::size_t{16} << 20) + 1, 'x'))}).error().code,
      ErrorCode::kInvalidArgument);
  LogQuery none = everything();
  none.lines_max = 0;
  EXPECT_EQ(store->read(none).error().code, ErrorCode::kInvalidArgument);
}

// ---- reading ----

TEST(LogStore, FollowsFromACursor) {
  FaultyDisk disk(1);
  auto store = opened();
  LogQuery query = everything();
  LogPage page = store->read(query).value();
  EXPECT_TRUE(page.is_end && page.lines.empty());
  std::uint64_t offset = 0;
  for (const std::string text : {"one\n", "two\nthree\n", "four\n"}) {
    offset = append_one(*store, fragment_of(offset, text));
    query.from = page.next;
    page = store->read(query).value();
    EXPECT_TRUE(page.is_end);
    std::string joined;
    for (const LogLine& line : page.lines) joined += line.text + "\n";
    EXPECT_EQ(joined, text);
    if (text == "two\nthree\n") {
      ASSERT_TRUE(store->compact(1).has_value());
    }
  }
}

TEST(LogStore, FiltersByRankStreamLevelRunAndTime) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "INFO: a0\nERROR: a1\n", 0));
  append_one(*store, fragment_of(0, "INFO: b0\n", 1, LogStream::kStderr));
  append_one(*store, fragment_of(0, "plain c0\n", 65));
  append_one(*store, fragment_of(9, "late c1\n", 65));
  for (const bool is_compacted : {false, true}) {
    if (is_compacted) {
      ASSERT_TRUE(store->compact(1).value());
    }
    LogQuery query = everything();
    query.filter.ranks = {1};
    EXPECT_EQ(texts_of(all_lines(*store, query)), Texts{"INFO: b0"})
        << "rank 65 has the same bit, and is not meant";
    query.filter.ranks = {65, 1};
    EXPECT_EQ(all_lines(*store, query).size(), 3U);
    query = everything();
    query.filter.streams = {LogStream::kStderr};
    EXPECT_EQ(texts_of(all_lines(*store, query)), Texts{"INFO: b0"});
    query = everything();
    query.filter.levels = {LogLevel::kError, LogLevel::kCritical};
    EXPECT_EQ(texts_of(all_lines(*store, query)), Texts{"ERROR: a1"});
    query = everything();
    query.filter.first_time = TimePoint::from_seconds(1'009);
    EXPECT_EQ(texts_of(all_lines(*store, query)), Texts{"late c1"});
    query = everything();
    query.filter.last_time = TimePoint::from_seconds(1'008);
    EXPECT_EQ(all_lines(*store, query).size(), 4U);
    query.filter.runs = {2};
    EXPECT_TRUE(all_lines(*store, query).empty());
  }
}

TEST(LogStore, SearchesLinesAndNeverAcrossThem) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0,
                                 "CUDA out of memory\nfoo\nbar baz\nstep 12 loss=0.5\nstep 13 "
                                 "loss=nan\n\xff\xfe caf\xc3\xa9 \x80 end\n"));
  for (const bool is_compacted : {false, true}) {
    if (is_compacted) {
      ASSERT_TRUE(store->compact(1).value());
    }
    const auto found = [&](const LogQuery& query) { return texts_of(all_lines(*store, query)); };
    EXPECT_EQ(found(containing("out of mem")), Texts{"CUDA out of memory"});
    EXPECT_EQ(found(containing("OUT OF MEM")), Texts{});
    LogQuery any_case = containing("OUT OF MEM");
    any_case.filter.is_case_ignored = true;
    EXPECT_EQ(found(any_case), Texts{"CUDA out of memory"});
    EXPECT_EQ(found(containing("loss=0.5")), Texts{"step 12 loss=0.5"});
    EXPECT_EQ(found(containing("loss=0x5")), Texts{}) << "a full stop is a full stop";
    EXPECT_EQ(found(containing("loss=(nan|inf)", true)), Texts{"step 13 loss=nan"});
    EXPECT_EQ(found(containing("^bar", true)), Texts{"bar baz"});
    EXPECT_EQ(found(containing("foo$", true)), Texts{"foo"});
    EXPECT_EQ(found(containing("foo\\sbar", true)), Texts{}) << "a match stays in its line";
    EXPECT_EQ(found(containing("foo[^x]bar", true)), Texts{});
    EXPECT_EQ(found(containing("(?s)foo.bar", true)), Texts{});
    EXPECT_EQ(found(containing("\\Astep 1", true)).size(), 2U) << "the text is the line";
    EXPECT_EQ(found(containing("baz\\z", true)), Texts{"bar baz"});
    EXPECT_EQ(found(containing("foo\\Cbar", true)), Texts{});
    EXPECT_EQ(found(containing("(?-m)^foo$", true)), Texts{"foo"});
    EXPECT_EQ(found(containing("caf\xc3\xa9")).size(), 1U);
    EXPECT_EQ(found(containing("caf. ", true)).size(), 1U);
    EXPECT_EQ(found(containing("caf\xc3\xa9 . end", true)).size(), 0U)
        << "what is no character is not any character";
    EXPECT_EQ(found(containing("(?i)CAF\xc3\x89", true)).size(), 1U);
    EXPECT_EQ(found(containing("ab|step", true)).size(), 2U)
        << "no literal of three bytes can be derived";
    EXPECT_EQ(found(containing("x*", true)).size(), 6U);
  }
}

TEST(LogStore, RefusesBadPatternsWithRe2sMessage) {
  FaultyDisk disk(1);
  auto store = opened();
  for (const auto& [pattern, message] :
       {std::pair("a(b", "missing ): a(b"), std::pair("a)(b", "unexpected ): a)(b"),
        std::pair("(?P<x", "invalid named capture group"),
        std::pair("a**", "bad repetition operator")}) {
    const auto refused = store->read(containing(pattern, true));
    ASSERT_FALSE(refused.has_value()) << pattern;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().detail.find(message), std::string::npos) << refused.error().detail;
  }
  EXPECT_EQ(store->read(containing("((((a{100}){100}){100}){100})", true)).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(store->read(containing(std::string(5'000, 'x'))).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(LogStore, CaseIsIgnoredBeyondAsciiToo) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "CAF\xc3\x89 \xc3\x84\xc3\x96\xc3\x9c\n"));
  ASSERT_TRUE(store->compact(1).value());
  for (const std::string text : {"caf\xc3\xa9", "\xc3\xa4\xc3\xb6\xc3\xbc"}) {
    LogQuery query = containing(text);
    EXPECT_EQ(all_lines(*store, query).size(), 0U);
    query.filter.is_case_ignored = true;
    EXPECT_EQ(all_lines(*store, query).size(), 1U) << text;
  }
}

TEST(LogStore, LettersThatEqualAsciiWithoutCaseAreFound) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0,
                                 "300 \xe2\x84\xaa"
                                 "elvin\nmi\xc5\xbfing\n"));
  ASSERT_TRUE(store->compact(1).value());
  LogQuery query = containing("kelvin");
  query.filter.is_case_ignored = true;
  EXPECT_EQ(all_lines(*store, query).size(), 1U);
}

TEST(LogStore, OneCallLooksThroughABoundedPart) {
  FaultyDisk disk(1);
  auto store = opened();
  std::uint64_t offset = 0;
  for (int i = 0; i < 6; ++i) {
    std::string text;
    while (text.size() < logs::kChunkBytes + 20'000)
      text += fmt::format("line {} of chunk {}\n", text.size(), i);
    offset = append_one(*store, fragment_of(offset, text));
  }
  LogQuery query = containing("[0-9] of chunk 5", true);
  query.bytes_max = 1;
  query.lines_max = 1;
  int calls = 0;
  LogPage page;
  for (page = store->read(query).value(); page.lines.empty() && !page.is_end; ++calls) {
    query.from = page.next;
    page = store->read(query).value();
  }
  EXPECT_GT(calls, 3);
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_EQ(page.lines[0].text, "line 0 of chunk 5");
  // An absent literal is passed over by trigrams: the same bound reaches the end at once.
  LogQuery absent = containing("no such words");
  absent.bytes_max = std::size_t{60} << 10;
  ASSERT_TRUE(store->compact(1).value());
  EXPECT_TRUE(store->read(absent).value().is_end);
}

TEST(LogStore, AFullChunkIsSealedWithoutTheOthers) {
  FaultyDisk disk(1);
  auto store = opened(std::size_t{8} << 20);
  append_one(*store, fragment_of(0, std::string(logs::kChunkBytes + 10, 'x') + "\n"));
  EXPECT_EQ(store->waiting_bytes(), 0U);
  LogFragment other = fragment_of(0, "short\n");
  other.owner.id = 9;
  append_one(*store, other);
  EXPECT_GT(store->waiting_bytes(), 0U);
  EXPECT_LT(store->waiting_bytes(), 1'000U);
}

// ---- deletion ----

TEST(LogStore, ADeletedOwnerIsGoneAndItsRoomIsGivenBack) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "old\n"));
  ASSERT_TRUE(store->compact(1).value());
  append_one(*store, fragment_of(4, "new\n"));
  LogFragment other = fragment_of(0, "other\n");
  other.owner = {LogOwnerKind::kJob, 5};
  append_one(*store, other);
  EXPECT_EQ(store->sizes().value().size(), 2U);
  ASSERT_TRUE(store->delete_owner(kOwner).has_value());
  store = nullptr;
  store = opened();
  EXPECT_TRUE(all_lines(*store, everything()).empty());
  EXPECT_FALSE(store->sweep(10).value());
  EXPECT_TRUE(store->sweep(10).value());
  const std::vector<LogSize> sizes = store->sizes().value();
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].owner, other.owner);
  EXPECT_EQ(sizes[0].lines, 1U);
  EXPECT_EQ(sizes[0].text_bytes, 6U);
  EXPECT_EQ(append_one(*store, fragment_of(0, "anew\n")), 5U);
  EXPECT_EQ(texts_of(all_lines(*store, everything())), Texts{"anew"});
}

TEST(LogStore, OldLinesAreDeletedAndTheOthersKeepTheirNumbers) {
  FaultyDisk disk(1);
  auto store = opened();
  append_one(*store, fragment_of(0, "one\ntwo\n"));
  ASSERT_TRUE(store->compact(1).value());
  append_one(*store, fragment_of(2'000'000 - 1'000, "three\n"));
  LogFragment idle = fragment_of(0, "never enough for a chunk\n");
  idle.owner.id = 9;
  append_one(*store, idle);
  int slices = 1;
  while (!store->delete_before(TimePoint::from_seconds(1'500'000), 1).value()) ++slices;
  EXPECT_GT(slices, 1);
  const std::vector<LogLine> lines = all_lines(*store, everything());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].id, 3U);
  EXPECT_TRUE(lines[0].is_marker);
  EXPECT_EQ(lines[1].text, "three");
  LogQuery other = everything();
  other.owner.id = 9;
  EXPECT_TRUE(all_lines(*store, other).empty());
  EXPECT_EQ(append_one(*store, fragment_of(0, "one\n")), 1'999'006U)
      << "what was received stays known";
}

// ---- a property: the store answers as a walk over every byte, whatever the disk does ----

/// Lines as they come of bytes one by one.
struct StreamModel {
  std::uint64_t next = 0;
  std::string line;
  std::int64_t time = 0;
  bool is_continuation = false;
  bool is_after_return = false;
  LogLevel level = LogLevel::kUnspecified;
};

class LogModel {
 public:
  std::uint64_t append(const LogFragment& fragment) {
    auto& streams = streams_[fragment.owner];
    const bool is_known = !streams.empty();
    if (is_known && fragment.run > std::get<0>(streams.rbegin()->first)) {
      for (auto& [key, stream] : streams) finish(fragment.owner, key, stream);
    }
    const Key key{fragment.run, fragment.rank, fragment.stream};
    StreamModel& stream = streams[key];
    const std::int64_t time = fragment.received_time.microseconds();
    if (fragment.offset > stream.next) {
      finish(fragment.owner, key, stream);
      LogLine marker = line_of(
          key, time,
          fmt::format("[{} bytes of output are missing here]", fragment.offset - stream.next));
      marker.is_marker = true;
      add(fragment.owner, marker);
      stream.next = fragment.offset;
      stream.is_after_return = false;
    }
    for (std::uint64_t i = stream.next - fragment.offset; i < fragment.bytes.size(); ++i) {
      apply(fragment.owner, key, stream, fragment.bytes[i], time);
    }
    const bool is_last = fragment.offset + fragment.bytes.size() >= stream.next;
    stream.next = std::max(stream.next, fragment.offset + fragment.bytes.size());
    if (fragment.is_end && is_last) finish(fragment.owner, key, stream);
    return stream.next;
  }
  std::uint64_t next_offset(const LogFragment& fragment) const {
    const auto streams = streams_.find(fragment.owner);
    if (streams == streams_.end()) return 0;
    const auto known = streams->second.find({fragment.run, fragment.rank, fragment.stream});
    return known == streams->second.end() ? 0 : known->second.next;
  }
  bool changes(const LogFragment& fragment) const {
    return fragment.is_end || !streams_.contains(fragment.owner) ||
           fragment.offset + fragment.bytes.size() > next_offset(fragment);
  }
  void delete_owner(LogOwner owner) {
    streams_.erase(owner);
    lines_.erase(owner);
  }
  const std::vector<LogLine>& lines(LogOwner owner) { return lines_[owner]; }
  Texts unfinished(LogOwner owner) {
    Texts texts;
    for (const auto& [key, stream] : streams_[owner]) {
      if (!stream.line.empty()) texts.push_back(stream.line);
    }
    return texts;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, LogStream>;
  static LogLine line_of(const Key& key, std::int64_t time, std::string text) {
    LogLine line;
    line.run = std::get<0>(key);
    line.rank = std::get<1>(key);
    line.stream = std::get<2>(key);
    line.time = TimePoint::from_microseconds(time);
    line.text = std::move(text);
    return line;
  }
  void add(LogOwner owner, LogLine line) {
    line.id = lines_[owner].size() + 1;
    lines_[owner].push_back(std::move(line));
  }
  void emit(LogOwner owner, const Key& key, StreamModel& stream, bool is_cut) {
    LogLine line = line_of(key, stream.time, stream.line);
    if (!stream.is_continuation) stream.level = guessed_level(stream.line);
    line.level = stream.level;
    line.is_continuation = stream.is_continuation;
    add(owner, std::move(line));
    stream.is_continuation = is_cut;
    stream.line.clear();
  }
  void finish(LogOwner owner, const Key& key, StreamModel& stream) {
    if (!stream.line.empty()) emit(owner, key, stream, false);
    stream.is_continuation = false;
  }
  void apply(LogOwner owner, const Key& key, StreamModel& stream, char c, std::int64_t time) {
    const bool was_return = std::exchange(stream.is_after_return, false);
    if (c == '\n' && was_return) return;
    if (c == '\n' || c == '\r') {
      if (stream.line.empty()) stream.time = time;
      emit(owner, key, stream, false);
      stream.is_after_return = c == '\r';
      return;
    }
    if (stream.line.size() == logs::kLineBytesMax) emit(owner, key, stream, true);
    if (stream.line.empty()) stream.time = time;
    stream.line += c;
  }

  std::map<LogOwner, std::map<Key, StreamModel>> streams_;
  std::map<LogOwner, std::vector<LogLine>> lines_;
};

class Story : public testing::DiskStory {
 public:
  Story(std::uint64_t seed, bool is_faulty) : DiskStory(seed, is_faulty) {}

  void run() {
    for (int session = 0; session < 4; ++session) {
      maybe_arm();
      reopen();
      for (std::uint64_t turn = 1 + rng_.below(25);
           turn > 0 && !disk_.is_gone() && store_ != nullptr; --turn) {
        ASSERT_NO_FATAL_FAILURE(act());
        maybe_arm();
      }
      store_ = nullptr;
      end_session();
      reopen();
      ASSERT_NE(store_, nullptr);
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
  std::uint64_t stored() const { return lines_; }

 private:
  void reopen() {
    store_ = nullptr;
    const std::size_t limit = rng_.chance(0.5) ? 3'000 : 200'000;
    auto store = open_sqlite_logs(
        {.path = kPath, .open_bytes_max = limit, .log_bytes_max = limit, .cached_owners_max = 1});
    if (store.has_value()) {
      store_ = std::move(store).value();
    } else {
      refuse(store.error());
    }
  }
  LogOwner random_owner() {
    return {rng_.chance(0.5) ? LogOwnerKind::kJob : LogOwnerKind::kTrial,
            1 + static_cast<std::uint32_t>(rng_.below(2))};
  }
  std::string random_text() {
    constexpr const char* kWords[] = {"INFO: ", "step",  "loss=0.5", "ERROR: ", "\n",
                                      "\n",     "\r",    "\r\n",     "xyzzy",   "\xff\x80",
                                      " ",      "Alpha", "beta"};
    std::string text;
    for (std::uint64_t count = rng_.below(60); count > 0; --count)
      text += kWords[rng_.below(std::size(kWords))];
    if (rng_.chance(0.02)) text += std::string(rng_.below(50'000), 'y');
    if (is_large_ && !is_faulty_ && rng_.chance(0.05)) {
      for (int i = 0; i < 30'000; ++i) text += fmt::format("filler {} {}\n", i, rng_.below(1'000));
    }
    return text;
  }
  LogFragment random_fragment(LogModel& model) {
    LogFragment fragment;
    fragment.owner = random_owner();
    fragment.run = 1 + static_cast<std::uint32_t>(rng_.below(rng_.chance(0.1) ? 3 : 1));
    fragment.rank = static_cast<std::uint32_t>(rng_.below(4)) * 33;
    fragment.stream = rng_.chance(0.3) ? LogStream::kStderr : LogStream::kStdout;
    fragment.bytes = random_text();
    fragment.received_time = TimePoint::from_microseconds(++time_ * 1'000);
    const std::uint64_t next = model.next_offset(fragment);
    fragment.offset = next;
    if (rng_.chance(0.1)) fragment.offset -= std::min(next, rng_.below(30));
    if (rng_.chance(0.03)) fragment.offset += 1 + rng_.below(30);
    fragment.is_end = rng_.chance(0.03);
    return fragment;
  }

  void act() {
    switch (rng_.below(12)) {
      case 0: return maintain();
      case 1: return rng_.chance(0.2) ? delete_owner() : maintain();
      case 2: return is_faulty_ ? append() : check();
      default: return append();
    }
  }
  void append() {
    LogModel after = is_faulty_ ? model_ : std::move(model_);
    std::vector<LogFragment> batch;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t count = 1 + rng_.below(5); count > 0; --count) {
      batch.push_back(rng_.chance(0.1) && !sent_.empty() ? sent_[rng_.below(sent_.size())]
                                                         : random_fragment(after));
      expected.push_back(apply(after, batch.back()));
    }
    for (const LogFragment& fragment : batch) {
      if (fragment.bytes.size() < 1'000) sent_.push_back(fragment);
    }
    const auto offsets = store_->append(batch);
    if (!offsets.has_value()) return unsettled(offsets.error(), std::move(after));
    ASSERT_EQ(*offsets, expected);
    model_ = std::move(after);
  }
  /// A fragment that changes nothing does not begin a run either.
  static std::uint64_t apply(LogModel& model, const LogFragment& fragment) {
    return model.changes(fragment) ? model.append(fragment) : model.next_offset(fragment);
  }
  void delete_owner() {
    const LogOwner owner = random_owner();
    LogModel after = model_;
    after.delete_owner(owner);
    const Status status = store_->delete_owner(owner);
    if (!status.has_value()) return unsettled(status.error(), std::move(after));
    model_ = std::move(after);
  }
  void maintain() {
    const auto done = rng_.chance(0.5)
                          ? store_->compact(1 + rng_.below(5'000))
                          : store_->sweep(1 + static_cast<std::uint32_t>(rng_.below(3)));
    if (!done.has_value()) refuse(done.error());
  }

  /// A refused change is there whole or not at all.
  void unsettled(const Error& error, LogModel after) {
    refuse(error);
    late_ = std::move(after);
    if (disk_.is_gone()) return;
    disk_.heal();
    if (rng_.chance(0.5)) reopen();
    if (store_ != nullptr) decide_late();
  }
  void decide_late() {
    if (!late_) return;
    for (const LogOwner owner : owners()) {
      const bool differs = texts_of(model_.lines(owner)) != texts_of(late_->lines(owner)) ||
                           model_.unfinished(owner) != late_->unfinished(owner);
      if (!differs) continue;
      LogQuery query;
      query.owner = owner;
      const std::vector<LogLine> unfinished = store_->unfinished_lines(owner).value();
      const bool is_late = texts_of(all_lines(*store_, query)) == texts_of(late_->lines(owner)) &&
                           texts_of(unfinished) == late_->unfinished(owner);
      if (is_late) model_ = std::move(*late_);
      break;
    }
    late_.reset();
  }
  static std::vector<LogOwner> owners() {
    return {{LogOwnerKind::kJob, 1},
            {LogOwnerKind::kJob, 2},
            {LogOwnerKind::kTrial, 1},
            {LogOwnerKind::kTrial, 2}};
  }

  void check() {
    decide_late();
    lines_ = 0;
    for (const LogOwner owner : owners()) {
      SCOPED_TRACE(fmt::format("owner {} {}", static_cast<int>(owner.kind), owner.id));
      const std::vector<LogLine>& expected = model_.lines(owner);
      lines_ += expected.size();
      LogQuery query;
      query.owner = owner;
      query.lines_max = 1 + rng_.below(is_large_ ? 50'000 : 5'000);
      query.bytes_max = 1 + rng_.below(3'000'000);
      ASSERT_NO_FATAL_FAILURE(compare(query, expected));
      const std::vector<LogLine> unfinished = store_->unfinished_lines(owner).value();
      ASSERT_EQ(texts_of(unfinished), model_.unfinished(owner));
      query.is_backward = true;
      ASSERT_NO_FATAL_FAILURE(compare(query, expected));
      query.is_backward = rng_.chance(0.5);
      ASSERT_NO_FATAL_FAILURE(check_search(query, expected));
    }
  }
  void check_search(LogQuery query, const std::vector<LogLine>& all) {
    static constexpr const char* kLiterals[] = {"xyzzy",       "loss=0.5", "absent words",
                                                "ERROR: step", "ya",       "999"};
    query.filter.text = kLiterals[rng_.below(std::size(kLiterals))];
    query.filter.is_regex = rng_.chance(0.3);
    if (rng_.chance(0.3)) query.filter.ranks = {33, 66};
    if (rng_.chance(0.2)) query.filter.streams = {LogStream::kStderr};
    if (rng_.chance(0.2)) query.filter.levels = {LogLevel::kInfo, LogLevel::kError};
    if (rng_.chance(0.2))
      query.filter.first_time =
          TimePoint::from_microseconds(static_cast<std::int64_t>(rng_.below(100'000)));
    std::string needle = query.filter.text;
    if (query.filter.is_regex && needle == "loss=0.5")
      needle = "loss=0";  // every such line has the rest
    std::vector<LogLine> expected;
    for (const LogLine& line : all) {
      const LogFilter& filter = query.filter;
      const bool is_wanted = (filter.ranks.empty() || line.rank == 33 || line.rank == 66) &&
                             (filter.streams.empty() || line.stream == LogStream::kStderr) &&
                             (filter.levels.empty() || line.level == LogLevel::kInfo ||
                              line.level == LogLevel::kError) &&
                             line.time >= filter.first_time &&
                             line.text.find(needle) != std::string::npos;
      if (is_wanted) expected.push_back(line);
    }
    compare(query, expected);
  }
  void compare(const LogQuery& query, const std::vector<LogLine>& expected) {
    std::vector<LogLine> found = all_lines(*store_, query);
    if (query.is_backward) std::ranges::reverse(found);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!is_same(found[i], expected[i])) {
        ASSERT_EQ(described(found[i]), described(expected[i]));
      }
    }
  }

  bool is_large_ = rng_.chance(0.1);
  std::unique_ptr<LogStore> store_;
  LogModel model_;
  std::optional<LogModel> late_;   ///< what holds if the change refused last is there all the same
  std::vector<LogFragment> sent_;  ///< of them the short ones
  std::int64_t time_ = 0;
  std::uint64_t lines_ = 0;
};

TEST(LogStoreProperty, AnswersAsTheModel) {
  const testing::StorySum sum = testing::run_stories<Story>(25, false);
  EXPECT_GT(sum.stored, 30'000U);
}

TEST(LogStoreProperty, NothingAcknowledgedIsLostOrDoubledWhateverTheDiskDoes) {
  const testing::StorySum sum = testing::run_stories<Story>(80, true);
  EXPECT_GT(sum.stored, 10'000U);
  EXPECT_GT(sum.refused, 100U);
}

}  // namespace
}  // namespace muster
