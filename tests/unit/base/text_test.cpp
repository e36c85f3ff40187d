// Clipping of texts, base64 and hexadecimal numbers.
#include "snug/base/text.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace snug::text_test {
namespace {

TEST(TextTest, ClippedTextIsValidUtf8AndNeverTooLong) {
  EXPECT_EQ(base::clip_text("a\xC3\xA4z", 2), "a");
  EXPECT_EQ(base::clip_text("a\xC3\xA4z", 3), "a\xC3\xA4");
  EXPECT_EQ(base::clip_text("a\xFFz\xC3", 9), "a?z?");
  EXPECT_EQ(base::clip_text("\xED\xA0\x80", 9), "???");  // half of a surrogate pair
  EXPECT_EQ(base::clip_text(std::string(2000, 'x'), 1024).size(), 1024U);
}

TEST(TextTest, Base64OfEachLengthIsDecodedAgain) {
  EXPECT_EQ(base::encode_base64(""), "");
  EXPECT_EQ(base::encode_base64("f"), "Zg==");
  EXPECT_EQ(base::encode_base64("fo"), "Zm8=");
  EXPECT_EQ(base::encode_base64("foo"), "Zm9v");
  EXPECT_EQ(base::encode_base64("\xff\xfe\xfd"), "//79");
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(base::decode_base64(base::encode_base64(bytes)), bytes);
    bytes += static_cast<char>(i);
  }
}

TEST(TextTest, Base64IsStrictButForWhiteSpace) {
  EXPECT_EQ(base::decode_base64("aGVs\n bG8="), "hello");
  EXPECT_EQ(base::decode_base64("aGVsbG8h"), "hello!");
  EXPECT_EQ(base::decode_base64("aA=="), "h");
  EXPECT_EQ(base::decode_base64(""), "");
  for (const char* bad : {"aGVsbG8", "a", "aGV*", "====", "aA=a", "aA==aGVs", "aGVs="}) {
    EXPECT_EQ(base::decode_base64(bad), std::nullopt) << bad;
  }
}

TEST(TextTest, HexadecimalNumbersHaveAllTheirDigits) {
  EXPECT_EQ(base::hex_number(0), "0000000000000000");
  EXPECT_EQ(base::hex_number(0x0123456789abcdefU), "0123456789abcdef");
  EXPECT_EQ(base::hex_number(~std::uint64_t{0}), "ffffffffffffffff");
  EXPECT_EQ(base::hex_byte('\x0a'), "0a");
  EXPECT_EQ(base::hex_byte('\xff'), "ff");
}

}  // namespace
}  // namespace snug::text_test
