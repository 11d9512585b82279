// Small records as bytes and back: numbers of variable length, doubles by their bits, texts with
// their length. What a store writes with it is described in docs/internals/.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Appends values to a string of bytes. Nothing in the bytes says what they are: a reader reads the
/// same kinds in the same order.
class ByteWriter {
 public:
  void byte(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  /// Writes seven bits a byte, lowest first (LEB128): 1 to 10 bytes.
  void number(std::uint64_t value) {
    std::array<char, 10> buffer;
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) buffer[size++] = static_cast<char>(value | 0x80);
    buffer[size++] = static_cast<char>(value);
    bytes_.append(buffer.data(), size);
  }
  /// Writes a number in few bytes where it is near zero, of either sign.
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  /// Writes eight bytes, lowest first.
  void bits(std::uint64_t value) {
    std::array<char, 8> buffer;
    for (std::size_t i = 0; i < 8; ++i) buffer[i] = static_cast<char>(value >> (8 * i));
    bytes_.append(buffer.data(), buffer.size());
  }
  void real(double value) { bits(std::bit_cast<std::uint64_t>(value)); }
  /// Writes the length as a number(), then the bytes.
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  /// Writes the bytes alone: the reader must know how many.
  void raw(std::string_view value) { bytes_ += value; }

  const std::string& bytes() const { return bytes_; }
  /// Returns the bytes, moved out; the writer is not to be used any more.
  std::string finish() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote, in the same order; safe for any bytes. The first value that the
/// bytes do not hold is zero or empty, and so is every one after it: is_ok() is false from then on,
/// so one check at the end suffices. Lifetime: the bytes outlive the reader and the texts that it
/// returns.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  bool is_ok() const { return is_ok_; }
  /// True when nothing is left; also after a failure.
  bool is_at_end() const { return rest_.empty(); }
  /// Returns how many bytes are left.
  std::size_t rest() const { return rest_.size(); }

  std::uint8_t byte() {
    const std::string_view one = raw(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fU} << shift;
      if (next < 0x80) return value;
    }
    return refuse();
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  std::uint64_t bits() {
    std::uint64_t value = 0;
    const std::string_view eight = raw(8);
    for (std::size_t i = 0; i < eight.size(); ++i)
      value |= std::uint64_t{static_cast<std::uint8_t>(eight[i])} << (8 * i);
    return value;
  }
  double real() { return std::bit_cast<double>(bits()); }
  std::string_view text() { return raw(number()); }
  std::string_view raw(std::uint64_t size) {
    if (size > rest_.size()) {
      refuse();
      return {};
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Reads the length of a list whose elements need at least a byte each. A length beyond the bytes
  /// that are left is a failure, so the result is safe to reserve for.
  std::size_t count() {
    const std::uint64_t value = number();
    return value > rest_.size() ? static_cast<std::size_t>(refuse())
                                : static_cast<std::size_t>(value);
  }

 private:
  std::uint64_t refuse() {
    is_ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool is_ok_ = true;
};

}  // namespace muster
