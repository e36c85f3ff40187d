// What is said of odd JSON, through the reader of reservations: every text here is one that parsers
// are known to differ on.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "snug/codec/reservation_codec.hpp"

namespace snug::json_test {
namespace {

/// A reservation that is in order but for what stands in it.
std::string with(const std::string& uid, const std::string& memory, const std::string& more) {
  return R"({"version":1,"uid":)" + uid +
         R"(,"node":"n","containers":[{"name":"m","request":"gpu-memory=1","devices":[)" +
         R"({"index":0,"mode":"mps","computeMilli":1,"memoryMiB":)" + memory + "}]}]" + more + "}";
}

std::string with_later(const std::string& value) { return with(R"("u")", "1", R"(,"x":)" + value); }

std::string nested(int arrays) {
  const auto depth = static_cast<std::size_t>(arrays);
  return std::string(depth, '[') + std::string(depth, ']');
}

std::string many_keys(const std::string& last) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  return text + "\"" + last + "\":0}";
}

struct Odd {
  std::string json;
  std::string problem;  // after "it "; empty: it is read
};

void PrintTo(const Odd& row, std::ostream* out) {
  *out << testing::PrintToString(row.json.substr(0, 200));
}

class OddJsonTest : public testing::TestWithParam<Odd> {};

TEST_P(OddJsonTest, IsReadOrRefusedWithThisSentence) {
  const auto read = codec::read_reservation(GetParam().json, base::Limits{});
  const std::string problem = read ? "" : read.error().message;
  const std::string expected =
      GetParam().problem.empty()
          ? ""
          : "the annotation snug.dev/reservation is malformed: it " + GetParam().problem;
  EXPECT_EQ(problem, expected);
}

std::string no_json_at(int byte) { return "is not valid JSON at byte " + std::to_string(byte); }
std::string twice(const std::string& key) { return "has the key \"" + key + "\" twice"; }

constexpr const char* kTooLarge = "has a number that is too large to be read";
constexpr const char* kTooDeep = "is nested too deeply; at most 64 levels are allowed";

const std::string kInOrder = with_later("0");

INSTANTIATE_TEST_SUITE_P(
    Ends, OddJsonTest,
    testing::Values(Odd{" \t\r\n" + kInOrder + " \t\r\n", ""}, Odd{kInOrder + "x", no_json_at(162)},
                    Odd{kInOrder + "{}", no_json_at(162)}, Odd{kInOrder + ",", no_json_at(162)},
                    Odd{kInOrder + "\f", no_json_at(162)},
                    Odd{kInOrder + "// said", no_json_at(162)},
                    Odd{kInOrder.substr(0, kInOrder.size() - 1), no_json_at(161)},
                    Odd{" ", no_json_at(2)},
                    Odd{"\xEF\xBB\xBF" + kInOrder, ""},  // a byte order mark
                    Odd{"\xEF\xBB" + kInOrder, no_json_at(3)},
                    Odd{kInOrder + std::string(1, '\0') + "x", ""},  // ends at the NUL
                    Odd{std::string(1, '\0') + kInOrder, no_json_at(1)}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, OddJsonTest,
    testing::Values(
        Odd{with_later("1e400"), kTooLarge}, Odd{with_later("-1e400"), kTooLarge},
        Odd{with_later("1e-400"), ""}, Odd{with_later("1e4"), ""}, Odd{with_later("-0"), ""},
        Odd{with_later("-0.0"), ""}, Odd{with_later("01"), no_json_at(161)},
        Odd{with_later("-"), no_json_at(161)}, Odd{with_later("+1"), no_json_at(160)},
        Odd{with_later("1."), no_json_at(162)}, Odd{with_later(".5"), no_json_at(160)},
        Odd{with_later("1e"), no_json_at(162)}, Odd{with_later("0x1"), no_json_at(161)},
        Odd{with_later("NaN"), no_json_at(160)}, Odd{with_later("Infinity"), no_json_at(160)},
        Odd{with_later("18446744073709551616"), ""}, Odd{with_later("-9223372036854775809"), ""},
        Odd{with_later(std::string(308, '9')), ""},
        Odd{with_later(std::string(310, '9')), kTooLarge}));

INSTANTIATE_TEST_SUITE_P(
    Words, OddJsonTest,
    testing::Values(
        Odd{with_later("null"), ""}, Odd{with_later("nul"), no_json_at(163)},
        Odd{with_later("True"), no_json_at(160)}, Odd{with_later("truex"), no_json_at(164)},
        Odd{with_later("'a'"), no_json_at(160)}, Odd{with_later("[1,]"), no_json_at(163)},
        Odd{with_later("[1 2]"), no_json_at(163)}, Odd{with_later("[}"), no_json_at(161)},
        Odd{with_later(R"({"a"})"), no_json_at(164)},
        Odd{with_later(R"({"a":1,})"), no_json_at(167)}, Odd{with_later("{a:1}"), no_json_at(161)},
        Odd{with_later("{1:1}"), no_json_at(161)}, Odd{with_later("/**/1"), no_json_at(160)},
        Odd{with_later("\"\\ud83d\\ude00\""), ""}, Odd{with_later(R"("\ud800")"), no_json_at(167)},
        Odd{with_later(R"("\ud800\u0041")"), no_json_at(172)},
        Odd{with_later(R"("\uD888\u1234")"), no_json_at(172)},
        Odd{with_later(R"("\udc00")"), no_json_at(166)},
        Odd{with_later(R"({"\udfff":1})"), no_json_at(167)},
        Odd{with_later(R"("\u00g0")"), no_json_at(165)},
        Odd{with_later(R"("\x")"), no_json_at(162)}, Odd{with_later("\"\t\""), no_json_at(161)},
        Odd{with_later("\"\x7f\""), ""},
        Odd{with_later("\"" + std::string(1, '\0') + "\""), no_json_at(161)},
        Odd{with_later("\"\xff\""), no_json_at(161)}, Odd{with_later("\"\xc3\""), no_json_at(162)},
        Odd{with_later("\"\xc0\x80\""), no_json_at(161)},
        Odd{with_later("\"\xed\xa0\x80\""), no_json_at(162)},
        Odd{with_later("\"\xf4\x90\x80\x80\""), no_json_at(162)}));

INSTANTIATE_TEST_SUITE_P(
    Keys, OddJsonTest,
    testing::Values(Odd{with_later(R"({"a":1,"A":1,"":1," a":1})"), ""},
                    Odd{with_later(R"([{"a":1},{"a":1,"b":{"a":1}}])"), ""},
                    Odd{with_later(R"({"a":1,"a":1})"), twice("a")},
                    Odd{with_later(R"({"a":1,"\u0061":1})"), twice("a")},
                    Odd{with_later(R"({"":1,"":1})"), twice("")},
                    Odd{with_later(R"({"a":1,"a":null})"), twice("a")},
                    Odd{with_later(R"({"\n":1,"\n":1})"), twice("?")},
                    Odd{with_later(R"([[{"a":{"b":1},"a":{"b":1}}]])"), twice("a")},
                    Odd{with_later(R"({"a":{"b":1,"b":1},"a":1})"), twice("b")},
                    Odd{with_later(many_keys("k")), ""},
                    Odd{with_later(many_keys("k0")), twice("k0")},
                    Odd{with_later(many_keys("k99")), twice("k99")},
                    Odd{with(R"("u")", "1", R"(,"uid":"u")"), twice("uid")},
                    Odd{with_later(R"({"a":1,"a":1)"), twice("a")},
                    Odd{with_later(R"({"a":1,"a":1e400})"), kTooLarge},
                    Odd{with_later(R"({"a":1e400,"a":1})"), kTooLarge},
                    Odd{with_later(R"({"a":99999999999999999999,"a":1})"), twice("a")}));

INSTANTIATE_TEST_SUITE_P(
    Depth, OddJsonTest,
    testing::Values(Odd{with_later(nested(63)), ""}, Odd{with_later(nested(64)), kTooDeep},
                    Odd{with_later(nested(62) + "x"), no_json_at(284)},
                    Odd{with_later(std::string(62, '[') + "{}" + std::string(62, ']')), ""},
                    Odd{with_later(std::string(63, '[') + "{}" + std::string(63, ']')), kTooDeep},
                    Odd{with_later(std::string(63, '[') + "0" + std::string(63, ']')), ""},
                    Odd{with_later(std::string(64, '[')), kTooDeep},
                    Odd{with_later(std::string(63, '[')), no_json_at(223)},
                    Odd{with_later("[" + nested(64) + R"(,{"a":1,"a":1}])"), kTooDeep},
                    Odd{with_later(R"([{"a":1,"a":1},)" + nested(64) + "]"), twice("a")}));

struct Number {
  std::string json;
  std::int64_t value;  // -1: it is no integer that is allowed there
};

void PrintTo(const Number& row, std::ostream* out) { *out << testing::PrintToString(row.json); }

class JsonNumberTest : public testing::TestWithParam<Number> {};

TEST_P(JsonNumberTest, IsAnIntegerOnlyIfWrittenAsOne) {
  const auto read = codec::read_reservation(with(R"("u")", GetParam().json, ""), base::Limits{});
  if (GetParam().value < 0) {
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().message,
              "the annotation snug.dev/reservation is malformed: "
              "containers[0].devices[0].memoryMiB must be an integer from 0 to 1000000000");
    return;
  }
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto& given = read->reservation.containers[0].assigned;
  EXPECT_EQ(std::get<std::vector<model::ReservedDevice>>(given)[0].memory.value, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JsonNumberTest,
    testing::Values(Number{"0", 0}, Number{"-0", 0}, Number{"7", 7},
                    Number{"1000000000", 1'000'000'000}, Number{"1000000001", -1}, Number{"-1", -1},
                    Number{"1.0", -1}, Number{"1e3", -1}, Number{"-0.0", -1},
                    Number{"9223372036854775807", -1}, Number{"9223372036854775808", -1},
                    Number{"18446744073709551615", -1}, Number{"18446744073709551616", -1},
                    Number{"18446744073709551617", -1}, Number{"-9223372036854775808", -1},
                    Number{"-9223372036854775809", -1}, Number{"null", -1}, Number{"true", -1},
                    Number{"\"1\"", -1}, Number{"[1]", -1}, Number{"{}", -1}));

struct Text {
  std::string json;
  std::string text;
  std::string problem;  // after "uid "; empty: the text is read
};

void PrintTo(const Text& row, std::ostream* out) { *out << testing::PrintToString(row.json); }

class JsonTextTest : public testing::TestWithParam<Text> {};

TEST_P(JsonTextTest, IsReadAsItWasMeant) {
  const auto read = codec::read_reservation(with(GetParam().json, "1", ""), base::Limits{});
  if (!GetParam().problem.empty()) {
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().message,
              "the annotation snug.dev/reservation is malformed: uid " + GetParam().problem);
    return;
  }
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->reservation.uid, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JsonTextTest,
    testing::Values(Text{R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t", ""},
                    Text{R"("\u00e9\u0000\ud83d\uDE00")",
                         std::string("\xC3\xA9\0\xF0\x9F\x98\x80", 7), ""},
                    Text{"\"\xC3\xA9\xF0\x9F\x98\x80\x7F\"", "\xC3\xA9\xF0\x9F\x98\x80\x7F", ""},
                    Text{"\"\"", "", "must not be empty"}, Text{"null", "", "must be a string"},
                    Text{"1", "", "must be a string"}, Text{"[\"u\"]", "", "must be a string"}));

TEST(JsonRootTest, MustBeAnObject) {
  for (const std::string json :
       {"7", "\"x\"", "null", "true", "1.5", "[]", "[{}]", "-0", "18446744073709551616", " [ ] "}) {
    const auto read = codec::read_reservation(json, base::Limits{});
    ASSERT_FALSE(read.has_value()) << json;
    EXPECT_EQ(read.error().message,
              "the annotation snug.dev/reservation is malformed: the text must be an object")
        << json;
  }
}

}  // namespace
}  // namespace snug::json_test
