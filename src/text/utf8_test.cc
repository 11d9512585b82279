#include "text/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace muster {
namespace {

const std::string kMark = "\xef\xbf\xbd";

std::string encoded(std::uint32_t point) {
  const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
  const auto head = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (point < 0x80) return {head(point)};
  if (point < 0x800) return {head(0xc0 | point >> 6), tail(point)};
  if (point < 0x10000) return {head(0xe0 | point >> 12), tail(point >> 6), tail(point)};
  return {head(0xf0 | point >> 18), tail(point >> 12), tail(point >> 6), tail(point)};
}

TEST(Utf8, KeepsWhatIsRightAndMarksWhatIsNot) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
  const std::string bad = "a\xff";
  EXPECT_EQ(valid_utf8(bad + "b"), "a" + kMark + "b");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), kMark + kMark) << "too long";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), kMark + kMark + kMark) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), kMark + kMark + kMark + kMark) << "beyond Unicode";
  const std::string cut = "\xe2\x82";
  EXPECT_EQ(valid_utf8(cut), kMark + kMark) << "cut short";
  EXPECT_EQ(valid_utf8(cut + "a"), kMark + kMark + "a");
}

TEST(Utf8, EveryCharacterOfUnicodeIsKnownWithItsSize) {
  for (std::uint32_t point = 0; point < 0x110000; ++point) {
    const std::string text = encoded(point);
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(utf8_character_size(text), is_surrogate ? 0 : text.size()) << point;
    const std::string cut = text.substr(0, text.size() - 1);
    ASSERT_TRUE(cut.empty() || utf8_character_size(cut) == 0) << point;
  }
  for (const std::uint32_t point : {0x110000U, 0x13ffffU})
    EXPECT_EQ(utf8_character_size(encoded(point)), 0U);
}

TEST(Utf8, OfTwoBytesOnlyTheShortestFormIsACharacter) {
  int characters = 0;
  for (int first = 0x80; first < 0x100; ++first) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      characters += utf8_character_size(text) == 2 ? 1 : 0;
    }
  }
  EXPECT_EQ(characters, 0x800 - 0x80);
  EXPECT_EQ(utf8_character_size("\xe0\x9f\xbf"), 0U) << "three bytes for U+07FF";
  EXPECT_EQ(utf8_character_size("\xf0\x8f\xbf\xbf"), 0U) << "four for U+FFFF";
  EXPECT_EQ(utf8_character_size("\xf8\x88\x80\x80\x80"), 0U) << "five for anything";
}

TEST(Utf8, WhatFollowsACharacterIsNoPartOfIt) {
  EXPECT_EQ(utf8_character_size("ab"), 1U);
  EXPECT_EQ(utf8_character_size("\xc3\xa9\xc3"), 2U);
  EXPECT_EQ(utf8_character_size(std::string_view("\0a", 2)), 1U);
}

TEST(Utf8, APrefixEndsBehindACharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // a, é, €, a face
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t most = 0; most <= text.size(); ++most)
    EXPECT_EQ(utf8_prefix(text, most).size(), ends[most]) << most;
  EXPECT_EQ(utf8_prefix(text, 99), text);
  EXPECT_EQ(utf8_prefix("\x80\x80\x80\x80\x80\x80", 5).size(), 2U)
      << "of what is no text at most three bytes are lost";
}

TEST(Utf8, PlainTextHasNothingThatTerminalsObeyBeyondAscii) {
  const auto is_hidden = [](std::uint32_t point) {
    return (point >= 0x80 && point <= 0x9f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
  };
  for (std::uint32_t point = 0; point < 0x11000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    ASSERT_EQ(is_plain_utf8("a" + encoded(point) + "b"), !is_hidden(point)) << point;
  }
  EXPECT_TRUE(is_plain_utf8(""));
  EXPECT_TRUE(is_plain_utf8("\x1b[31m\n")) << "of ASCII it says nothing";
  EXPECT_FALSE(is_plain_utf8("a\xe2\x80"));
}

}  // namespace
}  // namespace muster
