#include "snug/codec/yaml.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace snug::yaml_test {
namespace {

struct Refused {
  std::string yaml;
  std::string message;  // a part of the error
};

void PrintTo(const Refused& row, std::ostream* out) { *out << testing::PrintToString(row.yaml); }

class YamlRefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(YamlRefusedTest, SaysWhereAndWhy) {
  const auto tree = codec::parse_yaml(GetParam().yaml, "f.yaml", base::Limits{});
  ASSERT_FALSE(tree.has_value()) << GetParam().yaml;
  EXPECT_NE(tree.error().message.find(GetParam().message), std::string::npos)
      << tree.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, YamlRefusedTest,
    testing::Values(
        Refused{"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key \"a\" is given twice"},
        Refused{"a: {x: 1, x: 2}", "f.yaml:1:11: the key \"x\" is given twice"},
        Refused{"a: 1\n'a': 2\n", "f.yaml:2:1: the key \"a\" is given twice"},
        Refused{"a: &x 1\nb: *x\n", "f.yaml:1:4: anchors are not allowed"},
        Refused{"a: &x\nb: 1\n", "anchors are not allowed"},
        Refused{"a: &x [1]\n", "f.yaml:1:4: anchors are not allowed"},
        Refused{"a: *x\n", "; put quotes around a value that begins with *, such as a pattern"},
        Refused{"a: [*]\n", "; put quotes around a value that begins with *, such as a"},
        Refused{"a: *\n",
                "f.yaml:1:5: not valid YAML: alias not found after *; "
                "put quotes around a value that begins with *, such as a pattern"},
        Refused{"a:\n  - *-dev\n", "; put quotes around a value that begins with *, such as"},
        Refused{"a: !!str 1\n", "f.yaml:1:4: tags"},
        Refused{"a: !mine {b: 1}\n", "f.yaml:1:4: tags"},
        Refused{"<<: {a: 1}\n", "f.yaml:1:1: merge keys"},
        Refused{"? [a, b]\n: 1\n", "a key must be a plain word"},
        Refused{"a: 1\n---\nb: 2\n", "f.yaml:3:1: the text continues after its first document"},
        Refused{"a: 1\n---\n---\nb: 2\n",
                "f.yaml:4:1: the text continues after its first document"},
        Refused{"a: [1, 2\n", "f.yaml:2:1: not valid YAML"},
        Refused{"a: 'open\n", "not valid YAML"}, Refused{"a: b: c\n", "f.yaml:1:5: not valid"},
        Refused{"a:\n\t- 1\n", "not valid YAML"}, Refused{"a: \"open\n\n", "not valid YAML"},
        Refused{"a: 1\n]\n", "f.yaml:2:1:"},
        // The proof of CVE-2026-75432.
        Refused{"!\n: |\nb\n>\n|\n  !\n>", "f.yaml:2:1: a key must be a plain word"},
        Refused{"a: 1\nb: \x04\nc: 2\n", "f.yaml:2:4: control characters and invalid UTF-8"},
        Refused{"a: \xFF\n", "f.yaml:1:4: control characters and invalid UTF-8"},
        Refused{std::string("a: 1\0b: 2", 9), "f.yaml:1:5: control characters and invalid UTF-8"}));

TEST(YamlTest, EveryValueKnowsItsKindAndPlace) {
  const auto tree = codec::parse_yaml(
      "# comment\n"
      "name: \"007\"\n"
      "list:\n"
      "- 012\n"
      "- {deep: no, empty: }\n",
      "f.yaml", base::Limits{});
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  ASSERT_EQ(tree->type, codec::YamlNode::Type::kMap);
  const codec::YamlNode* name = tree->find("name");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(name->text, "007");
  EXPECT_TRUE(name->quoted);
  EXPECT_EQ(name->line, 2);
  EXPECT_EQ(name->column, 7);
  const codec::YamlNode* list = tree->find("list");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0].text, "012");
  EXPECT_FALSE(list->items[0].quoted);
  EXPECT_EQ(list->items[1].find("deep")->text, "no");
  EXPECT_EQ(list->items[1].find("empty")->type, codec::YamlNode::Type::kNull);
  EXPECT_EQ(tree->find("nothing"), nullptr);
  EXPECT_EQ(codec::yaml_error("f.yaml", *name, "is wrong").message, "f.yaml:2:7: is wrong");
}

TEST(YamlTest, EndMarksCommentsAndEmptyTextAreNoSecondDocument) {
  for (const char* text :
       {"---\na: 1\n", "a: 1\n---\n", "a: 1\n...\n# end\n", "---\na: 1\n---\n# x\n"}) {
    const auto tree = codec::parse_yaml(text, "f", base::Limits{});
    ASSERT_TRUE(tree.has_value()) << text << tree.error().message;
    EXPECT_EQ(tree->entries.size(), 1U) << text;
  }
  for (const char* text : {"", "# nothing\n", "---\n"}) {
    const auto tree = codec::parse_yaml(text, "f", base::Limits{});
    ASSERT_TRUE(tree.has_value()) << text << tree.error().message;
    EXPECT_EQ(tree->type, codec::YamlNode::Type::kNull) << text;
  }
}

TEST(YamlTest, SizeAndDepthHaveLimits) {
  base::Limits limits;
  limits.max_config_bytes = 8;
  EXPECT_TRUE(codec::parse_yaml("a: 12345", "f", limits).has_value());
  const auto large = codec::parse_yaml("a: 123456", "f", limits);
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, base::ErrorCode::kTooLarge);

  const auto repeated = [](int times, std::string_view text) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const auto nested = [&](int levels) { return repeated(levels, "[") + repeated(levels, "]"); };
  EXPECT_TRUE(codec::parse_yaml(nested(64), "f", base::Limits{}).has_value());
  for (const int levels : {65, 1'000, 100'000}) {
    const auto deep = codec::parse_yaml(nested(levels), "f", base::Limits{});
    ASSERT_FALSE(deep.has_value()) << levels;
    EXPECT_NE(deep.error().message.find("nested too deeply"), std::string::npos);
  }
  for (const char* opening : {"[", "{a: ", "- ", "? "}) {
    const auto deep = codec::parse_yaml(repeated(60'000, opening), "f", base::Limits{});
    ASSERT_FALSE(deep.has_value()) << opening;
    EXPECT_NE(deep.error().message.find("nested too deeply"), std::string::npos) << opening;
  }
}

TEST(YamlTest, PlainScalarsBecomeJsonByTheCoreRules) {
  const auto tree = codec::parse_yaml(
      "{i: 7, neg: -3, plus: +4, zero: 012, hex: 0x1F, oct: 0o17, r: 1.5, e: 1e3, t: true, f: "
      "False,"
      " no: no, q: \"7\", n: null, tilde: ~, inf: .inf, ver: 1.2.3, dash: -, list: [a, 4G], m: {}}",
      "f", base::Limits{});
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  EXPECT_EQ(codec::to_json(*tree),
            R"({"i":7,"neg":-3,"plus":4,"zero":12,"hex":31,"oct":15,"r":1.5,"e":1000.0,"t":true,)"
            R"("f":false,"no":"no","q":"7","n":null,"tilde":null,"inf":".inf","ver":"1.2.3",)"
            R"("dash":"-","list":["a","4G"],"m":{}})");
}

TEST(YamlTest, IntegersBeyond64BitsStayNumbers) {
  const auto tree =
      codec::parse_yaml("[9223372036854775807, 99999999999999999999]", "f", base::Limits{});
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(codec::to_json(*tree), "[9223372036854775807,1e+20]");
}

}  // namespace
}  // namespace snug::yaml_test
