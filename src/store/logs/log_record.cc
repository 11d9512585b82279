// A record of the log is all fragments of one append, in order: what a replay accepts again.
#include "store/logs/log_record.h"

#include "store/files/byte_stream.h"
#include "store/files/compression.h"

namespace muster::logs {
namespace {

// More than any append makes; a length beyond it is damage.
constexpr std::size_t kRecordBytesMax = std::size_t{1} << 30;

}  // namespace

std::string encode_fragments(const std::vector<const LogFragment*>& fragments) {
  ByteWriter out;
  out.number(fragments.size());
  for (const LogFragment* fragment : fragments) {
    out.byte(static_cast<std::uint8_t>(fragment->owner.kind));
    out.number(fragment->owner.id);
    out.number(fragment->run);
    out.number(fragment->source);
    out.number(fragment->rank);
    // Bit 0 the stream, bit 1 the end.
    out.byte(static_cast<std::uint8_t>(static_cast<unsigned>(fragment->stream) |
                                       (fragment->is_end ? 2U : 0U)));
    out.number(fragment->offset);
    out.signed_number(fragment->received_time.microseconds());
    out.text(fragment->bytes);
  }
  return compressed(out.bytes());
}

Result<std::vector<LogFragment>> decode_fragments(std::string_view bytes) {
  const std::string plain = TRY(decompressed(bytes, kRecordBytesMax));
  ByteReader in(plain);
  std::vector<LogFragment> fragments(in.count());
  for (LogFragment& fragment : fragments) {
    fragment.owner.kind = static_cast<LogOwnerKind>(in.byte());
    fragment.owner.id = static_cast<std::uint32_t>(in.number());
    fragment.run = static_cast<std::uint32_t>(in.number());
    fragment.source = in.number();
    fragment.rank = static_cast<std::uint32_t>(in.number());
    const std::uint8_t marks = in.byte();
    fragment.stream = static_cast<LogStream>(marks & 1U);
    fragment.is_end = (marks & 2U) != 0;
    fragment.offset = in.number();
    fragment.received_time = TimePoint::from_microseconds(in.signed_number());
    fragment.bytes = in.text();
  }
  if (!in.is_ok() || !in.is_at_end())
    return fail(ErrorCode::kCorruption, "a record of task output is damaged");
  return fragments;
}

}  // namespace muster::logs
