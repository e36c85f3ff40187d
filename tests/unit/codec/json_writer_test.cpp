#include "codec/json_writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "support/random.hpp"

namespace snug::json_text_test {
namespace {

std::string in_json(std::string_view text) {
  std::string out = "before ";
  codec::append_json_string(out, text);
  return out.substr(7);
}

struct Escaped {
  std::string text;
  std::string json;
};

void PrintTo(const Escaped& row, std::ostream* out) { *out << testing::PrintToString(row.json); }

class JsonStringTest : public testing::TestWithParam<Escaped> {};

TEST_P(JsonStringTest, IsWrittenLikeThis) { EXPECT_EQ(in_json(GetParam().text), GetParam().json); }

INSTANTIATE_TEST_SUITE_P(
    Rows, JsonStringTest,
    testing::Values(
        Escaped{"", R"("")"}, Escaped{"plain", R"("plain")"},
        Escaped{"a \"quote\" and a \\ beyond eight bytes",
                R"("a \"quote\" and a \\ beyond eight bytes")"},
        Escaped{"\b\f\n\r\t", R"("\b\f\n\r\t")"},
        Escaped{std::string("\0\x1f\x7f", 3), "\"\\u0000\\u001f\x7f\""}, Escaped{"a/b", R"("a/b")"},
        Escaped{"h\xC3\xA9\xF0\x9F\x98\x80", "\"h\xC3\xA9\xF0\x9F\x98\x80\""},
        // What starts no character is replaced as far as it could have become one.
        Escaped{"\xFF", "\"\uFFFD\""}, Escaped{"\x80\xBF", "\"\uFFFD\uFFFD\""},
        Escaped{"\xC3", "\"\uFFFD\""},
        Escaped{"\xC3"
                "A",
                "\"\uFFFDA\""},
        Escaped{"\xC3\"", "\"\uFFFD\\\"\""}, Escaped{"\xC3\xC3\xA9", "\"\uFFFD\xC3\xA9\""},
        Escaped{"\xC0\x80", "\"\uFFFD\uFFFD\""}, Escaped{"\xE2\x82", "\"\uFFFD\""},
        Escaped{"\xE2\x82"
                "A",
                "\"\uFFFDA\""},
        Escaped{"\xE0\x80\x80", "\"\uFFFD\uFFFD\uFFFD\""},
        Escaped{"\xED\xA0\x80", "\"\uFFFD\uFFFD\uFFFD\""}, Escaped{"\xF0\x9F\x98", "\"\uFFFD\""},
        Escaped{"\xF0\x9F\x98\xF0\x9F\x98\x80", "\"\uFFFD\xF0\x9F\x98\x80\""},
        Escaped{"\xF4\x90\x80\x80", "\"\uFFFD\uFFFD\uFFFD\uFFFD\""},
        Escaped{"\xF5\x80", "\"\uFFFD\uFFFD\""},
        Escaped{"\xC3\xA9\xFF\xC3\xA9", "\"\xC3\xA9\uFFFD\xC3\xA9\""}));

TEST(JsonTextTest, AnyBytesAreWrittenAsNlohmannWritesThem) {
  constexpr std::uint64_t kSeed = 1;
  std::cout << "SNUG_TEST_SEED=" << kSeed << '\n';
  Random random(kSeed);
  constexpr std::string_view kLikely =
      "\xC0\xC2\xC3\xDF\xE0\xE2\xED\xEF\xF0\xF3\xF4\xF5\x80\x8F\x90\x9F\xA0\xBF\b\n\"\\ab";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t left = random.below(12); left > 0; --left) {
      text += random.one_in(8) ? static_cast<char>(random.below(256))
                               : kLikely[random.below(kLikely.size())];
    }
    const nlohmann::json oracle(text);
    ASSERT_EQ(in_json(text), oracle.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
        << "round " << round;
  }
}

}  // namespace
}  // namespace snug::json_text_test
