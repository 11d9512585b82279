#include "text/base64.h"

#include <array>
#include <cstdint>

namespace muster {
namespace {

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Above every value of six bits.
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  // One table for both alphabets, which differ in two characters alone.
  for (const std::string_view alphabet : {kPlain, kUrl}) {
    for (std::size_t i = 0; i < alphabet.size(); ++i)
      values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();

std::string encoded(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  // Four characters for each group of three bytes begun.
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    // The last group is filled up with zero bits, as RFC 4648 has it; the next loop leaves out the
    // characters that would hold nothing else.
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k <= count; ++k) out += alphabet[group >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace

std::string base64_text(std::string_view bytes) {
  std::string out = encoded(bytes, kPlain);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string base64url_text(std::string_view bytes) { return encoded(bytes, kUrl); }

Result<std::string> parse_base64(std::string_view text) {
  // Padding says nothing that the length does not.
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(text[i])];
    if (value == kNone)
      return fail(ErrorCode::kInvalidArgument, "this is no base64 text",
                  "character " + std::to_string(i));
    group = group << 6 | value;
    if (i % 4 == 3) {
      out += static_cast<char>(group >> 16 & 255);
      out += static_cast<char>(group >> 8 & 255);
      out += static_cast<char>(group & 255);
    }
  }
  switch (text.size() % 4) {
    // One character holds six bits, which are no byte.
    case 1:
      return fail(ErrorCode::kInvalidArgument, "this is no base64 text", "its end is missing");
    // 12 bits for 8, and 18 for 16: what is left over is not checked to be zero.
    case 2: out += static_cast<char>(group >> 4 & 255); break;
    case 3:
      out += static_cast<char>(group >> 10 & 255);
      out += static_cast<char>(group >> 2 & 255);
      break;
    default: break;
  }
  return out;
}

}  // namespace muster
